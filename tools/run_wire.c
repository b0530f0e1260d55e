#include "tools/run_wire.h"

#include "tools/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

typedef struct frame_head {
    uint64_t kind;
    uint64_t bytes; /* that follow */
} frame_head;

/* An outcome without its pointers; values and the packed record follow. */
typedef struct flat_outcome {
    gs_outcome outcome;
    uint64_t record_bytes;
} flat_outcome;

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        at += written;
        count -= (size_t)written;
    }
    return true;
}

bool gs_wire_send_progress(int fd, double share)
{
    frame_head head = {GS_FRAME_PROGRESS, sizeof share};
    return write_all(fd, &head, sizeof head) && write_all(fd, &share, sizeof share);
}

bool gs_wire_send_outcome(int fd, const gs_outcome *outcome)
{
    size_t value_bytes = gs_metric_count() * sizeof *outcome->values;
    flat_outcome flat = {.outcome = *outcome};
    flat.record_bytes = outcome->record == NULL ? 0 : gs_record_pack(outcome->record, NULL);
    char *packed = gs_need(malloc(flat.record_bytes + 1));
    if (outcome->record != NULL) {
        gs_record_pack(outcome->record, packed);
    }
    frame_head head = {GS_FRAME_OUTCOME, sizeof flat + value_bytes + flat.record_bytes};
    bool sent = write_all(fd, &head, sizeof head) && write_all(fd, &flat, sizeof flat) &&
                write_all(fd, outcome->values, value_bytes) &&
                write_all(fd, packed, flat.record_bytes);
    free(packed);
    return sent;
}

bool gs_wire_send_order(int fd, gs_frame_kind kind, uint64_t value)
{
    struct {
        frame_head head;
        uint64_t value;
    } frame = {{kind, sizeof frame.value}, value};
    return write_all(fd, &frame, sizeof frame);
}

static bool read_all(int fd, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t got = read(fd, at, count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        count -= (size_t)got;
    }
    return true;
}

bool gs_wire_read_order(int fd, gs_frame_kind *out_kind, uint64_t *out_value)
{
    frame_head head;
    if (!read_all(fd, &head, sizeof head) || head.kind < GS_FRAME_RUN || head.kind > GS_FRAME_END ||
        head.bytes != sizeof *out_value || !read_all(fd, out_value, sizeof *out_value)) {
        return false;
    }
    *out_kind = (gs_frame_kind)head.kind;
    return true;
}

static void take_outcome(const char *bytes, size_t count, gs_outcome *out)
{
    size_t value_bytes = gs_metric_count() * sizeof(double);
    flat_outcome flat;
    if (count < sizeof flat + value_bytes) {
        return;
    }
    memcpy(&flat, bytes, sizeof flat);
    if (count != sizeof flat + value_bytes + flat.record_bytes) {
        return;
    }
    *out = flat.outcome;
    out->values = gs_need(malloc(value_bytes));
    memcpy(out->values, bytes + sizeof flat, value_bytes);
    out->record =
        flat.record_bytes == 0
            ? NULL
            : gs_need(gs_record_unpack(bytes + sizeof flat + value_bytes, flat.record_bytes));
}

bool gs_wire_read_outcome(int fd, gs_outcome *out)
{
    frame_head head;
    if (!read_all(fd, &head, sizeof head) || head.kind != GS_FRAME_OUTCOME) {
        return false;
    }
    char *bytes = gs_need(malloc(head.bytes + 1));
    bool is_whole = read_all(fd, bytes, head.bytes);
    out->started = false;
    if (is_whole) {
        take_outcome(bytes, head.bytes, out);
    }
    free(bytes);
    return is_whole && out->started;
}

/* Takes the frames that are whole and moves the rest to the front. */
static void take_frames(gs_wire *wire, gs_outcome *out)
{
    size_t at = 0;
    frame_head head;
    while (wire->count - at >= sizeof head) {
        memcpy(&head, wire->bytes + at, sizeof head);
        if (wire->count - at - sizeof head < head.bytes) {
            break;
        }
        const char *content = wire->bytes + at + sizeof head;
        if (head.kind == GS_FRAME_PROGRESS && head.bytes == sizeof wire->share) {
            memcpy(&wire->share, content, sizeof wire->share);
        } else if (head.kind == GS_FRAME_OUTCOME) {
            take_outcome(content, head.bytes, out);
            wire->has_outcome = out->started;
        }
        at += sizeof head + head.bytes;
    }
    memmove(wire->bytes, wire->bytes + at, wire->count - at);
    wire->count -= at;
}

bool gs_wire_receive(gs_wire *wire, int fd, gs_outcome *out)
{
    if (wire->capacity - wire->count < READ_BYTES) {
        wire->capacity = 2 * wire->capacity + READ_BYTES;
        wire->bytes = gs_need(realloc(wire->bytes, wire->capacity));
    }
    ssize_t got = read(fd, wire->bytes + wire->count, READ_BYTES);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got <= 0) {
        return false;
    }
    wire->count += (size_t)got;
    take_frames(wire, out);
    return true;
}

void gs_wire_fini(gs_wire *wire)
{
    free(wire->bytes);
    *wire = (gs_wire){0};
}
