/* What a run's drivers were told, in the order they were told: enough to play the run again.
 *
 * Every input of every driver is one record of 32 bytes, written before the driver sees it, in one
 * order for the whole run. Payloads, random bits, matching and what strategies decided are not
 * needed: they follow from the inputs (docs/contract.md). A record names an arrival by its channel
 * and its number on it, and the end of something the entity asked for by the number of that
 * request. */
#ifndef GS_TRACES_RECORDING_H
#define GS_TRACES_RECORDING_H

#include "base/status.h"
#include "base/units.h"
#include "models/halves.h"
#include "strategies/strategy.h"

#include <stddef.h>
#include <stdint.h>

/* X(name, text): part of the file format, append only. */
/* clang-format off */
#define GS_INPUT_LIST(X)                                                                           \
    X(START,    "start")                                                                           \
    X(STEP,     "asked for a step")                                                                \
    X(UNIT,     "gradient unit ready")                                                             \
    X(BACKWARD, "backward done")                                                                   \
    X(PART,     "part of a collective")                                                            \
    X(MESSAGE,  "message")                                                                         \
    X(NOTE,     "note")                                                                            \
    X(SENT,     "sent")                                                                            \
    X(LATER,    "later")                                                                           \
    X(QUIESCE,  "quiesce")                                                                         \
    X(SWAP,     "next leg is due")
/* clang-format on */

typedef enum gs_input_kind {
#define GS_INPUT_ENUM(name, text) GS_INPUT_##name,
    GS_INPUT_LIST(GS_INPUT_ENUM)
#undef GS_INPUT_ENUM
        GS_INPUT_KIND_COUNT
} gs_input_kind;

const char *gs_input_kind_text(uint8_t kind);

typedef struct gs_input_record {
    int64_t at_ns;     /* ascending strictly over the recording */
    uint64_t sequence; /* PART, MESSAGE, NOTE: number on its channel, from 0; SENT, LATER: number
                          of the entity's request to its host, from 1; UNIT: which; BACKWARD: passes
                          of the step; SWAP: leg */
    gs_peer entity;    /* who was told */
    gs_peer source;    /* PART, MESSAGE, NOTE: who sent it */
    uint32_t check;    /* of this entity's records so far: finds a changed order at its place */
    uint16_t stream;   /* PART: of its communicator's channel (strategies/selection.h) */
    uint8_t kind;
    uint8_t reserved;
} gs_input_record;

/* Which run it was. */
typedef struct gs_recording_about {
    char strategy[64];
    uint64_t seed;
    int64_t elements;
    int64_t batch_per_rank;
    int64_t budget_steps;
    int64_t cut_step;      /* -1: each entity on its own */
    uint64_t weights_hash; /* of the models of all workers in rank order; 0 in timing-only runs */
    uint32_t ranks;
    uint32_t servers;
    uint32_t number;       /* gs_number of gradients and payloads */
    uint32_t units;        /* of gradient */
    uint32_t gated;        /* 1: a forward pass waits for what the strategy sends; else 0 */
    uint32_t origin_bytes; /* of the text below, without its end; 0: none */
} gs_recording_about;

typedef struct gs_recording {
    gs_recording_about about;
    gs_input_record *records; /* [count] */
    size_t count;
    size_t capacity;
    uint32_t *checks;       /* [ranks + servers]: the last one of each entity */
    int64_t *unit_elements; /* [about.units] */
    char *origin;           /* whatever whoever recorded says of how; NULL: nothing */
} gs_recording;

/* Empty, for a run of about->ranks + about->servers entities. Errors: GS_ENOMEM. Owner: caller,
 * gs_recording_fini. Not thread safe. */
GS_MUST_USE gs_status gs_recording_init(gs_recording *recording, const gs_recording_about *about,
                                        gs_error *err);
void gs_recording_fini(gs_recording *recording);

/* Copies what the job's gradient consists of, which gs_recording_init leaves out: about.units and
 * unit_elements. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_recording_set_units(gs_recording *recording, const int64_t *unit_elements,
                                             uint32_t units, gs_error *err);

/* Copies a text of at most 16 MiB; NULL: none. Errors: GS_ENOMEM, GS_ELIMIT. */
GS_MUST_USE gs_status gs_recording_set_origin(gs_recording *recording, const char *text,
                                              gs_error *err);

/* Appends; sets check, and moves at_ns on where it would not ascend. *record is what was written.
 * Errors: GS_ENOMEM; the recording is as before then. */
GS_MUST_USE gs_status gs_recording_add(gs_recording *recording, gs_input_record *record);

/* The check of a record that follows `before` (0 for an entity's first). */
uint32_t gs_recording_check(uint32_t before, const gs_input_record *record);

/* Entities by number: workers, then servers. */
uint32_t gs_recording_entity(const gs_recording_about *about, gs_peer peer);

/* "gradsync.recording/4"; 3, which has no origin, is read too. Errors of write: GS_EIO. Errors of
 * read: GS_EIO, GS_ENOTFOUND, GS_EPARSE (damaged, with byte and record), GS_EVERSION, GS_ENOMEM;
 * out is written only on GS_OK. */
GS_MUST_USE gs_status gs_recording_write(const gs_recording *recording, const char *file,
                                         gs_error *err);
GS_MUST_USE gs_status gs_recording_read(const char *file, gs_recording *out, gs_error *err);

#endif
