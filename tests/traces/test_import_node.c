/* What is inside a node, from NCCL's XML, nvidia-smi's matrix and gradsync's own file. */
#include "traces/importers/importer.h"

#include "tests/support.h"
#include "traces/link_rates.h"
#include "traces/node_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gs_arena arena;
static gs_error err;
static gs_imported imported;
static char file[TEST_PATH_BYTES];

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(import_node, .init = setup, .fini = teardown);

static const gs_node_graph *read_shared(const char *name)
{
    const char *path = test_data_path(name);
    cr_assert_eq(gs_import(&path, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert_not_null(imported.node);
    return imported.node;
}

static gs_status read_text(const char *text)
{
    const char *path = file;
    test_temp_file(file, text, strlen(text));
    return gs_import(&path, 1, NULL, &arena, &imported, &err);
}

static void expect_refused(gs_status code, const char *text, const char *message)
{
    char expected[sizeof err.text];
    gs_status status = read_text(text);
    snprintf(expected, sizeof expected, "%.200s: %s", file, message);
    cr_expect_eq(status, code, "%s gives %d", message, status);
    cr_expect_str_eq(err.text, expected);
}

static const char *distance(const gs_node_graph *node, uint32_t from, uint32_t to)
{
    static char text[16];
    return gs_node_graph_distance(node, &node->between[from * node->gpu_count + to], text,
                                  sizeof text);
}

static const char *nic_of(const gs_node_graph *node, uint32_t gpu)
{
    return node->parts[node->nics[gs_node_graph_nearest_nic(node, gpu)]].name;
}

/* Of the slowest link between two GPUs, GB/s. */
static double rate(const gs_node_graph *node, uint32_t from, uint32_t to)
{
    const gs_node_path *path = &node->between[from * node->gpu_count + to];
    double least = 1e9;
    for (uint32_t i = 0; i < path->count; i++) {
        double own = (double)node->edges[path->hops[i] / 2].rate_bps / 8e9;
        least = own < least ? own : least;
    }
    return least;
}

/* --- rates ---------------------------------------------------------------------------------- */

Test(import_node, rates_are_those_of_the_generation)
{
    /* STRATEGIES' row of NCCL's topo.h: NVLink 20, 20.6 and 40.1 GB/s of SM 8.0, 9.0 and 10.0;
     * PCIe 3.0 x16 12 GB/s, and each generation twice the one before. */
    cr_expect_eq(gs_rate_nvlink_bps(80), 20 * INT64_C(8000000000));
    cr_expect_eq(gs_rate_nvlink_bps(90), INT64_C(164800000000));
    cr_expect_eq(gs_rate_nvlink_bps(100), INT64_C(320800000000));
    cr_expect_eq(gs_rate_pcie_bps("8 GT/s", 16), INT64_C(96000000000));
    cr_expect_eq(gs_rate_pcie_bps("16.0 GT/s PCIe", 16), INT64_C(192000000000));
    cr_expect_eq(gs_rate_pcie_bps("32.0 GT/s PCIe", 8), INT64_C(192000000000));
    cr_expect_eq(gs_rate_pcie_bps("", 0), INT64_C(96000000000));
    cr_expect_eq(gs_rate_pcie_bps("Unknown", 4), INT64_C(24000000000));
    cr_expect_eq(gs_rate_xgmi_bps("908"), 24 * INT64_C(8000000000));
    cr_expect_eq(gs_rate_xgmi_bps("gfx942:sramecc+"), 48 * INT64_C(8000000000));
    cr_expect_eq(gs_rate_sockets_bps("x86_64", "GenuineIntel", 6, 106), 10 * INT64_C(8000000000));
    cr_expect_eq(gs_rate_sockets_bps("x86_64", "GenuineIntel", 6, 143), 22 * INT64_C(8000000000));
    cr_expect_eq(gs_rate_sockets_bps("riscv", "", 0, 0), 0);
    cr_expect_eq(gs_rate_device_bps(gs_device_find("H100")), gs_rate_nvlink_bps(90));
    cr_expect_eq(gs_rate_device_bps(gs_device_find("L4")), 0);
}

/* --- NCCL's files --------------------------------------------------------------------------- */

Test(import_node, a_dump_says_gpus_bridges_sockets_and_the_nic)
{
    const gs_node_graph *node = read_shared("traces/nccl_topo_xml/dump_8x_rtx3090_pcie_1ib.xml");
    cr_expect_eq(node->gpu_count, 8);
    cr_expect_eq(node->nic_count, 1);
    cr_expect_eq(imported.note_count, 0);
    cr_expect_eq(node->parts[node->nics[0]].rate_bps, INT64_C(56000000000));
    /* GPUs 0 to 3 below one bridge, 4 to 7 and the nic below the other socket's; 16 GT/s x16 are 24
     * GB/s, Ice Lake's sockets 10. */
    cr_expect_str_eq(distance(node, 0, 3), "PIX");
    cr_expect_str_eq(distance(node, 3, 4), "SYS");
    cr_expect_float_eq(rate(node, 0, 3), 24.0, 1e-9);
    cr_expect_float_eq(rate(node, 3, 4), 10.0, 1e-9);
    cr_expect_str_eq(nic_of(node, 0), "mlx5_0");
    cr_expect_eq(node->to_nic[7].count, 2);
    /* GPU, bridge, socket, socket, bridge, nic. */
    cr_expect_eq(node->to_nic[0].count, 5);
}

Test(import_node, a_list_of_devices_is_read_by_class_and_says_what_it_lacks)
{
    const gs_node_graph *node = read_shared("traces/nccl_topo_xml/aws_p4d-24xl-topo.xml");
    cr_expect_eq(node->gpu_count, 8);
    cr_expect_eq(node->nic_count, 4);
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        static const char *const nics[] = {"0000:10:1b.0", "0000:20:1b.0", "0000:90:1b.0",
                                           "0000:a0:1b.0"};
        cr_expect_str_eq(nic_of(node, gpu), nics[gpu / 2]);
    }
    cr_expect_float_eq(rate(node, 0, 1), 12.0, 1e-9);
    cr_assert_eq(imported.note_count, 1);
    cr_expect(strstr(imported.notes[0], "nothing of NVLinks") != NULL, "%s", imported.notes[0]);
    /* Each GPU of an ND v4 has a nic below its bridge, two GPUs a bridge; of the two nics there
     * each takes one. In the order of bus ids GPU 0 is 0001:00:00.0, of the second socket. */
    node = read_shared("traces/nccl_topo_xml/azure_ndv4-topo.xml");
    cr_expect_eq(node->gpu_count, 8);
    cr_expect_eq(node->nic_count, 8);
    cr_expect_str_eq(nic_of(node, 0), "0101:00:00.0");
    cr_expect_str_eq(nic_of(node, 1), "0102:00:00.0");
    cr_expect_str_eq(distance(node, 0, 1), "PIX");
    cr_expect_str_eq(distance(node, 1, 2), "SYS");
    /* No bridges: GPUs and the nic right below their sockets. */
    node = read_shared("traces/nccl_topo_xml/azure_ndv2-topo.xml");
    cr_expect_eq(node->gpu_count, 8);
    cr_expect_eq(node->nic_count, 1);
    cr_expect_str_eq(distance(node, 0, 3), "PHB");
    cr_expect_str_eq(distance(node, 3, 4), "SYS");
}

Test(import_node, xgmi_joins_whom_the_file_says)
{
    /* 2 hives of 4, each GPU with a link to the three others; between hives over the sockets, 16
     * GB/s. */
    const gs_node_graph *node = read_shared("traces/nccl_topo_xml/rccl_topo_4p3l_2h.xml");
    cr_expect_eq(node->gpu_count, 8);
    for (uint32_t a = 0; a < 8; a++) {
        for (uint32_t b = 0; b < 8; b++) {
            if (a != b) {
                cr_expect_str_eq(distance(node, a, b), a / 4 == b / 4 ? "NV1" : "SYS", "%u %u", a,
                                 b);
            }
        }
    }
    cr_expect_float_eq(rate(node, 0, 3), 24.0, 1e-9);
    cr_expect_float_eq(rate(node, 0, 4), 16.0, 1e-9);
    /* 6 links each: one of the 7 others is two links away, by way of another GPU. */
    node = read_shared("traces/nccl_topo_xml/rccl_topo_8p6l.xml");
    for (uint32_t a = 0; a < 8; a++) {
        uint32_t direct = 0;
        uint32_t relayed = 0;
        for (uint32_t b = 0; b < 8; b++) {
            direct += a != b && node->between[a * 8 + b].count == 1 ? 1 : 0;
            relayed += a != b && node->between[a * 8 + b].count == 2 ? 1 : 0;
        }
        cr_expect_eq(direct, 6, "gpu %u", a);
        cr_expect_eq(relayed, 1, "gpu %u", a);
    }
    /* Bridges in a row with one device below are one link: GPU, bridge of the nic, nic. */
    node = read_shared("traces/nccl_topo_xml/rccl_topo_8p_rome_4nics.xml");
    cr_expect_eq(node->nic_count, 4);
    cr_expect_eq(node->to_nic[0].count, 2);
    static const char *const nics[] = {"mlx5_1", "mlx5_3", "mlx5_5", "mlx5_7"};
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        cr_expect_str_eq(nic_of(node, gpu), nics[gpu / 2]);
    }
}

Test(import_node, the_graph_that_nccl_chose_is_no_topology)
{
    const char *path = test_data_path("traces/nccl_topo_xml/azure_ncv4-graph.xml");
    cr_expect_eq(gs_import(&path, 1, NULL, &arena, &imported, &err), GS_EPARSE);
    cr_expect(strstr(err.text, "the rings and trees that NCCL chose; give what "
                               "NCCL_TOPO_DUMP_FILE writes") != NULL,
              "%s", err.text);
}

#define GPU(bus, more)                                                                             \
    "<pci busid=\"" bus "\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">" more     \
    "</pci>"
#define SYSTEM(inside) "<system version=\"1\">\n<cpu numaid=\"0\">\n" inside "</cpu></system>\n"

Test(import_node, nvlinks_into_switches_are_one_wide_link)
{
    /* An H100's 18 links over 4 switches: 18 x 20.6 GB/s. */
#define LINKS                                                                                      \
    "<nvlink target=\"a\" count=\"5\" tclass=\"0x068000\"/>"                                       \
    "<nvlink target=\"b\" count=\"4\" tclass=\"0x068000\"/>"                                       \
    "<nvlink target=\"c\" count=\"4\" tclass=\"0x068000\"/>"                                       \
    "<nvlink target=\"d\" count=\"5\" tclass=\"0x068000\"/>"
    cr_assert_eq(read_text(SYSTEM(GPU("0:0:0.0", "<gpu dev=\"1\" sm=\"90\">" LINKS "</gpu>")
                                      GPU("0:1:0.0", "<gpu dev=\"0\" sm=\"90\">" LINKS "</gpu>"))),
                 GS_OK, "%s", err.text);
    cr_expect_str_eq(distance(imported.node, 0, 1), "NV18");
    cr_expect_float_eq(rate(imported.node, 0, 1), 18 * 20.6, 1e-6);
    cr_expect_eq(imported.node->between[1].count, 2);
#undef LINKS
}

Test(import_node, two_nets_of_a_card_share_its_link)
{
    cr_assert_eq(
        read_text(SYSTEM(
            GPU("0:0:0.0", "<gpu dev=\"0\" sm=\"80\"/>") "<pci busid=\"0:1:0.0\" "
                                                         "class=\"0x020700\" link_speed=\"8 GT/s\" "
                                                         "link_width=\"16\"><nic><net name=\"m0\" "
                                                         "dev=\"0\" speed=\"100000\"/>"
                                                         "<net name=\"m1\" dev=\"1\" "
                                                         "speed=\"100000\"/></nic></pci>")),
        GS_OK, "%s", err.text);
    const gs_node_graph *node = imported.node;
    cr_expect_eq(node->nic_count, 2);
    /* GPU, socket, card, net: the first two links are the same for both. */
    cr_expect_eq(node->to_nic[0].count, 3);
    cr_expect_eq(node->to_nic[0].hops[1], node->to_nic[1].hops[1]);
    cr_expect_neq(node->to_nic[0].hops[2], node->to_nic[1].hops[2]);
}

Test(import_node, crooked_topologies_are_refused_with_the_line)
{
    expect_refused(GS_EPARSE, SYSTEM(GPU("0:0:0.0", "") "\n" GPU("0:0:0.0", "")),
                   "line 4: bus id \"0:0:0.0\" is there already (line 3)");
    expect_refused(GS_EPARSE,
                   SYSTEM(GPU("0:0:0.0", "") "<nic>\n<net name=\"m0\"/>\n<net name=\"m0\"/></nic>"),
                   "line 5: nic \"m0\" is there already (line 4)");
    expect_refused(
        GS_EPARSE,
        SYSTEM(GPU("0:0:0.0", "<gpu dev=\"0\"/>") "\n" GPU("0:1:0.0", "<gpu dev=\"0\"/>")),
        "line 4: gpu 0 is there already (line 3)");
    expect_refused(
        GS_EPARSE,
        SYSTEM(GPU("0:0:0.0", "<gpu dev=\"0\">\n<nvlink target=\"0:1:0.0\" count=\"2\" "
                              "tclass=\"0x030200\"/></gpu>") GPU("0:1:0.0", "<gpu dev=\"1\"/>")),
        "line 4: 2 NVLinks to 0:1:0.0, but 0 back; they go both ways");
    expect_refused(
        GS_EPARSE,
        SYSTEM(GPU("0:0:0.0", "<gpu dev=\"0\"><nvlink target=\"x\" count=\"0\"/></gpu>")),
        "line 3: <nvlink> of 0 links; remove it, or say how many");
    expect_refused(GS_EPARSE, SYSTEM(GPU("0:0:0.0", "<gpu dev=\"-1\"/>")),
                   "line 3: <gpu> has dev=\"-1\"; a whole number of 0 to 1000000 is meant");
    expect_refused(GS_EPARSE, "<system>" GPU("0:0:0.0", "") "</system>",
                   "line 1: <pci> outside of a <cpu>");
    expect_refused(GS_EPARSE, SYSTEM(""), "holds no GPU");
    expect_refused(GS_EPARSE, "<system><cpu host_hash=\"1\"/>\n<cpu host_hash=\"2\"/></system>",
                   "line 2: a socket of another host than that of line 1; give the file of one "
                   "host");
}

/* --- nvidia-smi's matrix -------------------------------------------------------------------- */

Test(import_node, equal_nvlinks_of_all_gpus_are_taken_for_switches_where_no_gpu_has_as_many)
{
    static const struct {
        const char *name, *word;
    } files[] = {{"traces/nvidia_smi_topo/8x_a100_nv12.txt", "NV12"},
                 {"traces/nvidia_smi_topo/8x_h100_nv18.txt", "NV18"},
                 {"traces/nvidia_smi_topo/8x_a800_nv8_4nic_crlf.txt", "NV8"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const gs_node_graph *node = read_shared(files[i].name);
        cr_expect_eq(node->gpu_count, 8);
        cr_expect_str_eq(distance(node, 0, 7), files[i].word);
        cr_expect_eq(node->between[7].count, 2);
        cr_expect_eq(imported.note_count, 1);
    }
    const gs_node_graph *two = read_shared("traces/nvidia_smi_topo/2x_nv2.txt");
    cr_expect_str_eq(distance(two, 0, 1), "NV2");
    cr_expect_eq(two->between[1].count, 1);
}

Test(import_node, nics_stand_below_the_bridges_that_the_matrix_tells)
{
    const gs_node_graph *node = read_shared("traces/nvidia_smi_topo/8x_a800_nv8_4nic_crlf.txt");
    cr_expect_eq(node->nic_count, 4);
    cr_expect_str_eq(node->parts[node->nics[3]].name, "mlx5_3");
    cr_expect_str_eq(nic_of(node, 1), "mlx5_0");
    cr_expect_str_eq(nic_of(node, 3), "mlx5_1");
    cr_expect_eq(node->to_nic[1 * 4 + 0].count, 2);
    cr_expect_eq(node->to_nic[0 * 4 + 0].count, 3);
    node = read_shared("traces/nvidia_smi_topo/4x_rtx6000ada_4nic.txt");
    cr_expect_str_eq(distance(node, 0, 1), "PHB");
    cr_expect_str_eq(distance(node, 0, 2), "SYS");
    node = read_shared("traces/nvidia_smi_topo/2x_phb.txt");
    cr_expect_str_eq(distance(node, 0, 1), "PHB");
}

Test(import_node, a_cube_mesh_keeps_its_uneven_links_and_relays_the_rest)
{
    const gs_node_graph *node =
        read_shared("traces/nvidia_smi_topo/8x_v100_cubemesh_uneven_tabs.txt");
    /* The first row: X NV1 NV2 NV1 SYS SYS SYS NV2. GPU 0 reaches 4 to 6 by way of the neighbour
     * with most links on both sides: 5 by 2 (NV2, NV1) or 7 (NV2, NV2); 4 by 3 (NV1, NV1) or 7
     * (NV2, NV1); 6 by 1 (NV1, NV2) or 7 (NV2, NV1). */
    static const char *const first[] = {"", "NV1", "NV2", "NV1", "NV1", "NV2", "NV1", "NV2"};
    static const uint16_t links[] = {0, 1, 1, 1, 2, 2, 2, 1};
    for (uint32_t to = 1; to < 8; to++) {
        cr_expect_str_eq(distance(node, 0, to), first[to], "GPU%u", to);
        cr_expect_eq(node->between[to].count, links[to], "GPU%u", to);
    }
    cr_expect_str_eq(nic_of(node, 2), "mlx5_0");
    cr_expect_str_eq(nic_of(node, 6), "mlx5_1");
}

Test(import_node, the_matrix_of_peer_access_is_refused_with_the_reason)
{
    const char *path = test_data_path("traces/nvidia_smi_topo/8x_h100_p2p_r.txt");
    cr_expect_eq(gs_import(&path, 1, NULL, &arena, &imported, &err), GS_EPARSE);
    cr_expect(strstr(err.text, "line 2: \"OK\": this is the matrix of nvidia-smi topo -p2p") !=
                  NULL,
              "%s", err.text);
}

Test(import_node, escapes_of_a_terminal_are_passed_over)
{
    cr_assert_eq(read_text("\x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\n"
                           "GPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(imported.node->gpu_count, 2);
    cr_expect_str_eq(distance(imported.node, 0, 1), "NV4");
}

Test(import_node, crooked_matrices_are_refused_with_the_line)
{
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 X PHB\nGPU1 NODE X\n",
                   "line 3: GPU1 and GPU0: NODE, but line 2 says PHB; both are the same way");
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB\n",
                   "line 3: GPU1 has 1 cells for 2 devices; some are missing");
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 X PHB\n", "GPU1 has no row; the matrix is cut");
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 X NV\nGPU1 NV X\n",
                   "line 2: GPU0 and GPU1: \"NV\" is not X, NV#, PIX, PXB, PHB, NODE or SYS");
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 PHB X\nGPU1 X PHB\n",
                   "line 2: GPU0 and GPU0: \"PHB\"; X stands where a device meets itself, and "
                   "there only: cells are missing or have moved");
    expect_refused(GS_EPARSE, "  GPU0 NIC0 NIC0\nGPU0 X PHB PHB\n", "line 1: NIC0 is named twice");
    expect_refused(GS_EPARSE, "  GPU0 GPU1\nGPU0 X PHB\nGPU0 X PHB\n",
                   "line 3: GPU0 has a row already (line 2)");
}

/* --- gradsync's own ------------------------------------------------------------------------- */

Test(import_node, what_is_written_reads_back_the_same)
{
    static const char *const files[] = {"traces/nccl_topo_xml/rccl_topo_8p_rome_4nics.xml",
                                        "traces/nvidia_smi_topo/8x_v100_cubemesh_uneven_tabs.txt"};
    for (size_t i = 0; i < 2; i++) {
        const gs_node_graph *node = read_shared(files[i]);
        gs_json *document = gs_json_new_object();
        cr_assert(gs_node_json_write(node, document));
        char *text = gs_json_write(document, true);
        cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
        const gs_node_graph *again = imported.node;
        cr_assert_eq(again->part_count, node->part_count);
        cr_assert_eq(again->edge_count, node->edge_count);
        for (uint32_t e = 0; e < node->edge_count; e++) {
            cr_expect_arr_eq(&again->edges[e], &node->edges[e], sizeof *node->edges);
        }
        size_t pairs = (size_t)node->gpu_count * node->gpu_count;
        cr_expect_arr_eq(again->between, node->between, pairs * sizeof *node->between);
        free(text);
        gs_json_free(document);
    }
}

#define NODE(parts, links)                                                                         \
    "{\"schema\":\"gradsync.node/1\",\"parts\":[" parts "],\"links\":[" links "]}"
#define PART(name, kind) "{\"name\":\"" name "\",\"kind\":\"" kind "\"}"

Test(import_node, crooked_nodes_are_refused)
{
    expect_refused(GS_EPARSE, NODE(PART("a", "gpu") "," PART("b", "gpu"), ""),
                   "nothing joins a and b; say the link that does");
    expect_refused(GS_EPARSE, NODE(PART("a", "gpu") "," PART("a", "nic"), ""),
                   "nic \"a\" is there twice; give each part its own name");
    expect_refused(GS_EPARSE, NODE(PART("a", "nic"), ""), "holds no GPU");
    expect_refused(GS_EPARSE,
                   NODE(PART("a", "gpu"), "{\"from\":\"a\",\"to\":\"b\",\"kind\":\"pcie\"}"),
                   "links[0]: to: \"b\" is none of the parts");
    /* A nic behind NVLink only: data goes to nics over PCIe. */
    expect_refused(GS_EPARSE,
                   NODE(PART("a", "gpu") "," PART("n", "nic"),
                        "{\"from\":\"a\",\"to\":\"n\",\"kind\":\"nvlink\"}"),
                   "nothing joins a and n; say the link that does");
}

/* --- memory --------------------------------------------------------------------------------- */

Test(import_node, memory_that_runs_out_is_said_whichever_request_it_is)
{
    static const char *const texts[] = {
        SYSTEM(GPU("0:0:0.0",
                   "<gpu dev=\"0\"/>") "<odd/>"
                                       "<pci busid=\"0:1:0.0\" class=\"0x020700\"><nic><net "
                                       "name=\"m0\"/></nic></pci>"),
        "  GPU0 GPU1\nGPU0 X NV18\nGPU1 NV18 X\n",
        NODE(PART("a", "gpu"), ""),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = file;
        gs_status status = GS_ENOMEM;
        int64_t after = 0;
        test_temp_file(file, texts[i], strlen(texts[i]));
        for (; status == GS_ENOMEM; after++) {
            gs_arena scarce;
            gs_arena_init(&scarce);
            scarce.fail_after = after;
            status = gs_import(&path, 1, NULL, &scarce, &imported, &err);
            TEST_REQUIRE(status == GS_OK || strstr(err.text, "memory") != NULL, "%s", err.text);
            gs_arena_fini(&scarce);
        }
        cr_expect_eq(status, GS_OK, "after %d: %s", (int)after, err.text);
        cr_expect_gt(after, 5);
    }
}
