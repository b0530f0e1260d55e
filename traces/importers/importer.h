/* The door to files: one table entry a format. An importer says how sure it is that a file is its
 * own (probe), and reads it into a gs_imported. Files may be gzipped; memory does not grow with the
 * file. */
#ifndef GS_TRACES_IMPORTER_H
#define GS_TRACES_IMPORTER_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/curve.h"
#include "traces/layer_table.h"
#include "traces/node_graph.h"
#include "traces/op_trace.h"
#include "traces/profile.h"
#include "traces/step_table.h"

#include <stddef.h>
#include <stdint.h>

/* What a file held. Kinds that a format does not carry stay empty. */
typedef struct gs_imported {
    const char *format;           /* name of the importer */
    const gs_profile *profile;    /* NULL: none */
    const gs_layer_table *layers; /* that the profile was made from; NULL: none */
    const gs_curve *curves;
    uint32_t curve_count;
    const gs_step_table *step_table; /* durations by rank and step; NULL: none */
    const gs_op_trace *ops;          /* NULL: none */
    const gs_node_graph *node;       /* what is inside a node; NULL: none */
    const char *const
        *notes; /* what is odd or missing, one line each: "failed: no rows (line 15)" */
    uint32_t note_count;
} gs_imported;

/* What a file may not say itself. All zero: nothing is known. */
typedef struct gs_import_options {
    const char *format;     /* name of the importer; NULL: found by probing */
    const char *collective; /* of nccl-tests output that does not name it ("all_reduce"); NULL */
    const char *time_unit;  /* ns, us, ms or s: of CSV columns whose names carry none; NULL */
} gs_import_options;

typedef struct gs_importer {
    const char *name;    /* "kineto" */
    const char *summary; /* one line for `list formats` */
    const char *source;  /* where the format comes from */
    /* 0..100 from the first bytes, already unpacked, and the file's name. */
    int (*probe)(const char *head, size_t head_bytes, const char *file);
    /* Reads all files of one set together (ranks of one job, or a single file). Errors: GS_EPARSE,
     * GS_EIO, GS_ENOMEM, GS_ELIMIT, GS_EMISMATCH (ranks that do not belong together) with file,
     * place, reason and cure. `options` is never NULL. Owner of everything: the arena. */
    gs_status (*read)(const char *const *files, size_t file_count, const gs_import_options *options,
                      gs_arena *arena, gs_imported *out, gs_error *err);
} gs_importer;

size_t gs_importer_count(void);
const gs_importer *gs_importer_at(size_t index);
/* NULL: no importer of that name. */
const gs_importer *gs_importer_find(const char *name);
/* The importer surest of all files. Errors: GS_EPARSE naming the file and the formats known, or two
 * files of different formats; GS_EIO, GS_ENOTFOUND. */
GS_MUST_USE gs_status gs_importer_probe(const char *const *files, size_t file_count,
                                        const gs_importer **out, gs_error *err);
/* Probes, unless options name the format, and reads. options may be NULL. */
GS_MUST_USE gs_status gs_import(const char *const *files, size_t file_count,
                                const gs_import_options *options, gs_arena *arena, gs_imported *out,
                                gs_error *err);

#endif
