/* The bundled layer tables: their totals, their order, and each row against tables that others
 * derived from the same papers. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "strategies/coding.h"
#include "tests/support.h"
#include "traces/importers/importer.h"

static gs_arena arena;
static gs_imported imported;

static void setup(void)
{
    gs_arena_init(&arena);
    imported = (gs_imported){0};
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(bundled_layers, .init = setup, .fini = teardown);

typedef struct known_model {
    const char *name;
    int64_t tensors, parameters;
    const char *last_gradient; /* that becomes ready */
} known_model;

/* Of the papers and of widely used checkpoints: see tools/make_layers.py. */
static const known_model models[] = {
    {"resnet50", 161, 25557032, "conv1.weight"},
    {"vgg16", 32, 138357544, "features.0.weight"},
    {"bert_large", 398, 336226108, "bert.embeddings.word_embeddings.weight"},
    {"gpt2", 148, 124439808, "transformer.wte.weight"},
    {"llama2_7b", 291, 6738415616, "model.embed_tokens.weight"},
};

enum { MODELS = sizeof models / sizeof models[0] };

static const gs_layer_table *read_table(const char *name)
{
    char path[TEST_PATH_BYTES];
    gs_error err = {0};
    const char *files[] = {path};
    snprintf(path, sizeof path, "%s/traces/profiles/%s.json", GS_TEST_SOURCE_DIR, name);
    cr_assert_eq(gs_import(files, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert_not_null(imported.layers);
    return imported.layers;
}

Test(bundled_layers, totals_are_those_of_the_papers)
{
    for (size_t i = 0; i < MODELS; i++) {
        const gs_layer_table *table = read_table(models[i].name);
        int64_t elements = 0;
        for (uint32_t k = 0; k < table->row_count; k++) {
            elements += table->rows[k].elements;
        }
        cr_expect_eq(elements, models[i].parameters, "%s", models[i].name);
        cr_expect_eq(imported.profile->unit_count, models[i].tensors, "%s", models[i].name);
        cr_expect_eq(gs_layer_table_is_timed(table), i == 0, "%s", models[i].name);
    }
}

/* The head of BERT and GPT-2 is their word embedding: its gradient has a part from the head, which
 * comes first in backward, and one from the look-up, which comes last. */
Test(bundled_layers, a_tied_embedding_is_ready_at_the_very_end)
{
    for (size_t i = 0; i < MODELS; i++) {
        (void)read_table(models[i].name);
        const gs_profile_step *step = &imported.profile->ranks[0].steps[0];
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < step->segment_count; k++) {
            if (step->segments[k].kind == GS_SEGMENT_GRADIENT) {
                last = step->segments[k].index;
            }
        }
        cr_assert_lt(last, imported.profile->unit_count);
        cr_expect_str_eq(imported.profile->units[last].name, models[i].last_gradient);
    }
}

/* Korthikanti et al. 2022, equation 2: 34 s b h + 5 a s^2 b bytes in half precision, of which 2 s b
 * h and a s^2 b are dropout masks of a byte: 16 s h + 2 a s^2 elements of a sample and layer. */
Test(bundled_layers, a_transformer_layer_keeps_what_the_literature_counts)
{
    const int64_t s = 1024;
    const int64_t h = 768;
    const int64_t a = 12;
    const int64_t layers = 12;
    const int64_t vocabulary = 50257;
    gs_layer_activations gpt2 = gs_layer_table_activations(read_table("gpt2"), false);
    int64_t ends = s * h /* embedding */ + s * h /* ln_f */ + s * vocabulary;
    cr_expect_eq(gpt2.all, layers * (16 * s * h + 2 * a * s * s) + ends);
    cr_expect_eq(gpt2.kept, (layers + 1) * s * h, "the embedding's output and each layer's");
    cr_expect_eq(gpt2.block_max, s * h + s * vocabulary, "the head makes most");
    /* Llama: no dropout, two norms, q k v, context, two sums, and four of the hidden size. */
    gs_layer_activations llama = gs_layer_table_activations(read_table("llama2_7b"), false);
    const int64_t stream = INT64_C(4096) * 4096;
    const int64_t of_layer = 8 * stream + 4 * INT64_C(4096) * 11008 + 32 * INT64_C(4096) * 4096;
    cr_expect_eq(llama.all, 32 * of_layer + 2 * stream + INT64_C(4096) * 32000);
    cr_expect_eq(llama.block_max, of_layer - stream);
    cr_expect_eq(gpt2.scores, layers * 2 * a * s * s);
    gs_layer_activations fused = gs_layer_table_activations(read_table("llama2_7b"), true);
    cr_expect_eq(fused.all, llama.all - 32 * INT64_C(32) * 4096 * 4096);
}

/* --- against the shared tables --------------------------------------------------------------- */

static void expect_row(const gs_json_at *theirs, const gs_layer_row *ours, const char *flops_key)
{
    gs_json_at at;
    const char *name = NULL;
    double flops = 0.0;
    TEST_REQUIRE(gs_json_find(theirs, "name", &at) && gs_json_text(&at, &name, NULL) == GS_OK,
                 "a row without a name");
    TEST_REQUIRE(strcmp(name, ours->name) == 0, "%s is not %s", ours->name, name);
    TEST_REQUIRE(gs_json_find(theirs, flops_key, &at) && gs_json_real(&at, &flops, NULL) == GS_OK,
                 "%s: no FLOPs", name);
    TEST_REQUIRE(flops <= ours->forward_flops && flops >= ours->forward_flops,
                 "%s: %.17g FLOPs, not %.17g", name, ours->forward_flops, flops);
    int64_t elements = 0;
    if (gs_json_find(theirs, "elements", &at)) {
        TEST_REQUIRE(gs_json_int(&at, &elements, NULL) == GS_OK, "%s: elements", name);
    }
    TEST_REQUIRE(elements == ours->elements, "%s: elements", name);
    gs_json_at shape;
    int64_t rows = 0;
    if (elements > 0) {
        TEST_REQUIRE(gs_json_find(theirs, "shape", &shape) && gs_json_walk(&shape, 0, &at) &&
                         gs_json_int(&at, &rows, NULL) == GS_OK,
                     "%s: no shape", name);
        rows = gs_json_count(shape.value) > 1 ? rows : 1;
        TEST_REQUIRE(ours->shape.rows == rows && ours->shape.columns == elements / rows,
                     "%s: %lld rows", name, (long long)ours->shape.rows);
    }
}

/* Rows with elements against `key` in order, or those without. */
static void expect_rows(const gs_json_at *document, const char *key, const gs_layer_table *table,
                        bool with_elements)
{
    gs_json_at list;
    gs_json_at at;
    size_t next = 0;
    cr_assert(gs_json_find(document, key, &list));
    for (uint32_t i = 0; i < table->row_count; i++) {
        if ((table->rows[i].elements > 0) == with_elements) {
            TEST_REQUIRE(gs_json_walk(&list, next++, &at), "%s: too many rows", table->name);
            expect_row(&at, &table->rows[i], "fwd_flops");
        }
    }
    cr_expect_eq(next, gs_json_count(list.value), "%s %s", table->name, key);
}

Test(bundled_layers, every_row_is_that_of_the_shared_tables)
{
    for (size_t i = 0; i < MODELS; i++) {
        char relative[64];
        gs_json_at document;
        gs_error err = {0};
        snprintf(relative, sizeof relative, "workloads/%s.json", models[i].name);
        const char *path = test_data_path(relative);
        cr_assert_eq(gs_json_read(path, &document, &err), GS_OK, "%s", err.text);
        const gs_layer_table *table = read_table(models[i].name);
        expect_rows(&document, "tensors", table, true);
        expect_rows(&document, "param_free", table, false);
        gs_json_free(document.value);
    }
}

static gs_job job_of(const gs_layer_table *table, uint32_t ranks)
{
    gs_profile *profile = GS_TAKE(&arena, gs_profile, 1);
    gs_error err = {0};
    cr_assert_not_null(profile);
    cr_assert_eq(gs_layer_table_profile(table, &arena, profile, &err), GS_OK, "%s", err.text);
    int64_t *elements = GS_TAKE(&arena, int64_t, profile->unit_count);
    gs_unit_shape *shapes = GS_TAKE(&arena, gs_unit_shape, profile->unit_count);
    cr_assert(elements != NULL && shapes != NULL);
    gs_job job = {.ranks = ranks,
                  .element_bytes = 4,
                  .unit_count = profile->unit_count,
                  .unit_elements = elements,
                  .unit_shapes = shapes};
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        elements[i] = profile->units[i].elements;
        shapes[i] = profile->units[i].shape;
        job.elements += elements[i];
    }
    return job;
}

/* ResNet-50: 54 matrices (convolutions as outputs x the rest, and the classifier) with 27,560 rows
 * and 54,931 columns together, and 54,120 elements of gains and biases. Rank r sends 27,560 r +
 * 54,931 r + 54,120 numbers, 117 times less than 25,557,032 with r = 2 (1.53 MB of a rank of 8,
 * each number 2 x 7/8 times), 187 times with r = 1. No bucket changes it. */
Test(bundled_layers, powersgd_of_resnet50_sends_what_its_shapes_say)
{
    gs_job job = job_of(read_table("resnet50"), 8);
    gs_coding coding = {.codec = gs_codec_find("powersgd")};
    gs_config_defaults(coding.codec->config, &coding.config);
    const gs_bucket_rule rules[] = {{1 << 20, 25 << 20}, {0, 0}, {INT64_MAX / 2, INT64_MAX / 2}};
    for (int i = 0; i < 3; i++) {
        coding.config.rank = 1;
        cr_expect_eq(gs_coding_bucket_bytes(&coding, &job, &rules[i], 1), 4 * 136611 * 14 / 8);
        coding.config.rank = 2;
        cr_expect_eq(gs_coding_bucket_bytes(&coding, &job, &rules[i], 1), 4 * 219102 * 14 / 8);
    }
    gs_coded_slice whole = gs_coded_slice_of(&job, 0, job.elements);
    gs_coding_plan plan = gs_coding_plan_of(&coding, &whole, 8, INT32_MAX);
    cr_expect_eq(plan.matrices, 54);
    cr_expect_eq(plan.stages[0].units, 2 * 27560 + 54120);
    cr_expect_eq(plan.stages[1].units, 2 * 54931);
}
