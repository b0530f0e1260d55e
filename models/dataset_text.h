/* Cuts a text into windows of characters, for models that predict the next one. */
#ifndef GS_MODELS_DATASET_TEXT_H
#define GS_MODELS_DATASET_TEXT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/dataset.h"

typedef struct gs_text_config {
    char file[256];     /* empty: the bundled text */
    int64_t context;    /* characters of a sample, 1..4096 */
    int64_t vocabulary; /* 0, or 2..256 */
} gs_text_config;

/* Row r is the `context` bytes from r * context on, and its answers are the bytes that follow each:
 * windows touch, and every byte but the first is an answer once. The last rows, one in ten rounded
 * up, are for testing. Tokens: the distinct bytes of the training part in order, or with
 * config->vocabulary the bytes below that themselves. Errors: GS_EPARSE with file and offset (too
 * short for two windows, a byte that is in no vocabulary, a single distinct byte), GS_ENOMEM. Owner
 * of all arrays: the arena. */
GS_MUST_USE gs_status gs_text_parse(const char *text, size_t length, const char *file,
                                    const gs_text_config *config, gs_arena *arena, gs_dataset *out,
                                    gs_error *err);

#endif
