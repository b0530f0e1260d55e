/* The streaming reader: yajl's calls drive a small machine that knows where in the document it
 * stands and gathers one event at a time. The only file that includes yajl. */
#include "traces/importers/kineto_events.h"

#include "traces/importers/collective_name.h"
#include "traces/importers/gzip_stream.h"
#include "traces/importers/kineto_keep.h"
#include "traces/importers/kineto_number.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum {
    DEPTH_MAX = 64,
    CHUNK_BYTES = 64 * 1024,
    /* yajl gathers a text that spans chunks; a file may not make it gather without end. */
    VALUE_BYTES_MAX = 16 * 1024 * 1024
};

/* Where in the document a container stands. */
typedef enum place {
    PLACE_OTHER, /* nothing inside is wanted */
    PLACE_TOP,
    PLACE_DISTRIBUTED,
    PLACE_EVENTS,
    PLACE_EVENT,
    PLACE_ARGS,
    PLACE_SHAPES, /* args."Input Dims": a list of lists */
    PLACE_SHAPE,
    PLACE_TYPES /* args."Input type" */
} place;

typedef struct reader {
    const char *file;
    gs_kineto_keeper keeper;
    gs_kineto_event event; /* the one being read */
    place places[DEPTH_MAX];
    int depth;
    gs_kineto_key key; /* the last one of the innermost map that is wanted */
    bool seen_events;
    uint64_t silent_bytes; /* since yajl last called */
    int64_t shape_product;
    gs_status status; /* why a call stopped the parse */
    gs_error *err;
} reader;

static int stop(reader *in, gs_status status)
{
    in->status = status;
    return 0;
}

static place place_now(const reader *in)
{
    return in->depth == 0 ? PLACE_OTHER : in->places[in->depth - 1];
}

/* The place that a container opened now has. */
static place place_of_child(const reader *in, bool is_map)
{
    if (in->depth == 0) {
        return is_map ? PLACE_TOP : PLACE_OTHER;
    }
    switch (place_now(in)) {
    case PLACE_TOP:
        if (is_map) {
            return in->key == GS_KINETO_KEY_DISTRIBUTED ? PLACE_DISTRIBUTED : PLACE_OTHER;
        }
        return in->key == GS_KINETO_KEY_EVENTS ? PLACE_EVENTS : PLACE_OTHER;
    case PLACE_EVENTS:
        return is_map ? PLACE_EVENT : PLACE_OTHER;
    case PLACE_EVENT:
        return is_map && in->key == GS_KINETO_KEY_ARGS ? PLACE_ARGS : PLACE_OTHER;
    case PLACE_ARGS:
        if (!is_map && in->key == GS_KINETO_KEY_SHAPES) {
            return PLACE_SHAPES;
        }
        return !is_map && in->key == GS_KINETO_KEY_TYPES ? PLACE_TYPES : PLACE_OTHER;
    case PLACE_SHAPES:
        return is_map ? PLACE_OTHER : PLACE_SHAPE;
    case PLACE_OTHER:
    case PLACE_DISTRIBUTED:
    case PLACE_SHAPE:
    case PLACE_TYPES:
        break;
    }
    return PLACE_OTHER;
}

static int open_container(reader *in, bool is_map)
{
    in->silent_bytes = 0;
    if (in->depth == DEPTH_MAX) {
        return stop(in, gs_fail(in->err, GS_ELIMIT, "nested deeper than %d levels: no Kineto trace",
                                DEPTH_MAX));
    }
    if (in->depth == 0 && !is_map) {
        return stop(in, gs_fail(in->err, GS_EPARSE,
                                "a list at the top: a Kineto trace is an object with traceEvents"));
    }
    place child = place_of_child(in, is_map);
    in->places[in->depth++] = child;
    in->key = GS_KINETO_KEY_OTHER;
    if (child == PLACE_EVENTS) {
        in->seen_events = true;
    } else if (child == PLACE_EVENT) {
        gs_kineto_event_reset(&in->event);
    } else if (child == PLACE_SHAPE) {
        in->shape_product = -1;
    }
    return 1;
}

static int on_start_map(void *context)
{
    return open_container(context, true);
}

static int on_start_array(void *context)
{
    return open_container(context, false);
}

static int on_end(void *context)
{
    reader *in = context;
    in->silent_bytes = 0;
    place closed = place_now(in);
    in->depth--;
    in->key = GS_KINETO_KEY_OTHER;
    if (closed == PLACE_SHAPE && in->shape_product >= 0) {
        gs_kineto_event_add_elements(&in->event, in->shape_product);
    } else if (closed == PLACE_EVENT) {
        gs_status status = gs_kineto_keep(&in->keeper, &in->event, in->err);
        return status == GS_OK ? 1 : stop(in, status);
    }
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
    reader *in = context;
    in->silent_bytes = 0;
    if (place_now(in) != PLACE_OTHER) {
        in->key = gs_kineto_key_of((const char *)text, length);
    }
    return 1;
}

static int on_null(void *context)
{
    ((reader *)context)->silent_bytes = 0;
    return 1;
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return on_null(context);
}

/* A dimension of a shape; a product that leaves int64 makes the size unknown. */
static void multiply_shape(reader *in, const char *text, size_t length)
{
    int64_t dimension = 0;
    int64_t before = in->shape_product < 0 ? 1 : in->shape_product;
    if (!gs_kineto_whole(text, length, &dimension) || dimension < 0 ||
        (dimension > 0 && before > INT64_MAX / 2 / dimension)) {
        in->event.shapes_unknown = true;
        return;
    }
    in->shape_product = before * dimension;
}

static int on_number(void *context, const char *text, size_t length)
{
    reader *in = context;
    in->silent_bytes = 0;
    gs_status status = GS_OK;
    switch (place_now(in)) {
    case PLACE_EVENT:
    case PLACE_ARGS:
        status = gs_kineto_event_number(&in->event, in->key, text, length, in->err);
        break;
    case PLACE_DISTRIBUTED:
        status = gs_kineto_keep_distributed(&in->keeper, in->key, text, length, in->err);
        break;
    case PLACE_SHAPE:
        multiply_shape(in, text, length);
        break;
    case PLACE_OTHER:
    case PLACE_TOP:
    case PLACE_EVENTS:
    case PLACE_SHAPES:
    case PLACE_TYPES:
        break;
    }
    return status == GS_OK ? 1 : stop(in, status);
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    reader *in = context;
    in->silent_bytes = 0;
    place now = place_now(in);
    if (now == PLACE_EVENT || now == PLACE_ARGS) {
        gs_kineto_event_text(&in->event, in->key, (const char *)text, length);
    } else if (now == PLACE_TYPES) {
        gs_kineto_event_text(&in->event, GS_KINETO_KEY_TYPES, (const char *)text, length);
    }
    return 1;
}

static const yajl_callbacks CALLS = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end,
};

/* Why yajl stopped in a chunk (or at the end: chunk NULL), with the byte of the unpacked file. */
static gs_status parse_failure(reader *in, yajl_handle parser, yajl_status code,
                               const unsigned char *chunk, size_t chunk_bytes, uint64_t before)
{
    uint64_t byte = before + (chunk == NULL ? 0 : yajl_get_bytes_consumed(parser));
    if (code == yajl_status_client_canceled) {
        return gs_fail_in(in->err, "%s: byte %llu", in->file, (unsigned long long)byte);
    }
    unsigned char *text = yajl_get_error(parser, 0, chunk, chunk_bytes);
    size_t length = text == NULL ? 0 : strcspn((const char *)text, "\n");
    gs_status status =
        gs_fail(in->err, GS_EPARSE, "%s: byte %llu: no valid JSON (%.*s)%s", in->file,
                (unsigned long long)byte, (int)(length > 200 ? 200 : length),
                text == NULL ? "" : (const char *)text,
                chunk == NULL ? "; the file was cut: copy or record it again" : "");
    yajl_free_error(parser, text);
    return status;
}

static gs_status parse_stream(reader *in, gs_gzip_stream *stream, yajl_handle parser,
                              unsigned char *chunk)
{
    uint64_t before = 0;
    for (;;) {
        size_t got = 0;
        GS_TRY(gs_gzip_stream_read(stream, chunk, CHUNK_BYTES, &got, in->err));
        if (got == 0) {
            break;
        }
        in->silent_bytes += got;
        yajl_status code = yajl_parse(parser, chunk, got);
        if (code != yajl_status_ok) {
            return parse_failure(in, parser, code, chunk, got, before);
        }
        before += got;
        if (in->silent_bytes > VALUE_BYTES_MAX) {
            return gs_fail(in->err, GS_ELIMIT,
                           "%s: byte %llu: a value of more than %d MiB: no Kineto trace", in->file,
                           (unsigned long long)before, VALUE_BYTES_MAX / (1024 * 1024));
        }
    }
    if (before == 0) {
        return gs_fail(in->err, GS_EPARSE, "%s: the file is empty", in->file);
    }
    yajl_status code = yajl_complete_parse(parser);
    if (code != yajl_status_ok) {
        return parse_failure(in, parser, code, NULL, 0, before);
    }
    if (!in->seen_events) {
        return gs_fail(in->err, GS_EPARSE, "%s: no list traceEvents at the top: not a Kineto trace",
                       in->file);
    }
    return GS_OK;
}

gs_status gs_kineto_events_read(const char *file, uint32_t events_max, gs_kineto_events *out,
                                gs_error *err)
{
    gs_error own = {.code = GS_OK};
    gs_gzip_stream *stream = NULL;
    yajl_handle parser = NULL;
    unsigned char *chunk = NULL;
    reader in = {.file = file, .err = err == NULL ? &own : err};
    gs_kineto_keeper_init(&in.keeper, events_max, out);
    GS_TRY(gs_gzip_stream_open(file, &stream, err));
    gs_status status = GS_ENOMEM;
    chunk = malloc(CHUNK_BYTES);
    parser = yajl_alloc(&CALLS, NULL, &in);
    /* Kernel names are C++ and may hold any bytes: names are not checked for UTF-8. */
    if (chunk == NULL || parser == NULL || !yajl_config(parser, yajl_dont_validate_strings, 1)) {
        gs_fail(err, GS_ENOMEM, "%s: no memory to read it", file);
        goto undo;
    }
    status = parse_stream(&in, stream, parser, chunk);
    if (status == GS_OK) {
        status = gs_kineto_keeper_finish(&in.keeper, in.err);
        if (status != GS_OK) {
            gs_fail_in(in.err, "%s", file);
        }
    }
undo:
    if (parser != NULL) {
        yajl_free(parser);
    }
    free(chunk);
    gs_gzip_stream_close(stream);
    return status;
}
