/* The matrix of nvidia-smi topo -m as it stands: names of devices, a cell for each pair,
 * affinities.
 *
 * Knows text only: tabs or blanks, carriage returns, escapes for underlining, a legend behind. What
 * the cells mean for a node is import_smi_topo.c's. */
#ifndef GS_TRACES_SMI_TOPO_ROW_H
#define GS_TRACES_SMI_TOPO_ROW_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GS_SMI_DEVICES_MAX = 128,
    GS_SMI_NAME_BYTES = 32,
    GS_SMI_WORDS_MAX = GS_SMI_DEVICES_MAX + 16
};

/* How two devices meet, nearer ones first; NV# is above all of them. */
typedef enum gs_smi_distance {
    GS_SMI_PIX,  /* at most one PCIe bridge */
    GS_SMI_PXB,  /* several, but no host bridge */
    GS_SMI_PHB,  /* a host bridge */
    GS_SMI_NODE, /* several of one NUMA node */
    GS_SMI_SYS,  /* between NUMA nodes */
    GS_SMI_SELF
} gs_smi_distance;

typedef struct gs_smi_cell {
    gs_smi_distance distance; /* of PCIe; meaningless where there are NVLinks */
    uint32_t nvlinks;         /* 0: none */
} gs_smi_cell;

typedef struct gs_smi_matrix {
    uint32_t count;
    char names[GS_SMI_DEVICES_MAX][GS_SMI_NAME_BYTES];
    char affinity[GS_SMI_DEVICES_MAX][64]; /* of processors, "0-23,48-71"; "": not said */
    uint32_t lines[GS_SMI_DEVICES_MAX];    /* where the row stands; 0: it has not come */
    gs_smi_cell cells[GS_SMI_DEVICES_MAX][GS_SMI_DEVICES_MAX];
} gs_smi_matrix;

/* Cuts a line at blanks and tabs, in place, without its escapes and carriage return; returns how
 * many words there are, GS_SMI_WORDS_MAX at most. */
size_t gs_smi_words(char *line, char *words[GS_SMI_WORDS_MAX]);

/* Is it the line of names? Fills count and names. `line_number`: for errors. false and GS_OK: it is
 * none. Errors: GS_EPARSE (a device named twice), GS_ELIMIT. */
GS_MUST_USE gs_status gs_smi_read_header(char *const *words, size_t count, uint32_t line_number,
                                         gs_smi_matrix *out, gs_error *err);

/* A line behind it: a row, or something else that is passed over. Errors: GS_EPARSE for cells that
 * are missing or unknown, a row twice, a matrix of another kind. */
GS_MUST_USE gs_status gs_smi_read_row(char *const *words, size_t count, uint32_t line_number,
                                      gs_smi_matrix *out, gs_error *err);

/* Once all lines are read: every device has its row, and each two say the same of each other. */
GS_MUST_USE gs_status gs_smi_check(const gs_smi_matrix *matrix, gs_error *err);

#endif
