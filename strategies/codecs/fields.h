/* What the tables of several codecs have in common. */
#ifndef GS_STRATEGIES_CODECS_FIELDS_H
#define GS_STRATEGIES_CODECS_FIELDS_H

#include "strategies/codec.h"

#define GS_FIELD_FEEDBACK(text)                                                                    \
    {                                                                                              \
        .name = "feedback", .kind = GS_FIELD_BOOL, GS_FIELD_AT(gs_codec_config, feedback),         \
        .default_text = (text),                                                                    \
        .help = "error feedback: what did not get through is added to the next gradient"           \
    }

static const char *const gs_path_words[] = {"gather", "two_phase", NULL};

#define GS_FIELD_PATH                                                                              \
    {                                                                                              \
        .name = "path", .kind = GS_FIELD_CHOICE, GS_FIELD_AT(gs_codec_config, path),               \
        .default_text = "gather", .choices = gs_path_words,                                        \
        .help = "gather: every payload goes to all; two_phase: parts go to their owners, whose "   \
                "sums are encoded again and gathered, fewer bytes and a second loss"               \
    }

#define GS_FIELD_BLOCK(field_name, text, least)                                                    \
    {                                                                                              \
        .name = (field_name), .kind = GS_FIELD_INT, GS_FIELD_AT(gs_codec_config, block),           \
        .default_text = (text), .minimum = (least), .maximum = 0x1p30,                             \
        .help = "elements that share one scale; 0, where allowed: all of a slice"                  \
    }

#define GS_FIELD_KEPT(text)                                                                        \
    {                                                                                              \
        .name = "ratio", .kind = GS_FIELD_RATIO, GS_FIELD_AT(gs_codec_config, ratio),              \
        .default_text = (text), .minimum = 1e-9, .maximum = 1.0,                                   \
        .help = "part of the elements that is sent, at least one of each slice"                    \
    }

/* static const gs_field_table table: of the fields above it. */
#define GS_CODEC_TABLE(identifier, codec_name, field_list)                                         \
    static const gs_field_table identifier = {                                                     \
        .name = (codec_name),                                                                      \
        .struct_bytes = sizeof(gs_codec_config),                                                   \
        .fields = (field_list),                                                                    \
        .field_count = sizeof(field_list) / sizeof *(field_list),                                  \
    }

/* Blocks of at most `block` elements (0: all) that cover elements; 0 of none. */
static inline int64_t gs_codec_blocks(const gs_codec_config *config, int64_t elements)
{
    if (elements == 0) {
        return 0;
    }
    return config->block == 0 ? 1 : (elements + config->block - 1) / config->block;
}

/* elements at that many bits, as whole bytes. */
static inline int64_t gs_codec_packed(int64_t elements, int64_t bits)
{
    return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

static inline gs_codec_size gs_codec_exactly(int64_t bytes)
{
    return (gs_codec_size){.most_bytes = bytes, .expected_bytes = bytes};
}

#endif
