#include "models/dataset_idx.h"

#include <string.h>

#include "models/dataset_file.h"
#include "models/dataset_random.h"
#include "models/dataset_source.h"

enum {
    MAGIC_IMAGES = 0x00000803,
    MAGIC_LABELS = 0x00000801,
    IMAGES_HEAD_BYTES = 16,
    LABELS_HEAD_BYTES = 8,
    SIDE_MAX = 4096
};

typedef struct idx_config {
    char images[GS_DATA_FILE_BYTES], labels[GS_DATA_FILE_BYTES];
    char test_images[GS_DATA_FILE_BYTES], test_labels[GS_DATA_FILE_BYTES];
    int64_t classes;
} idx_config;

/* clang-format off */
static const gs_field fields[] = {
    {"images", GS_FIELD_TEXT, GS_FIELD_AT(idx_config, images), NULL, 0, 0, NULL,
     "file of images to train with, such as train-images-idx3-ubyte, unpacked"},
    {"labels", GS_FIELD_TEXT, GS_FIELD_AT(idx_config, labels), NULL, 0, 0, NULL,
     "file of their labels"},
    {"test_images", GS_FIELD_TEXT, GS_FIELD_AT(idx_config, test_images), "", 0, 0, NULL,
     "file of images to test with; empty: one in five of images"},
    {"test_labels", GS_FIELD_TEXT, GS_FIELD_AT(idx_config, test_labels), "", 0, 0, NULL,
     "file of their labels"},
    {"classes", GS_FIELD_INT, GS_FIELD_AT(idx_config, classes), "10", 2, 256, NULL,
     "labels are 0 to one less"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "idx",
    .struct_bytes = sizeof(idx_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* ---------------------------------------------------------------- one file */

static uint32_t number_at(const gs_idx_file *in, size_t offset)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        value = value << 8 | (unsigned char)in->bytes[offset + i];
    }
    return value;
}

static gs_status check_head(const gs_idx_file *in, uint32_t magic, size_t head_bytes, gs_error *err)
{
    const char *what = magic == MAGIC_IMAGES ? "images" : "labels";
    if (in->length < head_bytes) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %zu bytes; an IDX file of %s begins with a head of %zu bytes", in->file,
                       in->length, what, head_bytes);
    }
    uint32_t found = number_at(in, 0);
    if (found != magic) {
        return gs_fail(err, GS_EPARSE,
                       "%s: offset 0: magic number 0x%08x; expected 0x%08x, an IDX file of %s%s",
                       in->file, found, magic, what,
                       found == MAGIC_LABELS || found == MAGIC_IMAGES
                           ? " (images and labels may be exchanged)"
                           : "");
    }
    if (number_at(in, 4) == 0) {
        return gs_fail(err, GS_EPARSE, "%s: offset 4: count is 0; at least one of %s is needed",
                       in->file, what);
    }
    return GS_OK;
}

static gs_status check_length(const gs_idx_file *in, size_t head_bytes, uint64_t count,
                              uint64_t row_bytes, gs_error *err)
{
    uint64_t wanted = head_bytes + count * row_bytes;
    if (in->length != wanted) {
        return gs_fail(err, GS_EPARSE,
                       "%s: %zu bytes; expected %llu by its head, %llu times %llu after %zu: it %s",
                       in->file, in->length, (unsigned long long)wanted, (unsigned long long)count,
                       (unsigned long long)row_bytes, head_bytes,
                       in->length < wanted ? "is cut" : "goes on behind its end");
    }
    return GS_OK;
}

static gs_status check_images(const gs_idx_file *in, uint32_t *out_height, uint32_t *out_width,
                              gs_error *err)
{
    GS_TRY(check_head(in, MAGIC_IMAGES, IMAGES_HEAD_BYTES, err));
    uint32_t height = number_at(in, 8);
    uint32_t width = number_at(in, 12);
    if (height == 0 || width == 0) {
        return gs_fail(err, GS_EPARSE, "%s: offset 8: images of %u x %u pixels hold none", in->file,
                       height, width);
    }
    if (height > SIDE_MAX || width > SIDE_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: offset 8: images of %u x %u pixels; at most %d x %d",
                       in->file, height, width, SIDE_MAX, SIDE_MAX);
    }
    GS_TRY(check_length(in, IMAGES_HEAD_BYTES, number_at(in, 4), (uint64_t)height * width, err));
    *out_height = height;
    *out_width = width;
    return GS_OK;
}

static gs_status check_labels(const gs_idx_file *in, const gs_idx_file *images, int64_t classes,
                              gs_error *err)
{
    GS_TRY(check_head(in, MAGIC_LABELS, LABELS_HEAD_BYTES, err));
    uint32_t count = number_at(in, 4);
    if (count != number_at(images, 4)) {
        return gs_fail(err, GS_EPARSE,
                       "%s: offset 4: %u labels; expected %u, one for each image of %s", in->file,
                       count, number_at(images, 4), images->file);
    }
    GS_TRY(check_length(in, LABELS_HEAD_BYTES, count, 1, err));
    for (size_t i = LABELS_HEAD_BYTES; i < in->length; i++) {
        int label = (unsigned char)in->bytes[i];
        if (label >= classes) {
            return gs_fail(err, GS_EPARSE,
                           "%s: offset %zu: label %d; expected 0 to %lld, as classes is %lld",
                           in->file, i, label, (long long)(classes - 1), (long long)classes);
        }
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- all of them */

static gs_status check_test(const gs_idx_files *files, uint32_t height, uint32_t width,
                            gs_error *err)
{
    uint32_t test_height = 0;
    uint32_t test_width = 0;
    GS_TRY(check_images(&files->test_images, &test_height, &test_width, err));
    if (test_height != height || test_width != width) {
        return gs_fail(
            err, GS_EPARSE, "%s: offset 8: images of %u x %u pixels; expected %u x %u as in %s",
            files->test_images.file, test_height, test_width, height, width, files->images.file);
    }
    return check_labels(&files->test_labels, &files->test_images, files->classes, err);
}

static uint8_t *join(const gs_idx_file *first, const gs_idx_file *second, size_t head_bytes,
                     gs_arena *arena)
{
    size_t first_bytes = first->length - head_bytes;
    size_t second_bytes = second->file != NULL ? second->length - head_bytes : 0;
    uint8_t *joined = GS_TAKE(arena, uint8_t, first_bytes + second_bytes);
    if (joined != NULL) {
        memcpy(joined, first->bytes + head_bytes, first_bytes);
        if (second_bytes > 0) {
            memcpy(joined + first_bytes, second->bytes + head_bytes, second_bytes);
        }
    }
    return joined;
}

gs_status gs_idx_parse(const gs_idx_files *files, gs_arena *arena, gs_dataset *out, gs_error *err)
{
    uint32_t height = 0;
    uint32_t width = 0;
    bool has_test = files->test_images.file != NULL;
    GS_TRY(check_images(&files->images, &height, &width, err));
    GS_TRY(check_labels(&files->labels, &files->images, files->classes, err));
    int64_t train_count = number_at(&files->images, 4);
    int64_t test_count = 0;
    if (has_test) {
        GS_TRY(check_test(files, height, width, err));
        test_count = number_at(&files->test_images, 4);
    } else if (train_count < 2) {
        return gs_fail(err, GS_EPARSE,
                       "%s: offset 4: a single image; expected two, one to train and one to test "
                       "with, or test_images",
                       files->images.file);
    }
    int64_t rows = train_count + test_count;
    const uint32_t *split =
        has_test ? gs_data_in_order(rows, arena) : gs_data_split(rows, arena, &test_count);
    const uint8_t *pixels = join(&files->images, &files->test_images, IMAGES_HEAD_BYTES, arena);
    const uint8_t *labels = join(&files->labels, &files->test_labels, LABELS_HEAD_BYTES, arena);
    if (split == NULL || pixels == NULL || labels == NULL) {
        return gs_data_no_memory(files->images.file, err);
    }
    *out = (gs_dataset){.shape = {.input = {1, height, width},
                                  .kind = GS_ANSWER_CLASS,
                                  .answer_count = 1,
                                  .answer_width = files->classes},
                        .row_count = rows,
                        .train_count = rows - test_count,
                        .test_count = test_count,
                        .pixels = pixels,
                        .input_stride = (int64_t)height * width,
                        .labels = labels,
                        .answer_stride = 1,
                        .split = split};
    return GS_OK;
}

static gs_status open_file(const char *name, gs_arena *arena, gs_idx_file *out, gs_error *err)
{
    *out = (gs_idx_file){.file = name};
    return gs_data_file_read(name, "; paths are relative to the scenario that says them", arena,
                             &out->bytes, &out->length, err);
}

static gs_status read_all(const idx_config *config, gs_arena *files_arena, gs_arena *arena,
                          gs_dataset *out, gs_error *err)
{
    gs_idx_files files = {.classes = config->classes};
    GS_TRY(open_file(config->images, files_arena, &files.images, err));
    GS_TRY(open_file(config->labels, files_arena, &files.labels, err));
    if (config->test_images[0] != '\0') {
        GS_TRY(open_file(config->test_images, files_arena, &files.test_images, err));
        GS_TRY(open_file(config->test_labels, files_arena, &files.test_labels, err));
    }
    return gs_idx_parse(&files, arena, out, err);
}

static gs_status read(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err)
{
    const idx_config *idx = config;
    (void)data_dir;
    if (idx->images[0] == '\0' || idx->labels[0] == '\0') {
        return gs_fail(err, GS_EINVAL, "images and labels must each name a file");
    }
    if ((idx->test_images[0] == '\0') != (idx->test_labels[0] == '\0')) {
        return gs_fail(err, GS_EINVAL,
                       "test_images and test_labels belong together: say both, or none to test "
                       "with one image in five");
    }
    gs_arena files_arena;
    gs_arena_init(&files_arena);
    gs_status status = read_all(idx, &files_arena, arena, out, err);
    gs_arena_fini(&files_arena);
    return status;
}

static const char *const file_keys[] = {"images", "labels", "test_images", "test_labels", NULL};

const gs_data_source gs_data_source_idx = {
    .name = "idx",
    .summary = "images in IDX files, such as MNIST and Fashion-MNIST",
    .source = "LeCun, Cortes and Burges, The MNIST database, 1998; Xiao, Rasul and Vollgraf, "
              "Fashion-MNIST, 2017",
    .config_table = &table,
    .files = file_keys,
    .read = read,
};
