#include "traces/recording.h"

#include "base/assert.h"
#include "base/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNITS_MAX = 1000 * 1000,
    RECORD_BYTES = 32,
    CAPACITY_MIN = 1024,
    VERSION = 4,
    VERSION_OLDEST = 3,
    ORIGIN_MAX = 16 << 20,
    ORDER_MARK = 0x01020304
};

_Static_assert(sizeof(gs_input_record) == RECORD_BYTES, "records are 32 bytes in files");

/* Head of a file; the elements of each unit follow, then the origin, then the records, then the
 * hash of all before it. */
typedef struct file_head {
    char magic[16];
    uint32_t version;
    uint32_t order_mark; /* files are read on machines of the byte order that wrote them */
    uint64_t record_count;
    gs_recording_about about;
    uint64_t hash; /* of the head up to here */
} file_head;

static const char magic[16] = "gradsync.record";

_Static_assert(sizeof(file_head) == 16 + 8 + 8 + sizeof(gs_recording_about) + 8, "no padding");

const char *gs_input_kind_text(uint8_t kind)
{
    static const char *const texts[] = {
#define GS_INPUT_TEXT(name, text) text,
        GS_INPUT_LIST(GS_INPUT_TEXT)
#undef GS_INPUT_TEXT
    };
    return kind < GS_INPUT_KIND_COUNT ? texts[kind] : "unknown";
}

uint32_t gs_recording_entity(const gs_recording_about *about, gs_peer peer)
{
    return peer.role == GS_WORKER ? peer.index : about->ranks + peer.index;
}

uint32_t gs_recording_check(uint32_t before, const gs_input_record *record)
{
    gs_input_record plain = *record;
    plain.check = before;
    return (uint32_t)gs_hash(0, &plain, sizeof plain);
}

gs_status gs_recording_init(gs_recording *recording, const gs_recording_about *about, gs_error *err)
{
    *recording = (gs_recording){.about = *about};
    recording->about.units = 0;
    recording->about.origin_bytes = 0;
    recording->checks = calloc((size_t)about->ranks + about->servers, sizeof *recording->checks);
    if (recording->checks == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a recording");
    }
    return GS_OK;
}

void gs_recording_fini(gs_recording *recording)
{
    free(recording->records);
    free(recording->checks);
    free(recording->unit_elements);
    free(recording->origin);
    *recording = (gs_recording){.records = NULL};
}

gs_status gs_recording_set_units(gs_recording *recording, const int64_t *unit_elements,
                                 uint32_t units, gs_error *err)
{
    int64_t *copy = calloc(units > 0 ? units : 1, sizeof *copy);
    if (copy == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a recording of %u units of gradient", units);
    }
    for (uint32_t i = 0; i < units; i++) {
        copy[i] = unit_elements[i];
    }
    free(recording->unit_elements);
    recording->unit_elements = copy;
    recording->about.units = units;
    return GS_OK;
}

gs_status gs_recording_set_origin(gs_recording *recording, const char *text, gs_error *err)
{
    size_t bytes = text == NULL ? 0 : strlen(text);
    char *copy = bytes == 0 ? NULL : malloc(bytes + 1);
    if (bytes > ORIGIN_MAX) {
        free(copy);
        return gs_fail(err, GS_ELIMIT, "%zu bytes of what a recording is of are more than %d",
                       bytes, (int)ORIGIN_MAX);
    }
    if (bytes > 0 && copy == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %zu bytes of what a recording is of", bytes);
    }
    if (copy != NULL) {
        memcpy(copy, text, bytes + 1);
    }
    free(recording->origin);
    recording->origin = copy;
    recording->about.origin_bytes = (uint32_t)bytes;
    return GS_OK;
}

gs_status gs_recording_add(gs_recording *recording, gs_input_record *record)
{
    if (recording->count == recording->capacity) {
        size_t capacity = recording->capacity == 0 ? CAPACITY_MIN : 2 * recording->capacity;
        gs_input_record *grown = realloc(recording->records, capacity * sizeof *grown);
        if (grown == NULL) {
            return GS_ENOMEM;
        }
        recording->records = grown;
        recording->capacity = capacity;
    }
    if (recording->count > 0) {
        int64_t last_ns = recording->records[recording->count - 1].at_ns;
        record->at_ns = record->at_ns > last_ns ? record->at_ns : last_ns + 1;
    }
    uint32_t *check = &recording->checks[gs_recording_entity(&recording->about, record->entity)];
    record->check = *check = gs_recording_check(*check, record);
    recording->records[recording->count++] = *record;
    return GS_OK;
}

/* ---------------------------------------------------------------- files */

static file_head head_of(const gs_recording *recording)
{
    file_head head = {.version = VERSION,
                      .order_mark = ORDER_MARK,
                      .record_count = recording->count,
                      .about = recording->about};
    memcpy(head.magic, magic, sizeof magic);
    head.hash = gs_hash(0, &head, offsetof(file_head, hash));
    return head;
}

static uint64_t body_hash(const file_head *head, const gs_recording *recording)
{
    size_t units = recording->about.units * sizeof *recording->unit_elements;
    uint64_t before = units > 0 ? gs_hash(head->hash, recording->unit_elements, units) : head->hash;
    if (recording->origin != NULL) {
        before = gs_hash(before, recording->origin, recording->about.origin_bytes);
    }
    return gs_hash(before, recording->records, recording->count * RECORD_BYTES);
}

gs_status gs_recording_write(const gs_recording *recording, const char *file, gs_error *err)
{
    file_head head = head_of(recording);
    uint64_t tail = body_hash(&head, recording);
    FILE *out = fopen(file, "wb");
    if (out == NULL) {
        return gs_fail(err, GS_EIO, "%s: cannot be written: %s", file, strerror(errno));
    }
    size_t units = recording->about.units;
    size_t origin = recording->about.origin_bytes;
    bool ok =
        fwrite(&head, sizeof head, 1, out) == 1 &&
        (units == 0 || fwrite(recording->unit_elements, sizeof(int64_t), units, out) == units) &&
        (origin == 0 || fwrite(recording->origin, 1, origin, out) == origin) &&
        fwrite(recording->records, RECORD_BYTES, recording->count, out) == recording->count &&
        fwrite(&tail, sizeof tail, 1, out) == 1;
    ok = fclose(out) == 0 && ok;
    return ok ? GS_OK : gs_fail(err, GS_EIO, "%s: writing failed: %s", file, strerror(errno));
}

static gs_status check_head(const char *file, const file_head *head, gs_error *err)
{
    if (memcmp(head->magic, magic, sizeof magic) != 0) {
        return gs_fail(err, GS_EPARSE, "%s: byte 0: not a recording of gradsync", file);
    }
    if (head->version < VERSION_OLDEST || head->version > VERSION) {
        return gs_fail(err, GS_EVERSION,
                       "%s: recording version %u; this program reads versions %d to %d", file,
                       head->version, VERSION_OLDEST, VERSION);
    }
    if (head->order_mark != ORDER_MARK) {
        return gs_fail(err, GS_EVERSION, "%s: written on a machine of another byte order", file);
    }
    const gs_recording_about *about = &head->about;
    if (head->hash != gs_hash(0, head, offsetof(file_head, hash)) || about->ranks < 1 ||
        about->ranks > GS_ENTITIES_MAX || about->servers > GS_ENTITIES_MAX ||
        about->number >= GS_NUMBER_COUNT || about->units > UNITS_MAX ||
        about->origin_bytes > ORIGIN_MAX ||
        memchr(about->strategy, '\0', sizeof about->strategy) == NULL) {
        return gs_fail(err, GS_EPARSE, "%s: the first %zu bytes are damaged", file, sizeof *head);
    }
    return GS_OK;
}

static bool peer_exists(const gs_recording_about *about, gs_peer peer)
{
    return peer.index < (peer.role == GS_WORKER ? about->ranks : about->servers) &&
           peer.role < GS_ROLE_COUNT;
}

/* A record as it was read: fits the run, comes after the last one, and follows its entity's. */
static const char *damage(const gs_recording *recording, const gs_input_record *record)
{
    if (!peer_exists(&recording->about, record->entity) ||
        !peer_exists(&recording->about, record->source)) {
        return "names an entity that the run does not have";
    }
    if (record->kind >= GS_INPUT_KIND_COUNT) {
        return "is of an unknown kind";
    }
    if (recording->count > 0 && record->at_ns <= recording->records[recording->count - 1].at_ns) {
        return "goes back in time";
    }
    return NULL;
}

/* Units are read in pieces: a file says how many there are before it shows that it holds them. */
static gs_status read_units(const char *file, FILE *in, uint32_t units, gs_recording *out,
                            gs_error *err)
{
    enum { PIECE = 1024 };
    int64_t *elements = NULL;
    uint32_t count = 0;
    while (count < units) {
        uint32_t more = units - count < PIECE ? units - count : PIECE;
        int64_t *grown = realloc(elements, (size_t)(count + more) * sizeof *grown);
        if (grown == NULL) {
            free(elements);
            return gs_fail(err, GS_ENOMEM, "%s: no memory for %u units", file, units);
        }
        elements = grown;
        if (fread(&elements[count], sizeof *elements, more, in) != more) {
            free(elements);
            return gs_fail(err, GS_EPARSE, "%s: ends within the sizes of %u units", file, units);
        }
        count += more;
    }
    out->unit_elements = elements;
    out->about.units = units;
    return GS_OK;
}

/* In pieces too. */
static gs_status read_origin(const char *file, FILE *in, uint32_t bytes, gs_recording *out,
                             gs_error *err)
{
    enum { PIECE = 65536 };
    char *text = NULL;
    uint32_t count = 0;
    while (count < bytes) {
        uint32_t more = bytes - count < PIECE ? bytes - count : PIECE;
        char *grown = realloc(text, (size_t)count + more + 1);
        if (grown == NULL) {
            free(text);
            return gs_fail(err, GS_ENOMEM, "%s: no memory for %u bytes", file, bytes);
        }
        text = grown;
        if (fread(&text[count], 1, more, in) != more) {
            free(text);
            return gs_fail(err, GS_EPARSE, "%s: ends within what it is of", file);
        }
        count += more;
        text[count] = '\0';
    }
    out->origin = text;
    out->about.origin_bytes = bytes;
    return GS_OK;
}

static uint64_t record_place(const gs_recording *recording, uint64_t record)
{
    const gs_recording_about *about = &recording->about;
    return sizeof(file_head) + about->units * sizeof(int64_t) + about->origin_bytes +
           record * RECORD_BYTES;
}

static gs_status read_records(const char *file, FILE *in, uint64_t count, gs_recording *out,
                              gs_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        gs_input_record record;
        if (fread(&record, RECORD_BYTES, 1, in) != 1) {
            return gs_fail(err, GS_EPARSE, "%s: ends within record %llu of %llu", file,
                           (unsigned long long)i, (unsigned long long)count);
        }
        const char *what = damage(out, &record);
        uint32_t check = record.check;
        if (what == NULL) {
            if (gs_recording_add(out, &record) != GS_OK) {
                return gs_fail(err, GS_ENOMEM, "%s: no memory for %llu records", file,
                               (unsigned long long)count);
            }
            what = record.check == check ? NULL : "does not follow from those before it";
        }
        if (what != NULL) {
            return gs_fail(err, GS_EPARSE, "%s: byte %llu (record %llu): the file is damaged: %s",
                           file, (unsigned long long)record_place(out, i), (unsigned long long)i,
                           what);
        }
    }
    return GS_OK;
}

static gs_status read_all(const char *file, FILE *in, gs_recording *out, gs_error *err)
{
    file_head head;
    if (fread(&head, sizeof head, 1, in) != 1) {
        return gs_fail(err, GS_EPARSE, "%s: not a recording of gradsync: shorter than its head",
                       file);
    }
    GS_TRY(check_head(file, &head, err));
    GS_TRY(gs_recording_init(out, &head.about, err));
    gs_status status = read_units(file, in, head.about.units, out, err);
    if (status == GS_OK) {
        status = read_origin(file, in, head.about.origin_bytes, out, err);
    }
    if (status == GS_OK) {
        status = read_records(file, in, head.record_count, out, err);
    }
    uint64_t tail;
    if (status == GS_OK && (fread(&tail, sizeof tail, 1, in) != 1 ||
                            tail != body_hash(&head, out) || fgetc(in) != EOF)) {
        status = gs_fail(err, GS_EPARSE, "%s: the file is damaged at its end (byte %llu)", file,
                         (unsigned long long)record_place(out, head.record_count));
    }
    if (status != GS_OK) {
        gs_recording_fini(out);
    }
    return status;
}

gs_status gs_recording_read(const char *file, gs_recording *out, gs_error *err)
{
    FILE *in = fopen(file, "rb");
    if (in == NULL) {
        return gs_fail(err, errno == ENOENT ? GS_ENOTFOUND : GS_EIO, "%s: cannot be read: %s", file,
                       strerror(errno));
    }
    gs_recording read;
    gs_status status = read_all(file, in, &read, err);
    (void)fclose(in);
    if (status == GS_OK) {
        *out = read;
    }
    return status;
}
