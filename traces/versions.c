#include "traces/versions.h"

#include "base/assert.h"

#include <string.h>

bool gs_versions_init(gs_versions *versions, uint32_t vectors, int64_t elements, gs_arena *arena)
{
    GS_ASSERT(elements > 0);
    *versions = (gs_versions){.elements = elements, .arena = arena};
    versions->vectors = GS_PACK(arena, gs_version_vector, vectors);
    for (uint32_t i = 0; versions->vectors != NULL && i < vectors; i++) {
        bool is_weights = i == 0;
        versions->vectors[i] =
            (gs_version_vector){.first = {.version = is_weights ? 0 : GS_NO_VERSION},
                                .count = 1,
                                .is_weights = is_weights};
    }
    return versions->vectors != NULL;
}

static gs_version_piece *pieces_of(gs_version_vector *vector)
{
    return vector->pieces != NULL ? vector->pieces : &vector->first;
}

static const gs_version_piece *pieces_read(const gs_version_vector *vector)
{
    return vector->pieces != NULL ? vector->pieces : &vector->first;
}

static int64_t end_of(const gs_versions *versions, const gs_version_vector *vector, uint32_t piece)
{
    return piece + 1 < vector->count ? pieces_read(vector)[piece + 1].from : versions->elements;
}

static int64_t older(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t oldest_of(const gs_versions *versions, const gs_version_vector *vector,
                         int64_t offset, int64_t length)
{
    int64_t oldest = GS_NO_VERSION;
    for (uint32_t i = 0; i < vector->count; i++) {
        const gs_version_piece *piece = &pieces_read(vector)[i];
        if (length > 0 && piece->from < offset + length && end_of(versions, vector, i) > offset) {
            oldest = older(oldest, piece->version);
        }
    }
    return oldest;
}

int64_t gs_versions_oldest(const gs_versions *versions, uint32_t vector, int64_t offset,
                           int64_t length)
{
    return oldest_of(versions, &versions->vectors[vector], offset, length);
}

static void set_whole(gs_version_vector *vector, int64_t version)
{
    vector->count = 1;
    pieces_of(vector)[0] = (gs_version_piece){.version = version};
}

/* Room for so many pieces; false: no memory. */
static bool make_room(gs_versions *versions, gs_version_vector *vector, uint32_t count)
{
    uint32_t capacity = vector->pieces != NULL ? vector->capacity : 1;
    if (count <= capacity) {
        return true;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    gs_version_piece *pieces = GS_PACK(versions->arena, gs_version_piece, capacity);
    if (pieces == NULL) {
        return false;
    }
    memcpy(pieces, pieces_read(vector), vector->count * sizeof *pieces);
    vector->pieces = pieces;
    vector->capacity = capacity;
    return true;
}

/* Makes a piece begin there; `at` may be the end. Returns its index. There is room. */
static uint32_t split(const gs_versions *versions, gs_version_vector *vector, int64_t at)
{
    gs_version_piece *pieces = pieces_of(vector);
    uint32_t i = 0;
    while (i < vector->count && pieces[i].from < at) {
        i++;
    }
    bool begins = at == versions->elements || (i < vector->count && pieces[i].from == at);
    if (!begins) {
        memmove(&pieces[i + 1], &pieces[i], (vector->count - i) * sizeof *pieces);
        pieces[i] = pieces[i - 1];
        pieces[i].from = at;
        vector->count++;
    }
    return i;
}

/* Neighbours of one version become one piece. */
static void merge(gs_version_vector *vector)
{
    gs_version_piece *pieces = pieces_of(vector);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < vector->count; i++) {
        const gs_version_piece *before = &pieces[kept - 1];
        if (pieces[i].version != before->version || pieces[i].is_spent != before->is_spent) {
            pieces[kept++] = pieces[i];
        }
    }
    vector->count = kept;
}

typedef enum change_kind { PUT, ADD, SPEND, UPDATE } change_kind;

static void change_piece(gs_version_piece *piece, change_kind kind, int64_t version)
{
    switch (kind) {
    case PUT:
        piece->version = version;
        piece->is_spent = false;
        break;
    case ADD:
        piece->version = piece->is_spent ? version : older(piece->version, version);
        piece->is_spent = false;
        break;
    case SPEND:
        piece->is_spent = true;
        break;
    case UPDATE:
        piece->version = piece->version == GS_NO_VERSION ? 1 : piece->version + 1;
        break;
    }
}

static void change(gs_versions *versions, uint32_t index, int64_t offset, int64_t length,
                   change_kind kind, int64_t version)
{
    gs_version_vector *vector = &versions->vectors[index];
    GS_ASSERT(length >= 0 && offset >= 0 && offset + length <= versions->elements);
    gs_version_piece only = pieces_read(vector)[0];
    change_piece(&only, kind, version);
    bool is_same = vector->count == 1 && only.version == pieces_read(vector)[0].version &&
                   only.is_spent == pieces_read(vector)[0].is_spent;
    if (length == 0 || is_same) {
        return;
    }
    if (length == versions->elements) { /* no piece begins or ends anywhere new */
        for (uint32_t i = 0; i < vector->count; i++) {
            change_piece(&pieces_of(vector)[i], kind, version);
        }
        merge(vector);
        return;
    }
    if (!make_room(versions, vector, vector->count + 2)) {
        set_whole(vector, older(only.version, oldest_of(versions, vector, 0, versions->elements)));
        return;
    }
    uint32_t begin = split(versions, vector, offset);
    uint32_t end = split(versions, vector, offset + length);
    for (uint32_t i = begin; i < end; i++) {
        change_piece(&pieces_of(vector)[i], kind, version);
    }
    merge(vector);
}

void gs_versions_put(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length,
                     int64_t version)
{
    change(versions, vector, offset, length, PUT, version);
}

void gs_versions_add(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length,
                     int64_t version)
{
    if (!versions->vectors[vector].is_weights) {
        change(versions, vector, offset, length, ADD, version);
    }
}

void gs_versions_clear(gs_versions *versions, uint32_t vector, int64_t offset, int64_t length)
{
    if (!versions->vectors[vector].is_weights) {
        change(versions, vector, offset, length, PUT, GS_NO_VERSION);
    }
}

void gs_versions_copy(gs_versions *versions, uint32_t to, uint32_t from)
{
    gs_version_vector *into = &versions->vectors[to];
    const gs_version_vector *of = &versions->vectors[from];
    if (to == from) {
        return;
    }
    if (!make_room(versions, into, of->count)) {
        set_whole(into, oldest_of(versions, of, 0, versions->elements));
        return;
    }
    into->count = of->count;
    memcpy(pieces_of(into), pieces_read(of), of->count * sizeof(gs_version_piece));
    for (uint32_t i = 0; i < into->count; i++) {
        pieces_of(into)[i].is_spent = false;
    }
    merge(into);
}

int64_t gs_versions_apply(gs_versions *versions, uint32_t param, uint32_t grad, int64_t offset,
                          int64_t length)
{
    gs_version_vector *weights = &versions->vectors[param];
    const gs_version_vector *gradient = &versions->vectors[grad];
    int64_t most = -1;
    for (uint32_t i = 0; i < gradient->count; i++) {
        const gs_version_piece *piece = &pieces_read(gradient)[i];
        int64_t from = piece->from > offset ? piece->from : offset;
        int64_t end = older(end_of(versions, gradient, i), offset + length);
        for (uint32_t j = 0; piece->version != GS_NO_VERSION && j < weights->count; j++) {
            const gs_version_piece *under = &pieces_read(weights)[j];
            bool overlap = from < end && under->from < end && end_of(versions, weights, j) > from;
            int64_t behind = under->version == GS_NO_VERSION ? 0 : under->version - piece->version;
            behind = behind > 0 ? behind : 0;
            most = overlap && behind > most ? behind : most;
        }
    }
    weights->is_weights = true;
    change(versions, param, offset, length, UPDATE, 0);
    change(versions, grad, offset, length, SPEND, 0);
    return most;
}
