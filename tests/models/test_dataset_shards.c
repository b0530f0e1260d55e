#include <criterion/criterion.h>

#include "models/dataset_order.h"
#include "models/task_config.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIN = 1437, RANKS = 8, CLASSES = 10 };

static gs_arena arena;
static gs_dataset digits;
static gs_shard_config config;
static gs_shards shards;
static gs_error err;

static void load(const char *source, const char *key, const char *value, gs_dataset *out)
{
    gs_data_config data = {.source = gs_data_source_find(source)};
    gs_config_defaults(data.source->config_table, data.source_config);
    if (key != NULL) {
        cr_assert_eq(
            gs_config_set_text(data.source->config_table, data.source_config, key, value, &err),
            GS_OK, "%s", err.text);
    }
    cr_assert_eq(gs_data_load(&data, GS_TEST_SOURCE_DIR, &arena, out, &err), GS_OK, "%s", err.text);
}

static void setup(void)
{
    gs_arena_init(&arena);
    load("digits", NULL, NULL, &digits);
    gs_config_defaults(&gs_shard_config_table, &config);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(dataset_shards, .init = setup, .fini = teardown);

static void deal_of(const gs_dataset *dataset, uint32_t ranks)
{
    cr_assert_eq(gs_shards_create(dataset, &config, ranks, &arena, &shards, &err), GS_OK, "%s",
                 err.text);
}

static void deal(gs_shard_kind kind, uint32_t ranks)
{
    config.kind = (int)kind;
    deal_of(&digits, ranks);
}

static void refuse(const gs_dataset *dataset, uint32_t ranks, const char *wanted)
{
    err.text[0] = '\0';
    cr_expect_eq(gs_shards_create(dataset, &config, ranks, &arena, &shards, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, wanted);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void expect_all_train_rows(const uint32_t *rows)
{
    static uint32_t wanted[TRAIN];
    static uint32_t found[TRAIN];
    memcpy(wanted, digits.split, sizeof wanted);
    memcpy(found, rows, sizeof found);
    qsort(wanted, TRAIN, sizeof wanted[0], compare);
    qsort(found, TRAIN, sizeof found[0], compare);
    cr_expect(memcmp(found, wanted, sizeof found) == 0);
}

/* ---------------------------------------------------------------- order of iid data */

/* The rows of an epoch of the one stream, in the order they come. */
static void read_epoch(gs_sample_order *order, int64_t epoch, uint32_t rows[TRAIN])
{
    for (int64_t i = 0; i < TRAIN; i++) {
        rows[i] = gs_sample_order_row(order, 0, epoch * TRAIN + i);
    }
}

static void make_order(gs_sample_order *order, uint64_t seed)
{
    cr_assert_eq(gs_sample_order_init(order, &shards, seed, &arena), GS_OK);
}

Test(dataset_shards, every_epoch_is_a_permutation_of_the_train_rows)
{
    static uint32_t rows[TRAIN];
    gs_sample_order order;
    deal(GS_SHARDS_IID, RANKS);
    make_order(&order, 11);
    const int64_t epochs[4] = {0, 1, 7, 1000000};
    for (int i = 0; i < 4; i++) {
        read_epoch(&order, epochs[i], rows);
        expect_all_train_rows(rows);
    }
}

/* Results of different versions are compared seed by seed: these are the first rows as they were
 * when the order was made. */
Test(dataset_shards, the_order_of_a_seed_never_changes)
{
    const uint32_t wanted[4] = {246, 744, 1464, 841};
    gs_sample_order order;
    deal(GS_SHARDS_IID, RANKS);
    make_order(&order, 1);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(gs_sample_order_row(&order, 0, i), wanted[i], "%d: %u", i,
                     gs_sample_order_row(&order, 0, i));
    }
}

/* Rows at the same place of two orders; for two independent permutations 1 is expected. */
static int agreements(const uint32_t *a, const uint32_t *b)
{
    int count = 0;
    for (int i = 0; i < TRAIN; i++) {
        count += a[i] == b[i];
    }
    return count;
}

Test(dataset_shards, epochs_and_seeds_have_orders_of_their_own)
{
    static uint32_t rows[3][TRAIN];
    gs_sample_order order;
    gs_sample_order other;
    deal(GS_SHARDS_IID, RANKS);
    make_order(&order, 11);
    make_order(&other, 12);
    read_epoch(&order, 0, rows[0]);
    read_epoch(&order, 1, rows[1]);
    read_epoch(&other, 0, rows[2]);
    cr_expect_lt(agreements(rows[0], rows[1]), 9); /* Poisson with mean 1: 9 or more in 1e-6 */
    cr_expect_lt(agreements(rows[0], rows[2]), 9);
    cr_expect_lt(agreements(rows[0], digits.split), 9);
}

Test(dataset_shards, a_position_means_the_same_row_however_one_got_there)
{
    static uint32_t rows[8][TRAIN];
    gs_sample_order order;
    gs_sample_order jumping;
    deal(GS_SHARDS_IID, RANKS);
    make_order(&order, 3);
    make_order(&jumping, 3);
    for (int64_t epoch = 0; epoch < 8; epoch++) {
        read_epoch(&order, epoch, rows[epoch]);
    }
    /* Steps of 4099 (prime) over 8 * 1437 = 11496 positions: epochs come in mixed order and fall
     * out of the cache again and again. */
    for (int64_t i = 0; i < 3000; i++) {
        int64_t position = i * 4099 % (8 * TRAIN);
        cr_assert_eq(gs_sample_order_row(&jumping, (uint32_t)(i % RANKS), position),
                     rows[position / TRAIN][position % TRAIN]);
    }
}

Test(dataset_shards, an_order_without_memory_is_refused)
{
    deal(GS_SHARDS_IID, RANKS);
    for (int64_t n = 0; n < 2; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        gs_sample_order order;
        cr_expect_eq(gs_sample_order_init(&order, &shards, 3, &poor), GS_ENOMEM);
        gs_arena_fini(&poor);
    }
}

/* ---------------------------------------------------------------- shards */

Test(dataset_shards, every_row_is_in_exactly_one_shard)
{
    const gs_shard_kind kinds[3] = {GS_SHARDS_LABEL, GS_SHARDS_DIRICHLET, GS_SHARDS_UNEQUAL};
    const uint32_t ranks[4] = {1, 3, 8, 64};
    for (int k = 0; k < 3; k++) {
        for (int n = 0; n < 4; n++) {
            deal(kinds[k], ranks[n]);
            cr_expect_eq(shards.stream_count, ranks[n]);
            cr_expect_eq(shards.first[0], 0);
            cr_expect_eq(shards.first[ranks[n]], TRAIN);
            expect_all_train_rows(shards.rows);
        }
    }
}

/* A rank's stream: positions of its own, each epoch all of its rows, an order of its own. */
Test(dataset_shards, a_rank_goes_through_its_own_shard_again_and_again)
{
    gs_sample_order order;
    deal(GS_SHARDS_DIRICHLET, RANKS);
    make_order(&order, 5);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int64_t size = gs_shards_size(&shards, rank);
        uint32_t rows[2][TRAIN];
        uint32_t wanted[TRAIN];
        for (int64_t i = 0; i < size; i++) {
            rows[0][i] = gs_sample_order_row(&order, rank, i);
            rows[1][i] = gs_sample_order_row(&order, rank, size + i);
            wanted[i] = shards.rows[shards.first[rank] + i];
        }
        cr_expect(memcmp(rows[0], rows[1], (size_t)size * sizeof rows[0][0]) != 0);
        qsort(wanted, (size_t)size, sizeof wanted[0], compare);
        for (int e = 0; e < 2; e++) {
            qsort(rows[e], (size_t)size, sizeof wanted[0], compare);
            cr_expect(memcmp(rows[e], wanted, (size_t)size * sizeof wanted[0]) == 0);
        }
    }
}

/* Ranks in turn, as in a step, against one rank after the other: the cache must not mix them up. */
Test(dataset_shards, who_asks_in_between_does_not_matter)
{
    gs_sample_order turns;
    gs_sample_order alone;
    deal(GS_SHARDS_UNEQUAL, RANKS);
    make_order(&turns, 5);
    make_order(&alone, 5);
    static uint32_t rows[RANKS][2000];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (int64_t i = 0; i < 2000; i++) {
            rows[rank][i] = gs_sample_order_row(&alone, rank, i);
        }
    }
    for (int64_t i = 0; i < 2000; i++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            TEST_REQUIRE(gs_sample_order_row(&turns, rank, i) == rows[rank][i], "%d", (int)i);
        }
    }
}

/* 1437 rows of 10 classes with 142 to 148 each over 8 ranks of 179 or 180: a shard touches two or
 * three classes. */
Test(dataset_shards, label_shards_are_sorted_by_class)
{
    deal(GS_SHARDS_LABEL, RANKS);
    for (int64_t i = 1; i < TRAIN; i++) {
        TEST_REQUIRE(digits.labels[shards.rows[i - 1]] <= digits.labels[shards.rows[i]], "%d",
                     (int)i);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int64_t size = gs_shards_size(&shards, rank);
        cr_expect(size == 179 || size == 180);
    }
}

/* Weights 4^(-r/3) of 4 ranks: 1, .63, .397, .25 of 2.277; of 1437 rows 631.2, 397.6, 250.5, 157.8.
 */
Test(dataset_shards, unequal_shards_fall_by_one_ratio)
{
    const int64_t wanted[4] = {631, 398, 250, 158};
    deal(GS_SHARDS_UNEQUAL, 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        cr_expect_eq(gs_shards_size(&shards, rank), wanted[rank], "rank %u: %d", rank,
                     (int)gs_shards_size(&shards, rank));
    }
    config.size_ratio = 1.0;
    deal(GS_SHARDS_UNEQUAL, 3);
    cr_expect_eq(gs_shards_size(&shards, 0), 479);
    cr_expect_eq(gs_shards_size(&shards, 2), 479);
}

static void count_classes(uint32_t rank, int64_t counts[CLASSES])
{
    memset(counts, 0, CLASSES * sizeof counts[0]);
    for (int64_t i = shards.first[rank]; i < shards.first[rank + 1]; i++) {
        counts[digits.labels[shards.rows[i]]]++;
    }
}

/* Mean over ranks of the share of a rank's largest class. */
static double mean_largest(uint32_t ranks)
{
    double sum = 0.0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int64_t counts[CLASSES];
        int64_t largest = 0;
        count_classes(rank, counts);
        for (int c = 0; c < CLASSES; c++) {
            largest = counts[c] > largest ? counts[c] : largest;
        }
        sum += (double)largest / (double)gs_shards_size(&shards, rank);
    }
    return sum / ranks;
}

Test(dataset_shards, alpha_says_how_alike_ranks_are)
{
    /* Large: each rank has the shares of the whole, 0.1; of 179 rows a class gets 18 with standard
     * deviation 4, the largest of ten 1.5 of them more: 0.134. */
    config.alpha = 1e6;
    deal(GS_SHARDS_DIRICHLET, RANKS);
    cr_expect_float_eq(mean_largest(RANKS), 0.134, 0.03, "%g", mean_largest(RANKS));
    /* Small: one class a rank while it lasts. Of 20 ranks with 72 rows two fill a class; k that
     * want it get 2/k of their rows from it, 0.75 on average where k - 1 is binomial(19, 0.1), and
     * less where the others' second choices come in. Measured 0.64. */
    config.alpha = 1e-3;
    deal(GS_SHARDS_DIRICHLET, 20);
    cr_expect(mean_largest(20) > 0.55 && mean_largest(20) < 0.8, "%g", mean_largest(20));
    /* Between: for 10 components of shape 0.5 the largest share is 0.36 on average (by a million
     * draws); equal sizes pull it down when classes run out. */
    config.alpha = 0.5;
    deal(GS_SHARDS_DIRICHLET, RANKS);
    cr_expect_float_eq(mean_largest(RANKS), 0.36, 0.09, "%g", mean_largest(RANKS));
}

Test(dataset_shards, a_shard_seed_has_shares_of_its_own)
{
    deal(GS_SHARDS_DIRICHLET, RANKS);
    const uint32_t *first = shards.rows;
    deal(GS_SHARDS_DIRICHLET, RANKS);
    cr_expect(memcmp(first, shards.rows, TRAIN * sizeof *first) == 0);
    config.shard_seed = 1;
    deal(GS_SHARDS_DIRICHLET, RANKS);
    cr_expect(memcmp(first, shards.rows, TRAIN * sizeof *first) != 0);
}

Test(dataset_shards, shards_of_what_has_no_classes_are_places)
{
    gs_dataset text;
    load("text", NULL, NULL, &text);
    config.kind = GS_SHARDS_LABEL;
    deal_of(&text, 5);
    for (int64_t i = 0; i < text.train_count; i++) {
        TEST_REQUIRE(shards.rows[i] == (uint32_t)i, "%d", (int)i);
    }
    config.kind = GS_SHARDS_DIRICHLET;
    refuse(&text, 5,
           "shards dirichlet: a window of text has no one class; choose label, a part of the rows "
           "as they lie for each rank, or unequal");
    gs_dataset bowl;
    load("quadratic", NULL, NULL, &bowl);
    refuse(&bowl, 5,
           "shards dirichlet: this data has numbers as answers and no classes; choose label, a "
           "part of the rows as they lie for each rank, or unequal");
}

Test(dataset_shards, a_rank_without_samples_is_named)
{
    gs_dataset bowl;
    load("quadratic", "repeats", "1", &bowl); /* 20 rows */
    config.kind = GS_SHARDS_LABEL;
    refuse(&bowl, 21,
           "shards label: rank 0 of 21 gets none of 20 samples; lower the ranks or take more data");
    config.kind = GS_SHARDS_UNEQUAL;
    config.size_ratio = 1e6;
    refuse(&bowl, 4,
           "shards unequal: rank 1 of 4 gets none of 20 samples; lower data.size_ratio or the "
           "ranks, or take more data");
}

Test(dataset_shards, a_batch_must_fit_into_the_shard)
{
    deal(GS_SHARDS_UNEQUAL, 4);
    cr_expect_eq(gs_shards_check_batch(&shards, 158, &err), GS_OK);
    cr_expect_eq(gs_shards_check_batch(&shards, 159, &err), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "batch_per_rank 159 is larger than the shard of rank 3, 158 samples (shards "
                     "unequal: 158 to 631 on 4 ranks); lower it, or lower data.size_ratio or the "
                     "ranks, or take more data");
    deal(GS_SHARDS_IID, 4);
    cr_expect_eq(gs_shards_check_batch(&shards, TRAIN, &err), GS_OK);
    cr_expect_eq(gs_shards_check_batch(&shards, TRAIN + 1, &err), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "batch_per_rank 1438 is larger than the 1437 samples to train with; lower it "
                     "or take more data");
}

/* ---------------------------------------------------------------- late samples */

static bool is_three_or_seven(uint32_t row)
{
    return digits.labels[row] == 3 || digits.labels[row] == 7;
}

static void come_late(int64_t epoch)
{
    config.late = (gs_int_list){.count = 2, .values = {7, 3}};
    config.late_epoch = epoch;
}

Test(dataset_shards, late_classes_come_from_their_epoch_on)
{
    gs_sample_order order;
    come_late(2);
    deal(GS_SHARDS_IID, RANKS);
    make_order(&order, 9);
    int64_t late = 0;
    for (int64_t i = 0; i < TRAIN; i++) {
        late += is_three_or_seven(digits.split[i]);
    }
    int64_t early = TRAIN - late;
    cr_assert(late > 250 && early > 1000);
    for (int64_t i = 0; i < 2 * early; i++) {
        TEST_REQUIRE(!is_three_or_seven(gs_sample_order_row(&order, 0, i)), "%d", (int)i);
    }
    uint32_t rows[TRAIN];
    for (int64_t epoch = 0; epoch < 2; epoch++) { /* the third and the fourth */
        for (int64_t i = 0; i < TRAIN; i++) {
            rows[i] = gs_sample_order_row(&order, 0, 2 * early + epoch * TRAIN + i);
        }
        expect_all_train_rows(rows);
    }
}

/* Without late rows the order is the old one: what is late does not touch a seed's other orders. */
Test(dataset_shards, epochs_after_the_late_ones_came_are_shuffled_like_others)
{
    gs_sample_order order;
    come_late(1);
    deal(GS_SHARDS_LABEL, 4);
    make_order(&order, 9);
    for (uint32_t rank = 0; rank < 4; rank++) {
        int64_t early = shards.early[rank];
        int64_t size = gs_shards_size(&shards, rank);
        int64_t late = 0;
        cr_assert_gt(early, 0);
        for (int64_t i = 0; i < early + size; i++) {
            bool is_late = is_three_or_seven(gs_sample_order_row(&order, rank, i));
            TEST_REQUIRE(!is_late || i >= early, "rank %u: %d", rank, (int)i);
            late += is_late;
        }
        cr_expect_eq(late, size - early);
    }
}

Test(dataset_shards, a_shard_of_late_rows_only_is_refused)
{
    come_late(3);
    config.kind = GS_SHARDS_LABEL;
    refuse(&digits, 20,
           "late: all 72 samples of rank 7 are late, none is left for epoch 0; name fewer classes "
           "or choose other shards than label");
    config.late.values[0] = 10;
    refuse(&digits, 20, "late: there is no class 10 in the data");
    config.late.count = 0;
    refuse(&digits, 20, "late_epoch is 3 and late is empty; say which classes come late");
}

Test(dataset_shards, windows_with_a_late_character_come_late)
{
    gs_dataset text;
    gs_sample_order order;
    load("text", NULL, NULL, &text);
    config.late = (gs_int_list){.count = 1, .values = {'J'}};
    config.late_epoch = 1;
    deal_of(&text, 2);
    make_order(&order, 9);
    int64_t late = 0;
    cr_assert(shards.early[0] > 0 && shards.early[0] < text.train_count);
    for (int64_t i = 0; i < shards.early[0] + text.train_count; i++) {
        int64_t from = gs_sample_order_row(&order, 0, i) * text.input_stride;
        bool has = false;
        for (int64_t k = 0; k <= text.input_stride; k++) {
            has = has || text.vocabulary[text.tokens[from + k]] == 'J';
        }
        TEST_REQUIRE(!has || i >= shards.early[0], "%d", (int)i);
        late += has;
    }
    cr_expect_eq(late, text.train_count - shards.early[0]);
    config.late.values[0] = '@';
    refuse(&text, 2, "late: there is no byte 64 in the data");
}

Test(dataset_shards, each_request_for_memory_may_fail)
{
    config.kind = GS_SHARDS_DIRICHLET;
    gs_status status = GS_ENOMEM;
    int failures = 0;
    for (int64_t n = 0; n < 20 && status != GS_OK; n++) {
        gs_arena poor;
        gs_arena_init(&poor);
        poor.fail_after = n;
        status = gs_shards_create(&digits, &config, RANKS, &poor, &shards, &err);
        cr_expect(status == GS_OK || status == GS_ENOMEM);
        failures += status != GS_OK;
        gs_arena_fini(&poor);
    }
    cr_expect_eq(status, GS_OK);
    cr_expect_eq(failures, 3); /* early, rows, first; what is taken in between is scratch */
}
