/* NCCL's topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) as a node: dumps with their GPUs, nets
 * and NVLinks, and the files of clouds that list PCI devices only.
 *
 * A bridge with one device below it is that device's link. NVSwitches are one, as NCCL has it. */
#include "traces/importers/importer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/importers/import_notes.h"
#include "traces/link_rates.h"
#include "traces/xml.h"

enum { DEVICES_MAX = GS_NODE_PARTS_MAX, NVLINKS_MAX = GS_NODE_EDGES_MAX, NOBODY = -1 };

/* What an element became. */
typedef struct device {
    const gs_xml_element *element;
    gs_node_part_kind kind;
    int above;        /* device; NOBODY: a socket */
    uint32_t below;   /* devices */
    int64_t rate_bps; /* of the link to what is above */
    int64_t net_bps;  /* of a nic */
    const char *busid;
    const char *name; /* of a nic; NULL: its bus id */
    int64_t number;   /* the file's; -1: it does not say */
    uint32_t part;    /* of the graph */
    bool is_part;
} device;

typedef struct nvlink {
    const gs_xml_element *element;
    int from;
    const char *target;
    int to; /* the GPU there; NOBODY: none of the file */
    bool to_switch;
    int64_t count;
    int64_t rate_bps; /* of one */
} nvlink;

typedef struct reader {
    const char *file;
    gs_arena *arena;
    gs_import_notes *notes;
    gs_error *err;
    device *devices;
    int device_count;
    nvlink *nvlinks;
    uint32_t nvlink_count;
    gs_node_graph *graph;
    bool has_gpu_elements;
} reader;

__attribute__((format(printf, 3, 4))) static gs_status
fail_at(const reader *in, const gs_xml_element *element, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)gs_fail_list(in->err, GS_EPARSE, format, arguments);
    va_end(arguments);
    return gs_fail_in(in->err, "%s: line %u", in->file, element->line);
}

static bool is(const gs_xml_element *element, const char *name)
{
    return element != NULL && strcmp(element->name, name) == 0;
}

/* A whole number of an attribute; `usual` where it is absent or empty. */
static gs_status read_number(const reader *in, const gs_xml_element *element, const char *name,
                             int64_t usual, int64_t most, int64_t *out)
{
    const char *text = gs_xml_get(element, name);
    char *end = NULL;
    *out = usual;
    if (text == NULL || text[0] == '\0') {
        return GS_OK;
    }
    long long value = strtoll(text, &end, 10);
    if (*end != '\0' || value < 0 || value > most) {
        return fail_at(in, element, "<%s> has %s=\"%.40s\"; a whole number of 0 to %lld is meant",
                       element->name, name, text, (long long)most);
    }
    *out = value;
    return GS_OK;
}

static const char *text_of(const gs_xml_element *element, const char *name)
{
    const char *text = gs_xml_get(element, name);
    return text == NULL ? "" : text;
}

static bool has_child(const gs_xml_element *element, const char *name)
{
    const gs_xml_element *child = element->first;
    while (child != NULL && strcmp(child->name, name) != 0) {
        child = child->next;
    }
    return child != NULL;
}

/* --- devices ---------------------------------------------------------------------------------- */

static gs_status add_device(reader *in, device added, int *out)
{
    if (in->device_count == DEVICES_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: over %d devices in a node", in->file, DEVICES_MAX);
    }
    for (int i = 0; i < in->device_count; i++) {
        bool same_bus = added.busid != NULL && in->devices[i].busid != NULL &&
                        strcmp(in->devices[i].busid, added.busid) == 0;
        bool same_name = added.name != NULL && in->devices[i].name != NULL &&
                         strcmp(in->devices[i].name, added.name) == 0;
        if (same_bus || same_name) {
            return fail_at(in, added.element, "%s \"%s\" is there already (line %u)",
                           same_name ? gs_node_part_names[added.kind] : "bus id",
                           same_name ? added.name : added.busid, in->devices[i].element->line);
        }
    }
    if (added.above != NOBODY) {
        in->devices[added.above].below++;
    }
    *out = in->device_count;
    in->devices[in->device_count++] = added;
    return GS_OK;
}

/* The device that an element's nearest ancestor became. */
static int above(const reader *in, const gs_xml_element *element)
{
    for (const gs_xml_element *at = element->parent; at != NULL; at = at->parent) {
        for (int i = in->device_count; i > 0; i--) {
            if (in->devices[i - 1].element == at) {
                return i - 1;
            }
        }
    }
    return NOBODY;
}

static gs_status add_socket(reader *in, const gs_xml_element *element)
{
    int index;
    const char *host = text_of(element, "host_hash");
    for (int i = 0; i < in->device_count; i++) {
        if (in->devices[i].kind == GS_NODE_SOCKET &&
            strcmp(text_of(in->devices[i].element, "host_hash"), host) != 0) {
            return fail_at(in, element,
                           "a socket of another host than that of line %u; give the "
                           "file of one host",
                           in->devices[i].element->line);
        }
    }
    return add_device(in, (device){.element = element, .kind = GS_NODE_SOCKET, .above = NOBODY},
                      &index);
}

typedef enum pci_kind { PCI_GPU, PCI_NIC, PCI_BRIDGE, PCI_NVSWITCH, PCI_OTHER } pci_kind;

static pci_kind kind_of_pci(const gs_xml_element *element)
{
    const char *class = text_of(element, "class");
    if (has_child(element, "gpu")) {
        return PCI_GPU;
    }
    if (has_child(element, "nic") || has_child(element, "net")) {
        return PCI_NIC;
    }
    if (has_child(element, "pci")) {
        return PCI_BRIDGE;
    }
    return strncmp(class, "0x03", 4) == 0 || strncmp(class, "0x1200", 6) == 0 ? PCI_GPU
           : strncmp(class, "0x02", 4) == 0                                   ? PCI_NIC
           : strncmp(class, "0x0680", 6) == 0                                 ? PCI_NVSWITCH
                                                                              : PCI_OTHER;
}

static uint32_t nets_below(const gs_xml_element *element)
{
    uint32_t count = 0;
    for (const gs_xml_element *at = element; at != NULL; at = gs_xml_next(element, at)) {
        count += is(at, "net") ? 1 : 0;
    }
    return count;
}

static gs_status add_pci(reader *in, const gs_xml_element *element)
{
    int64_t lanes = 0;
    int index = 0;
    const char *busid = gs_xml_get(element, "busid");
    if (busid == NULL || busid[0] == '\0' || strlen(busid) >= GS_NODE_NAME_BYTES) {
        return fail_at(in, element, "<pci> without a busid of up to %d bytes",
                       GS_NODE_NAME_BYTES - 1);
    }
    GS_TRY(read_number(in, element, "link_width", 0, 64, &lanes));
    device added = {.element = element,
                    .above = above(in, element),
                    .rate_bps = gs_rate_pcie_bps(text_of(element, "link_speed"), lanes),
                    .busid = busid,
                    .number = -1};
    if (added.above == NOBODY) {
        return fail_at(in, element, "<pci> outside of a <cpu>");
    }
    switch (kind_of_pci(element)) {
    case PCI_GPU:
        added.kind = GS_NODE_GPU;
        return add_device(in, added, &index);
    case PCI_NIC:
        /* Nets stand below it: of several, they share its link. */
        added.kind = nets_below(element) == 0 ? GS_NODE_NIC : GS_NODE_BRIDGE;
        return add_device(in, added, &index);
    case PCI_BRIDGE:
        added.kind = GS_NODE_BRIDGE;
        return add_device(in, added, &index);
    case PCI_NVSWITCH:
        return GS_OK;
    case PCI_OTHER:
        gs_import_notes_add(in->notes,
                            "line %u: device %s is of class \"%s\", none that is known: left out",
                            element->line, busid, text_of(element, "class"));
        return GS_OK;
    }
    return GS_OK;
}

static gs_status add_net(reader *in, const gs_xml_element *element)
{
    int index = 0;
    int64_t megabits = 0;
    device added = {.element = element,
                    .kind = GS_NODE_NIC,
                    .above = above(in, element),
                    .name = gs_xml_get(element, "name")};
    if (added.name == NULL || added.name[0] == '\0' || strlen(added.name) >= GS_NODE_NAME_BYTES) {
        return fail_at(in, element, "<net> without a name of up to %d bytes",
                       GS_NODE_NAME_BYTES - 1);
    }
    if (added.above == NOBODY) {
        return fail_at(in, element, "<net> outside of a <cpu>");
    }
    GS_TRY(read_number(in, element, "speed", 0, 100000000, &megabits));
    GS_TRY(read_number(in, element, "dev", -1, 1000000, &added.number));
    added.net_bps = megabits * 1000000;
    const device *card = &in->devices[added.above];
    added.rate_bps = card->kind == GS_NODE_SOCKET ? GS_RATE_PCIE_ASSUMED_BPS : card->rate_bps;
    return add_device(in, added, &index);
}

static gs_status add_nvlink(reader *in, const gs_xml_element *element, bool is_xgmi)
{
    const gs_xml_element *gpu = element->parent;
    int64_t capability = 0;
    const char *class = text_of(element, "tclass");
    nvlink added = {.element = element,
                    .from = above(in, element),
                    .target = gs_xml_get(element, "target"),
                    .to_switch = strncmp(class, "0x0680", 6) == 0};
    if (!is(gpu, "gpu") || added.from == NOBODY || added.target == NULL) {
        return fail_at(in, element, "<%s> that is not of a <gpu>, or has no target", element->name);
    }
    if (strcmp(class, "0x068001") == 0) {
        gs_import_notes_add(in->notes, "line %u: NVLink to the processor: not modelled",
                            element->line);
        return GS_OK;
    }
    GS_TRY(read_number(in, element, "count", 1, 1000, &added.count));
    GS_TRY(read_number(in, gpu, "sm", 0, 10000, &capability));
    if (added.count == 0) {
        return fail_at(in, element, "<%s> of 0 links; remove it, or say how many", element->name);
    }
    added.rate_bps =
        is_xgmi ? gs_rate_xgmi_bps(text_of(gpu, "gcn")) : gs_rate_nvlink_bps((int)capability);
    if (in->nvlink_count == NVLINKS_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: over %d NVLinks", in->file, NVLINKS_MAX);
    }
    in->nvlinks[in->nvlink_count++] = added;
    return GS_OK;
}

static gs_status read_gpu(reader *in, const gs_xml_element *element)
{
    int of = above(in, element);
    if (of == NOBODY || in->devices[of].element != element->parent) {
        return fail_at(in, element, "<gpu> that is not of a <pci>");
    }
    in->has_gpu_elements = true;
    return read_number(in, element, "dev", -1, 1000000, &in->devices[of].number);
}

static gs_status read_elements(reader *in, const gs_xml_element *root)
{
    for (const gs_xml_element *at = root; at != NULL; at = gs_xml_next(root, at)) {
        gs_status status = GS_OK;
        if (is(at, "cpu")) {
            status = add_socket(in, at);
        } else if (is(at, "pci")) {
            status = add_pci(in, at);
        } else if (is(at, "gpu")) {
            status = read_gpu(in, at);
        } else if (is(at, "net")) {
            status = add_net(in, at);
        } else if (is(at, "nvlink") || is(at, "xgmi")) {
            status = add_nvlink(in, at, is(at, "xgmi"));
        } else if (!is(at, "system") && !is(at, "nic")) {
            gs_import_notes_add(in->notes, "line %u: <%s> is not modelled", at->line, at->name);
        }
        GS_TRY(status);
    }
    return GS_OK;
}

/* --- the graph -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const device *one = *(device *const *)a;
    const device *other = *(device *const *)b;
    if (one->number != other->number) {
        return one->number < other->number ? -1 : 1;
    }
    return one->busid == NULL || other->busid == NULL
               ? (one->element->line > other->element->line) -
                     (one->element->line < other->element->line)
               : strcmp(one->busid, other->busid);
}

/* Devices of one kind become parts in the order of their numbers, or of their bus ids. */
static gs_status add_parts(reader *in, gs_node_part_kind kind)
{
    device *ordered[DEVICES_MAX];
    size_t count = 0;
    for (int i = 0; i < in->device_count; i++) {
        device *one = &in->devices[i];
        if (one->kind == kind && !(kind == GS_NODE_BRIDGE && one->below < 2)) {
            ordered[count++] = one;
        }
    }
    qsort(ordered, count, sizeof *ordered, by_number);
    for (size_t i = 0; i < count; i++) {
        device *one = ordered[i];
        gs_node_part *part = &in->graph->parts[in->graph->part_count];
        if (kind == GS_NODE_GPU && i > 0 && one->number >= 0 &&
            one->number == ordered[i - 1]->number) {
            return fail_at(in, one->element, "gpu %lld is there already (line %u)",
                           (long long)one->number, ordered[i - 1]->element->line);
        }
        const char *own = one->name != NULL ? one->name : one->busid;
        *part = (gs_node_part){.kind = kind, .rate_bps = one->net_bps};
        if (kind == GS_NODE_GPU || own == NULL) {
            snprintf(part->name, sizeof part->name, "%s%zu", gs_node_part_names[kind], i);
        } else {
            snprintf(part->name, sizeof part->name, "%s", own);
        }
        one->is_part = true;
        one->part = in->graph->part_count++;
    }
    return GS_OK;
}

static gs_status add_edge(reader *in, gs_node_edge edge)
{
    if (in->graph->edge_count == GS_NODE_EDGES_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: over %d links in a node", in->file,
                       GS_NODE_EDGES_MAX);
    }
    in->graph->edges[in->graph->edge_count++] = edge;
    return GS_OK;
}

/* Every device to what is above it, and sockets among each other. */
static gs_status join_devices(reader *in)
{
    for (int i = 0; i < in->device_count; i++) {
        const device *one = &in->devices[i];
        int up = one->above;
        int64_t rate = one->rate_bps;
        while (one->is_part && up != NOBODY && !in->devices[up].is_part) {
            rate = in->devices[up].rate_bps < rate ? in->devices[up].rate_bps : rate;
            up = in->devices[up].above;
        }
        if (one->is_part && up != NOBODY) {
            GS_TRY(add_edge(in, (gs_node_edge){.a = in->devices[up].part,
                                               .b = one->part,
                                               .kind = GS_EDGE_PCIE,
                                               .count = 1,
                                               .rate_bps = rate}));
        }
        for (int k = 0; k < i && one->kind == GS_NODE_SOCKET; k++) {
            if (in->devices[k].kind != GS_NODE_SOCKET) {
                continue;
            }
            int64_t family = 0;
            int64_t model = 0;
            GS_TRY(read_number(in, one->element, "familyid", 0, 1000000, &family));
            GS_TRY(read_number(in, one->element, "modelid", 0, 1000000, &model));
            GS_TRY(add_edge(
                in, (gs_node_edge){.a = in->devices[k].part,
                                   .b = one->part,
                                   .kind = GS_EDGE_SOCKETS,
                                   .count = 1,
                                   .rate_bps = gs_rate_sockets_bps(text_of(one->element, "arch"),
                                                                   text_of(one->element, "vendor"),
                                                                   family, model)}));
        }
    }
    return GS_OK;
}

static int gpu_at(const reader *in, const char *busid)
{
    int i = 0;
    while (i < in->device_count &&
           (in->devices[i].kind != GS_NODE_GPU || strcmp(in->devices[i].busid, busid) != 0)) {
        i++;
    }
    return i < in->device_count ? i : NOBODY;
}

/* Of two GPUs each must say the same of the other. */
static gs_status join_gpus(reader *in, const nvlink *link)
{
    const nvlink *back = NULL;
    for (uint32_t i = 0; i < in->nvlink_count; i++) {
        const nvlink *other = &in->nvlinks[i];
        if (other != link && other->from == link->from && other->to == link->to &&
            !other->to_switch) {
            return fail_at(in, link->element, "the NVLink to %s is there already (line %u)",
                           link->target, other->element->line);
        }
        back = other->from == link->to && other->to == link->from ? other : back;
    }
    if (link->to == link->from) {
        return fail_at(in, link->element, "a NVLink of a GPU to itself");
    }
    if (back == NULL || back->count != link->count) {
        return fail_at(in, link->element, "%lld NVLinks to %s, but %lld back; they go both ways",
                       (long long)link->count, link->target,
                       back == NULL ? 0LL : (long long)back->count);
    }
    if (link > back) {
        return GS_OK;
    }
    return add_edge(in, (gs_node_edge){.a = in->devices[link->from].part,
                                       .b = in->devices[link->to].part,
                                       .kind = GS_EDGE_NVLINK,
                                       .count = (uint32_t)link->count,
                                       .rate_bps = link->count * link->rate_bps});
}

/* All switches are one: a GPU's links to them are one wide link. */
static gs_status join_switch(reader *in)
{
    uint32_t part = in->graph->part_count;
    bool has_switch = false;
    for (int gpu = 0; gpu < in->device_count; gpu++) {
        int64_t count = 0;
        int64_t rate = 0;
        for (uint32_t i = 0; i < in->nvlink_count; i++) {
            bool is_its = in->nvlinks[i].from == gpu && in->nvlinks[i].to_switch;
            count += is_its ? in->nvlinks[i].count : 0;
            rate += is_its ? in->nvlinks[i].count * in->nvlinks[i].rate_bps : 0;
        }
        if (count > 0) {
            has_switch = true;
            GS_TRY(add_edge(in, (gs_node_edge){.a = in->devices[gpu].part,
                                               .b = part,
                                               .kind = GS_EDGE_NVLINK,
                                               .count = (uint32_t)count,
                                               .rate_bps = rate}));
        }
    }
    if (has_switch) {
        in->graph->parts[part] = (gs_node_part){.kind = GS_NODE_NVSWITCH, .name = "nvswitch0"};
        in->graph->part_count++;
    }
    return GS_OK;
}

static gs_status join_nvlinks(reader *in)
{
    for (uint32_t i = 0; i < in->nvlink_count; i++) {
        in->nvlinks[i].to = gpu_at(in, in->nvlinks[i].target);
    }
    for (uint32_t i = 0; i < in->nvlink_count; i++) {
        const nvlink *link = &in->nvlinks[i];
        if (link->to != NOBODY && !link->to_switch) {
            GS_TRY(join_gpus(in, link));
        } else if (!link->to_switch) {
            gs_import_notes_add(in->notes, "line %u: the NVLink's target %s is not in the file",
                                link->element->line, link->target);
        }
    }
    return join_switch(in);
}

static gs_status make_graph(reader *in)
{
    static const gs_node_part_kind order[] = {GS_NODE_SOCKET, GS_NODE_BRIDGE, GS_NODE_GPU,
                                              GS_NODE_NIC};
    in->graph->source = in->file;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        GS_TRY(add_parts(in, order[i]));
    }
    GS_TRY(join_devices(in));
    GS_TRY(join_nvlinks(in));
    GS_TRY(gs_node_graph_finish(in->graph, in->arena, in->err));
    if (!in->has_gpu_elements) {
        gs_import_notes_add(in->notes, "lists PCI devices only: GPUs are those of class 0x03 and "
                                       "0x1200 in the order of their bus ids; it says nothing "
                                       "of NVLinks, so that GPUs meet over PCIe");
    }
    return GS_OK;
}

/* --- the importer ----------------------------------------------------------------------------- */

/* The first element of the file is this one. */
static bool opens_with(const char *head, const char *name)
{
    const char *at = head;
    size_t length = strlen(name);
    for (;;) {
        at = strchr(at, '<');
        if (at == NULL) {
            return false;
        }
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at, "-->");
        } else if (at[1] == '?' || at[1] == '!') {
            at = strchr(at, '>');
        } else {
            return strncmp(at + 1, name, length) == 0 &&
                   strchr(" \t\r\n/>", at[length + 1]) != NULL;
        }
        if (at == NULL) {
            return false;
        }
    }
}

static int probe(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes; /* head is terminated */
    (void)file;
    return opens_with(head, "system") || opens_with(head, "graphs") ? 90 : 0;
}

static gs_status read_node(const char *const *files, size_t file_count,
                           const gs_import_options *options, gs_arena *arena, gs_imported *out,
                           gs_error *err)
{
    (void)options;
    gs_import_notes notes = {.arena = arena};
    gs_xml_element *root = NULL;
    if (file_count != 1) {
        return gs_fail(err, GS_EINVAL, "%s: a topology is one node's; name one file, not %zu",
                       files[0], file_count);
    }
    GS_TRY(gs_xml_read(files[0], arena, &root, err));
    if (!is(root, "system")) {
        return gs_fail(err, GS_EPARSE,
                       "%s: line %u: <%s> is no topology%s; give what NCCL_TOPO_DUMP_FILE writes",
                       files[0], root->line, root->name,
                       is(root, "graphs") ? " but the rings and trees that NCCL chose" : "");
    }
    reader in = {.file = gs_arena_text(arena, files[0]),
                 .arena = arena,
                 .notes = &notes,
                 .err = err,
                 .devices = GS_TAKE(arena, device, DEVICES_MAX),
                 .nvlinks = GS_TAKE(arena, nvlink, NVLINKS_MAX),
                 .graph = GS_TAKE(arena, gs_node_graph, 1)};
    if (in.file == NULL || in.devices == NULL || in.nvlinks == NULL || in.graph == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", files[0]);
    }
    in.graph->parts = GS_TAKE(arena, gs_node_part, DEVICES_MAX + 1);
    in.graph->edges = GS_TAKE(arena, gs_node_edge, GS_NODE_EDGES_MAX);
    if (in.graph->parts == NULL || in.graph->edges == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", files[0]);
    }
    GS_TRY(read_elements(&in, root));
    GS_TRY(make_graph(&in));
    if (notes.out_of_memory) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for its notes", files[0]);
    }
    *out = (gs_imported){
        .format = "nccl_topo", .node = in.graph, .notes = notes.items, .note_count = notes.count};
    return GS_OK;
}

const gs_importer gs_importer_nccl_topo = {
    .name = "nccl_topo",
    .summary = "NCCL's topology XML: what is inside a node",
    .source = "NCCL, src/graph/xml.cc; NCCL_TOPO_DUMP_FILE",
    .probe = probe,
    .read = read_node,
};
