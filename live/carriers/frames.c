#include "live/carriers/frames.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGNMENT = 64, SMALLEST_SHIFT = 8 };

/* In front of each buffer. */
typedef struct gs_frame_buffer {
    struct gs_frame_buffer *next;
    uint32_t class_index; /* capacity: 2^(SMALLEST_SHIFT + class_index) */
    alignas(ALIGNMENT) unsigned char data[];
} gs_frame_buffer;

bool gs_frames_init(gs_frames *frames, uint32_t processes)
{
    *frames = (gs_frames){.processes = processes,
                          .is_lost = calloc(processes, sizeof(bool)),
                          .losses = calloc(processes, sizeof(gs_frame_loss))};
    return frames->is_lost != NULL && frames->losses != NULL;
}

void gs_frames_fini(gs_frames *frames)
{
    gs_frames_hush(frames);
    while (frames->spare_outgoing != NULL) {
        gs_outgoing *next = frames->spare_outgoing->next;
        free(frames->spare_outgoing);
        frames->spare_outgoing = next;
    }
    while (frames->spare_incoming != NULL) {
        gs_incoming *next = frames->spare_incoming->next;
        free(frames->spare_incoming);
        frames->spare_incoming = next;
    }
    for (size_t i = 0; i < GS_FRAME_BUFFER_CLASSES; i++) {
        while (frames->spare_buffers[i] != NULL) {
            gs_frame_buffer *next = frames->spare_buffers[i]->next;
            free(frames->spare_buffers[i]);
            frames->spare_buffers[i] = next;
        }
    }
    free(frames->is_lost);
    free(frames->losses);
    *frames = (gs_frames){0};
}

void gs_outgoing_push(gs_outgoing_queue *queue, gs_outgoing *frame)
{
    frame->next = NULL;
    if (queue->first == NULL) {
        queue->first = frame;
    } else {
        queue->last->next = frame;
    }
    queue->last = frame;
}

gs_outgoing *gs_outgoing_pop(gs_outgoing_queue *queue)
{
    gs_outgoing *frame = queue->first;
    if (frame != NULL) {
        queue->first = frame->next;
    }
    return frame;
}

void gs_incoming_push(gs_incoming_queue *queue, gs_incoming *frame)
{
    frame->next = NULL;
    if (queue->first == NULL) {
        queue->first = frame;
    } else {
        queue->last->next = frame;
    }
    queue->last = frame;
}

gs_incoming *gs_incoming_pop(gs_incoming_queue *queue)
{
    gs_incoming *frame = queue->first;
    if (frame != NULL) {
        queue->first = frame->next;
    }
    return frame;
}

gs_outgoing *gs_frames_outgoing(gs_frames *frames, const gs_frame *frame, uint64_t cookie)
{
    gs_outgoing *out = frames->spare_outgoing;
    if (out != NULL) {
        frames->spare_outgoing = out->next;
    } else {
        out = malloc(sizeof *out);
        if (out == NULL) {
            return NULL;
        }
    }
    gs_frame_header header = {0};
    if (frame != NULL) {
        GS_ASSERT(frame->head_bytes >= 1);
        GS_ASSERT(frame->head_bytes <= GS_FRAME_HEAD_BYTES);
        header.head_bytes = (uint32_t)frame->head_bytes;
        header.body_bytes = frame->body_bytes;
        header.padding_bytes = frame->padding_bytes;
        memcpy(out->wire + sizeof header, frame->head, frame->head_bytes);
    }
    memcpy(out->wire, &header, sizeof header);
    out->next = NULL;
    out->cookie = cookie;
    out->said = frame == NULL ? GS_CARRIED_NOTHING : GS_CARRIED_LEFT;
    out->body = frame == NULL ? NULL : frame->body;
    out->body_bytes = header.body_bytes;
    out->padding_bytes = header.padding_bytes;
    out->gone_bytes = 0;
    out->requests = 0;
    out->wire_bytes = (uint32_t)sizeof header + header.head_bytes;
    return out;
}

size_t gs_outgoing_bytes(const gs_outgoing *frame)
{
    return frame->wire_bytes + frame->body_bytes + frame->padding_bytes;
}

static void spare_outgoing(gs_frames *frames, gs_outgoing *frame)
{
    frame->next = frames->spare_outgoing;
    frames->spare_outgoing = frame;
}

void gs_frames_left(gs_frames *frames, gs_outgoing *frame)
{
    if (frame->said == GS_CARRIED_NOTHING) {
        spare_outgoing(frames, frame);
    } else {
        gs_outgoing_push(&frames->left, frame);
    }
}

void gs_frames_drop(gs_frames *frames, gs_outgoing_queue *queue)
{
    for (gs_outgoing *frame; (frame = gs_outgoing_pop(queue)) != NULL;) {
        gs_frames_left(frames, frame);
    }
}

void *gs_frames_buffer(gs_frames *frames, size_t bytes)
{
    uint32_t class_index = 0;
    while (class_index < GS_FRAME_BUFFER_CLASSES &&
           (UINT64_C(1) << (SMALLEST_SHIFT + class_index)) < bytes) {
        class_index++;
    }
    if (class_index == GS_FRAME_BUFFER_CLASSES) {
        return NULL;
    }
    gs_frame_buffer *buffer = frames->spare_buffers[class_index];
    if (buffer != NULL) {
        frames->spare_buffers[class_index] = buffer->next;
        return buffer->data;
    }
    buffer =
        aligned_alloc(ALIGNMENT, sizeof *buffer + (UINT64_C(1) << (SMALLEST_SHIFT + class_index)));
    if (buffer == NULL) {
        return NULL;
    }
    buffer->class_index = class_index;
    return buffer->data;
}

void gs_frames_buffer_back(gs_frames *frames, void *data)
{
    if (data == NULL) {
        return;
    }
    void *begin = (unsigned char *)data - offsetof(gs_frame_buffer, data);
    gs_frame_buffer *buffer = begin;
    buffer->next = frames->spare_buffers[buffer->class_index];
    frames->spare_buffers[buffer->class_index] = buffer;
}

gs_incoming *gs_frames_incoming(gs_frames *frames, uint32_t from, const gs_frame_header *header,
                                const void *head)
{
    gs_incoming *in = frames->spare_incoming;
    if (in != NULL) {
        frames->spare_incoming = in->next;
    } else {
        in = malloc(sizeof *in);
        if (in == NULL) {
            return NULL;
        }
    }
    in->next = NULL;
    in->from = from;
    in->head_bytes = header->head_bytes;
    in->body_bytes = header->body_bytes;
    in->padding_bytes = header->padding_bytes;
    in->come_bytes = 0;
    in->requests = 0;
    memcpy(in->head, head, header->head_bytes);
    in->body = in->body_bytes == 0 ? NULL : gs_frames_buffer(frames, in->body_bytes);
    if (in->body == NULL && in->body_bytes > 0) {
        gs_frames_give_back(frames, in);
        return NULL;
    }
    return in;
}

void gs_frames_come(gs_frames *frames, gs_incoming *frame)
{
    gs_incoming_push(&frames->come, frame);
}

void gs_frames_give_back(gs_frames *frames, gs_incoming *frame)
{
    gs_frames_buffer_back(frames, frame->body);
    frame->next = frames->spare_incoming;
    frames->spare_incoming = frame;
}

void gs_frames_lost(gs_frames *frames, uint32_t peer, const char *format, ...)
{
    if (frames->is_lost[peer]) {
        return;
    }
    frames->is_lost[peer] = true;
    gs_frame_loss *loss = &frames->losses[frames->loss_count++];
    loss->peer = peer;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(loss->text, sizeof loss->text, format, arguments);
    va_end(arguments);
}

bool gs_frames_next(gs_frames *frames, gs_carried *out)
{
    gs_outgoing *left = gs_outgoing_pop(&frames->left);
    if (left != NULL) {
        *out = (gs_carried){.kind = left->said, .cookie = left->cookie};
        spare_outgoing(frames, left);
        return true;
    }
    gs_incoming *come = gs_incoming_pop(&frames->come);
    if (come != NULL) {
        *out = (gs_carried){.kind = GS_CARRIED_FRAME, .peer = come->from, .handle = come};
        out->frame = (gs_frame){.head = come->head,
                                .head_bytes = come->head_bytes,
                                .body = come->body,
                                .body_bytes = come->body_bytes};
        return true;
    }
    if (frames->losses_said < frames->loss_count) {
        const gs_frame_loss *loss = &frames->losses[frames->losses_said++];
        *out = (gs_carried){.kind = GS_CARRIED_LOST, .peer = loss->peer};
        memcpy(out->text, loss->text, sizeof out->text);
        return true;
    }
    return false;
}

bool gs_frames_has_next(const gs_frames *frames)
{
    return frames->left.first != NULL || frames->come.first != NULL ||
           frames->losses_said < frames->loss_count;
}

void gs_frames_hush(gs_frames *frames)
{
    gs_outgoing *left;
    while ((left = gs_outgoing_pop(&frames->left)) != NULL) {
        spare_outgoing(frames, left);
    }
    gs_incoming *come;
    while ((come = gs_incoming_pop(&frames->come)) != NULL) {
        gs_frames_give_back(frames, come);
    }
    frames->losses_said = frames->loss_count;
}

gs_time_ns gs_frames_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * GS_NS_PER_S + now.tv_nsec;
}
