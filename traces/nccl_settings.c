/* What users set for NCCL by variables of the environment: defaults, and the lists of NCCL_ALGO and
 * NCCL_PROTO. */
#include "traces/nccl_model.h"

#include "base/nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_BYTES = 64, NAMES_MAX = 8 };

gs_nccl_settings gs_nccl_settings_default(void)
{
    gs_nccl_settings settings = {.net_overhead_ns = -1, .pat = 2};
    for (int f = 0; f < GS_NCCL_FUNCTION_COUNT; f++) {
        for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
            settings.algorithms[f][a] = true;
        }
        for (int p = 0; p < GS_NCCL_PROTOCOL_COUNT; p++) {
            settings.protocols[f][p] = p == GS_NCCL_LL128 ? 2 : 1;
        }
    }
    return settings;
}

/* One of the two lists while it is read. */
typedef struct list {
    const char *variable; /* "NCCL_ALGO" */
    const char *text;
    const char *const *names;
    void (*set)(gs_nccl_settings *out, int function, int name, bool on);
    gs_nccl_settings *out;
    gs_error *err;
} list;

static void set_algorithm(gs_nccl_settings *out, int function, int name, bool on)
{
    out->algorithms[function][name] = on;
}

static void set_protocol(gs_nccl_settings *out, int function, int name, bool on)
{
    out->protocols[function][name] = on ? 1 : 0;
}

static int find_name(const char *const *names, const char *word, size_t length)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strlen(names[i]) == length && strncasecmp(names[i], word, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* Tells what may stand in the place of a word that nobody knows. */
static gs_status unknown(const list *in, const char *const *names, const char *word, size_t length)
{
    char copy[WORD_BYTES];
    char all[2 * WORD_BYTES] = "";
    size_t kept = length < sizeof copy - 1 ? length : sizeof copy - 1;
    memcpy(copy, word, kept);
    copy[kept] = '\0';
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        strncat(all, count == 0 ? "" : ", ", sizeof all - strlen(all) - 1);
        strncat(all, names[count], sizeof all - strlen(all) - 1);
    }
    if (strncasecmp(copy, "collnet", strlen("collnet")) == 0) {
        return gs_fail(in->err, GS_EINVAL,
                       "%s=\"%s\": %s is not modelled: NCCL takes it only with a plug-in for SHARP "
                       "switches; remove it",
                       in->variable, in->text, copy);
    }
    const char *near = gs_nearest_name(copy, names, count);
    return gs_fail(in->err, GS_EINVAL, "%s=\"%s\": \"%s\" is none of %s%s%s%s", in->variable,
                   in->text, copy, all, near == NULL ? "" : "; did you mean ",
                   near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* "ring,tree" or "^ring" of [word, end), for one function or (-1) for all. */
static gs_status read_names(const list *in, int function, const char *word, const char *end)
{
    bool not_these = word < end && *word == '^';
    word += not_these ? 1 : 0;
    bool on[NAMES_MAX];
    for (int n = 0; n < NAMES_MAX; n++) {
        on[n] = not_these;
    }
    while (word <= end) {
        const char *comma = memchr(word, ',', (size_t)(end - word));
        const char *stop = comma == NULL ? end : comma;
        int name = find_name(in->names, word, (size_t)(stop - word));
        if (name < 0) {
            return unknown(in, in->names, word, (size_t)(stop - word));
        }
        on[name] = !not_these;
        word = stop + 1;
    }
    for (int f = 0; f < GS_NCCL_FUNCTION_COUNT; f++) {
        for (int n = 0; in->names[n] != NULL && (function < 0 || f == function); n++) {
            in->set(in->out, f, n, on[n]);
        }
    }
    return GS_OK;
}

static gs_status read_list(const list *in)
{
    const char *entry = in->text;
    while (*entry != '\0') {
        size_t length = strcspn(entry, ";");
        const char *colon = memchr(entry, ':', length);
        int function = -1;
        if (colon != NULL) {
            function = find_name(gs_nccl_function_names, entry, (size_t)(colon - entry));
            if (function < 0) {
                return unknown(in, gs_nccl_function_names, entry, (size_t)(colon - entry));
            }
        } else if (entry != in->text) {
            return gs_fail(in->err, GS_EINVAL,
                           "%s=\"%s\": only the first list may stand without a function; write "
                           "such as allreduce:%s",
                           in->variable, in->text, entry);
        }
        GS_TRY(read_names(in, function, colon == NULL ? entry : colon + 1, entry + length));
        entry += length + (entry[length] == ';' ? 1 : 0);
    }
    return GS_OK;
}

gs_status gs_nccl_algorithms_read(const char *text, gs_nccl_settings *out, gs_error *err)
{
    list in = {"NCCL_ALGO", text, gs_nccl_algorithm_names, set_algorithm, out, err};
    return read_list(&in);
}

gs_status gs_nccl_protocols_read(const char *text, gs_nccl_settings *out, gs_error *err)
{
    list in = {"NCCL_PROTO", text, gs_nccl_protocol_names, set_protocol, out, err};
    return read_list(&in);
}
