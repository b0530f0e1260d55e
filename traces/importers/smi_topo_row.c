#include "traces/importers/smi_topo_row.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const distances[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "X"};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

size_t gs_smi_words(char *line, char *words[GS_SMI_WORDS_MAX])
{
    size_t count = 0;
    bool inside = false;
    for (char *at = line; *at != '\0'; at++) {
        if (at[0] == '\x1b' && at[1] == '[') { /* underlined on a terminal */
            char *end = at + strcspn(at, "m");
            while (at < end) {
                *at++ = '\0';
            }
            inside = false;
            if (*at == '\0') {
                break;
            }
            *at = '\0';
        } else if (is_blank(*at)) {
            *at = '\0';
            inside = false;
        } else if (!inside) {
            if (count == GS_SMI_WORDS_MAX) {
                break;
            }
            words[count++] = at;
            inside = true;
        }
    }
    return count;
}

/* "GPU0", "NIC3", "mlx5_0": letters first, a digit last. "GPU" and "Affinity" are no devices. */
static bool is_device(const char *word)
{
    size_t length = strlen(word);
    bool begins = (word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z');
    return begins && length < GS_SMI_NAME_BYTES && word[length - 1] >= '0' &&
           word[length - 1] <= '9' &&
           strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
               length;
}

gs_status gs_smi_read_header(char *const *words, size_t count, uint32_t line_number,
                             gs_smi_matrix *out, gs_error *err)
{
    out->count = 0;
    if (count == 0 || strcmp(words[0], "GPU0") != 0) {
        return GS_OK;
    }
    size_t devices = 0;
    while (devices < count && is_device(words[devices])) {
        devices++;
    }
    /* "GPU0 X" is a row whose header is missing. */
    if (devices == 1 && count > 1 && strcmp(words[1], "X") == 0) {
        return gs_fail(err, GS_EPARSE,
                       "line %u: a row without the line of names before it; give the whole output",
                       line_number);
    }
    if (devices > GS_SMI_DEVICES_MAX) {
        return gs_fail(err, GS_ELIMIT, "line %u: over %d devices", line_number, GS_SMI_DEVICES_MAX);
    }
    for (size_t i = 0; i < devices; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(words[i], words[k]) == 0) {
                return gs_fail(err, GS_EPARSE, "line %u: %s is named twice", line_number, words[i]);
            }
        }
        snprintf(out->names[i], sizeof out->names[i], "%s", words[i]);
    }
    out->count = (uint32_t)devices;
    return GS_OK;
}

static bool read_cell(const char *word, gs_smi_cell *out)
{
    *out = (gs_smi_cell){.distance = GS_SMI_SYS};
    if (strncmp(word, "NV", 2) == 0 && word[2] != '\0' && strlen(word) <= 4 &&
        strspn(word + 2, "0123456789") == strlen(word + 2)) {
        for (const char *at = word + 2; *at != '\0'; at++) {
            out->nvlinks = 10 * out->nvlinks + (uint32_t)(*at - '0');
        }
        return out->nvlinks > 0;
    }
    for (int i = 0; i <= GS_SMI_SELF; i++) {
        if (strcmp(word, distances[i]) == 0) {
            out->distance = (gs_smi_distance)i;
            return true;
        }
    }
    return strcmp(word, "SOC") == 0; /* as SYS was called once */
}

static bool is_peer_access(const char *word)
{
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "NS", "U", "DR"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static gs_status read_cells(char *const *words, uint32_t row, uint32_t line_number,
                            gs_smi_matrix *out, gs_error *err)
{
    for (uint32_t i = 0; i < out->count; i++) {
        const char *word = words[i];
        if (is_peer_access(word)) {
            return gs_fail(
                err, GS_EPARSE,
                "line %u: \"%s\": this is the matrix of nvidia-smi topo -p2p, which says "
                "who may reach whom, not how; give that of nvidia-smi topo -m",
                line_number, word);
        }
        if (!read_cell(word, &out->cells[row][i])) {
            return gs_fail(
                err, GS_EPARSE,
                "line %u: %s and %s: \"%.16s\" is not X, NV#, PIX, PXB, PHB, NODE or SYS",
                line_number, out->names[row], out->names[i], word);
        }
        if ((out->cells[row][i].distance == GS_SMI_SELF) != (i == row)) {
            return gs_fail(err, GS_EPARSE,
                           "line %u: %s and %s: \"%s\"; X stands where a device "
                           "meets itself, and there only: cells are missing or "
                           "have moved",
                           line_number, out->names[row], out->names[i], word);
        }
    }
    return GS_OK;
}

gs_status gs_smi_read_row(char *const *words, size_t count, uint32_t line_number,
                          gs_smi_matrix *out, gs_error *err)
{
    uint32_t row = 0;
    while (count > 0 && row < out->count && strcmp(words[0], out->names[row]) != 0) {
        row++;
    }
    if (count == 0 || row == out->count) {
        return GS_OK;
    }
    if (out->lines[row] != 0) {
        return gs_fail(err, GS_EPARSE, "line %u: %s has a row already (line %u)", line_number,
                       words[0], out->lines[row]);
    }
    if (count - 1 < out->count) {
        return gs_fail(err, GS_EPARSE, "line %u: %s has %zu cells for %u devices; some are missing",
                       line_number, words[0], count - 1, out->count);
    }
    GS_TRY(read_cells(words + 1, row, line_number, out, err));
    out->lines[row] = line_number;
    if (count - 1 > out->count) {
        snprintf(out->affinity[row], sizeof out->affinity[row], "%s", words[out->count + 1]);
    }
    return GS_OK;
}

static const char *text_of(const gs_smi_cell *cell, char out[8])
{
    if (cell->nvlinks > 0) {
        snprintf(out, 8, "NV%u", cell->nvlinks % 1000);
        return out;
    }
    return distances[cell->distance];
}

gs_status gs_smi_check(const gs_smi_matrix *matrix, gs_error *err)
{
    for (uint32_t i = 0; i < matrix->count; i++) {
        if (matrix->lines[i] == 0) {
            return gs_fail(err, GS_EPARSE, "%s has no row; the matrix is cut", matrix->names[i]);
        }
        for (uint32_t k = 0; k < i; k++) {
            const gs_smi_cell *here = &matrix->cells[i][k];
            const gs_smi_cell *there = &matrix->cells[k][i];
            char one[8];
            char other[8];
            if (here->nvlinks != there->nvlinks || here->distance != there->distance) {
                return gs_fail(err, GS_EPARSE,
                               "line %u: %s and %s: %s, but line %u says %s; both are the same way",
                               matrix->lines[i], matrix->names[i], matrix->names[k],
                               text_of(here, one), matrix->lines[k], text_of(there, other));
            }
        }
    }
    return GS_OK;
}
