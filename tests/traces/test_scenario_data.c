#include "tests/traces/scenario_fixture.h"

TestSuite(scenario_data, .init = scenario_setup, .fini = scenario_teardown);

/* A scenario of `ranks` ranks that learns softmax regression on data. */
static const char *learning(int ranks, const char *data)
{
    static char text[2048];
    snprintf(text, sizeof text,
             "{\"cluster\": {\"nodes\": [{\"count\": 1, \"ranks\": %d}]}, \"workload\": "
             "{\"real_gradients\": true, \"model\": {\"name\": \"softmax\"}, \"data\": {%s}}}",
             ranks, data);
    return text;
}

/* Name of a file in the folder of temporary files, without the folder. */
static const char *last_part(const char *path)
{
    return strrchr(path, '/') + 1;
}

static bool is_noted(const char *note)
{
    for (uint32_t i = 0; i < scenario.note_count; i++) {
        if (strcmp(scenario.notes[i], note) == 0) {
            return true;
        }
    }
    return false;
}

/* Four images of 1 x 2 pixels and their labels, as IDX files beside the scenario. */
typedef struct idx_files {
    char images[TEST_PATH_BYTES], labels[TEST_PATH_BYTES];
} idx_files;

static idx_files write_idx(char first_pixel)
{
    idx_files made;
    char images[24] = "\0\0\x08\x03\0\0\0\4\0\0\0\1\0\0\0\2";
    images[16] = first_pixel;
    test_temp_file(made.images, images, sizeof images);
    test_temp_file(made.labels, "\0\0\x08\x01\0\0\0\4\0\1\2\3", 12);
    return made;
}

static const char *idx_data(const idx_files *files, char out[512])
{
    snprintf(out, 512, "\"name\": \"idx\", \"images\": \"%s\", \"labels\": \"%s\"",
             last_part(files->images), last_part(files->labels));
    return out;
}

static gs_status read_idx(const idx_files *files)
{
    char data[512];
    const char *words[] = {"workload.batch_per_rank=1"};
    options.overrides = words;
    options.override_count = 1;
    gs_status status = read_text(learning(1, idx_data(files, data)));
    options.override_count = 0;
    return status;
}

/* The names have no folder, no dot and no slash: data is never bundled by name. */
Test(scenario_data, files_of_data_lie_beside_the_scenario_that_names_them)
{
    idx_files files = write_idx(0);
    cr_assert_eq(read_idx(&files), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.workload.dataset->row_count, 4);
    cr_assert_eq(scenario.input_count, 2);
    cr_expect_str_eq(scenario.inputs[0].role, "data");
    cr_expect_str_eq(scenario.inputs[0].format, "idx");
    cr_expect_str_eq(scenario.inputs[0].name, files.images);
    cr_expect_eq(scenario.inputs[0].bytes, 24);
    cr_expect_eq(scenario.inputs[1].bytes, 12);
}

Test(scenario_data, the_hash_is_of_what_the_files_hold_and_not_of_their_names)
{
    idx_files files = write_idx(0);
    cr_assert_eq(read_idx(&files), GS_OK, "%s", err.text);
    uint64_t hash = scenario.config_hash;
    uint64_t file_hash = scenario.inputs[0].xxh3;
    idx_files copies = write_idx(0);
    cr_assert_eq(read_idx(&copies), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.config_hash, hash);
    idx_files others = write_idx(1);
    cr_assert_eq(read_idx(&others), GS_OK, "%s", err.text);
    cr_expect_neq(scenario.config_hash, hash);
    cr_expect_neq(scenario.inputs[0].xxh3, file_hash);
}

Test(scenario_data, what_is_resolved_reads_back_to_the_same)
{
    char *text = NULL;
    cr_assert_eq(READ_DEMO("workload.real_gradients=true", "workload.data.name=teacher",
                           "workload.data.train=500", "workload.data.shards=dirichlet",
                           "workload.data.late=[3, 7]", "workload.data.late_epoch=2",
                           "workload.batch_per_rank=8"),
                 GS_OK, "%s", err.text);
    uint64_t hash = scenario.config_hash;
    text = gs_json_write(scenario.resolved, true);
    options.override_count = 0;
    cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.config_hash, hash);
    cr_expect_eq(scenario.workload.task.data.shards.late.count, 2);
    cr_expect_eq(scenario.workload.dataset->train_count, 500);
    free(text);
}

Test(scenario_data, data_is_not_read_where_only_time_is_asked_for)
{
    cr_assert_eq(READ_DEMO("workload.profile=resnet50", "workload.real_gradients=false",
                           "workload.data.name=text", "workload.data.file=nowhere"),
                 GS_OK, "%s", err.text);
    cr_expect_null(scenario.workload.dataset);
    cr_expect_eq(scenario.input_count, 0);
}

Test(scenario_data, files_that_do_not_fit_are_refused_with_their_key)
{
    idx_files files = write_idx(0);
    char data[512];
    char message[TEST_PATH_BYTES * 2];
    test_temp_file(files.labels, "\0\0\x08\x01\0\0\0\4\0\1\2\12", 12);
    snprintf(message, sizeof message,
             "workload.data: %s: offset 11: label 10; expected 0 to 9, as classes is 10",
             files.labels);
    expect_refused(GS_EPARSE, learning(1, idx_data(&files, data)), message);
}

/* 1,437 rows to train with; 8 ranks of 200 are more, and so are 1,438 of one. */
Test(scenario_data, a_step_larger_than_the_data_is_told_and_a_batch_larger_is_refused)
{
    const char *words[] = {"workload.batch_per_rank=200"};
    options.overrides = words;
    options.override_count = 1;
    cr_assert_eq(read_text(learning(8, "")), GS_OK, "%s", err.text);
    cr_expect(is_noted("workload.batch_per_rank: a step of 8 ranks takes 1600 samples, more than "
                       "the 1437 there are to train with: some count more than once"));
    words[0] = "workload.batch_per_rank=1438";
    cr_expect_eq(read_text(learning(1, "")), GS_EINVAL);
    cr_expect(strstr(err.text, ": workload.data: batch_per_rank 1438 is larger than the 1437 "
                               "samples to train with; lower it or take more data") != NULL,
              "%s", err.text);
}

/* Sizes fall by q = 4^(-1/63) from rank to rank of 64: the first gets (1 - q) / (1 - q^64) of the
 * 1,437 rows, 41.4, and the last a quarter of that, fewer than a batch of 32. */
Test(scenario_data, a_shard_smaller_than_a_batch_is_refused_before_the_run)
{
    expect_refused(GS_EINVAL, learning(64, "\"shards\": \"unequal\""),
                   "workload.data: batch_per_rank 32 is larger than the shard of rank 63, 10 "
                   "samples (shards unequal: 10 to 41 on 64 ranks); lower it, or lower "
                   "data.size_ratio or the ranks, or take more data");
    expect_refused(GS_EINVAL, learning(1438, "\"shards\": \"label\""),
                   "workload.data: shards label: rank 0 of 1438 gets none of 1437 samples; lower "
                   "the ranks or take more data");
}

Test(scenario_data, a_model_that_cannot_take_the_data_is_refused_before_the_run)
{
    expect_refused(GS_EINVAL, learning(1, "\"name\": \"text\""),
                   "workload.model: softmax takes samples of numbers, and the data is text; choose "
                   "model gpt or other data");
}

Test(scenario_data, keys_of_other_shards_are_noted_as_said_in_vain)
{
    cr_assert_eq(READ_DEMO("workload.data.alpha=0.1", "workload.data.size_ratio=2",
                           "workload.data.late=[3]"),
                 GS_OK, "%s", err.text);
    cr_expect(is_noted("workload.data: alpha has no effect: shards is not dirichlet"));
    cr_expect(is_noted("workload.data: size_ratio has no effect: shards is not unequal"));
    cr_expect(is_noted("workload.data: late has no effect: late_epoch is 0, all samples come from "
                       "the start"));
    cr_assert_eq(READ_DEMO("workload.data.alpha=0.1", "workload.data.shards=dirichlet"), GS_OK);
    cr_expect(!is_noted("workload.data: alpha has no effect: shards is not dirichlet"));
}
