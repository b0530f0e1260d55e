/* Curves as few numbers, on curves that were made from such numbers, then on the real tables. */
#include "traces/curve_fit.h"
#include "traces/importers/importer.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZES = 24 };

static gs_curve_point points[SIZES];

/* Sizes of 1 KiB x 2^i. */
static gs_curve curve_of(uint32_t count, double (*time_ns)(double bytes))
{
    for (uint32_t i = 0; i < count; i++) {
        points[i].bytes = INT64_C(1024) << i;
        points[i].time_ns = (gs_time_ns)llround(time_ns((double)points[i].bytes));
    }
    return (gs_curve){.collective = "all_reduce", .points = points, .point_count = count};
}

static double one_line(double bytes)
{
    return 23850.0 + bytes / 12.3;
}

/* 15.1 us + size / 21.7, from 1.1 MB on 61.3 us + size / 231: where the two are equal. */
static double two_lines(double bytes)
{
    return fmin(15100.0 + bytes / 21.7, 61300.0 + bytes / 231.0);
}

/* At 512 KiB the library takes another path that starts 80 us later and is no faster. */
static double a_step(double bytes)
{
    return bytes < 524288.0 ? 13300.0 + bytes / 18.9 : 93300.0 + bytes / 18.9;
}

Test(curve_fit, a_line_is_one_regime_with_its_latency_and_rate)
{
    gs_curve curve = curve_of(SIZES, one_line);
    gs_curve_fit fit = gs_curve_fit_make(&curve, 0, 1);
    cr_assert_eq(fit.count, 1);
    cr_assert_float_eq(fit.regimes[0].latency_ns, 23850.0, 2.0);
    cr_assert_float_eq(1.0 / fit.regimes[0].ns_per_byte, 12.3, 1e-3);
    cr_assert_float_eq(gs_curve_fit_ns(&fit, 3000), one_line(3000), 3.0);
    cr_assert_float_eq(gs_curve_fit_ns(&fit, INT64_C(1) << 40) / one_line(0x1p40), 1.0, 1e-4,
                       "and beyond its sizes");
}

Test(curve_fit, two_lines_are_two_regimes_that_meet_where_they_cross)
{
    gs_curve curve = curve_of(SIZES, two_lines);
    gs_curve_fit fit = gs_curve_fit_make(&curve, 0, 1);
    cr_assert_eq(fit.count, 2);
    cr_assert_float_eq(fit.regimes[0].latency_ns, 15100.0, 2.0);
    cr_assert_float_eq(fit.regimes[1].latency_ns, 61300.0, 2.0);
    /* (61,300 - 15,100) / (1/21.7 - 1/231) = 1,106,482 B */
    for (int64_t bytes = 1048576; bytes <= 2097152; bytes += 34567) {
        cr_assert_float_eq(gs_curve_fit_ns(&fit, bytes) / two_lines((double)bytes), 1.0, 1e-3);
    }
}

Test(curve_fit, a_step_is_crossed_by_a_power_law)
{
    gs_curve curve = curve_of(SIZES, a_step);
    gs_curve_fit fit = gs_curve_fit_make(&curve, 0, 1);
    cr_assert_eq(fit.count, 2);
    cr_assert_eq(fit.regimes[0].to_bytes, 262144);
    cr_assert_eq(fit.regimes[1].from_bytes, 524288);
    /* Half way in the logarithm: the geometric mean of the ends. */
    double middle = sqrt(a_step(262144.0) * a_step(524288.0));
    cr_assert_float_eq(gs_curve_fit_ns(&fit, 370728) / middle, 1.0, 1e-3);
}

Test(curve_fit, half_of_the_sizes_foretells_the_others)
{
    gs_curve curve = curve_of(SIZES, two_lines);
    gs_curve_forecast forecast;
    cr_assert(gs_curve_foretell(&curve, &forecast));
    cr_assert_eq(forecast.foretold, SIZES / 2);
    cr_assert_lt(forecast.worst_ratio, 1e-3);
    /* Only what was not fitted counts: 12 % more on one of them is that error, |1/1.12 - 1|. */
    points[7].time_ns = (gs_time_ns)llround(1.12 * (double)points[7].time_ns);
    cr_assert(gs_curve_foretell(&curve, &forecast));
    cr_assert_float_eq(forecast.worst_ratio, 1.0 - 1.0 / 1.12, 1e-3);
    cr_assert_eq(forecast.worst_bytes, points[7].bytes);
    cr_assert_lt(forecast.median_ratio, 1e-3);
    curve.point_count = GS_CURVE_SIZES_MIN - 1;
    cr_assert_not(gs_curve_foretell(&curve, &forecast), "too few sizes say nothing");
}

Test(curve_fit, curves_that_no_sound_network_gives_are_recognised)
{
    uint32_t less = 99;
    uint32_t more = 99;
    gs_curve curve = curve_of(SIZES, two_lines);
    cr_assert_eq(gs_curve_judge(&curve, &less, &more), GS_CURVE_SOUND);
    points[5].time_ns = (gs_time_ns)(0.89 * (double)points[4].time_ns);
    cr_assert_eq(gs_curve_judge(&curve, &less, &more), GS_CURVE_FALLS);
    cr_assert(less == 4 && more == 5);
    points[5].time_ns = (gs_time_ns)(0.91 * (double)points[4].time_ns);
    cr_assert_eq(gs_curve_judge(&curve, &less, &more), GS_CURVE_SOUND, "10 %% are noise");
    curve = curve_of(SIZES, one_line);
    points[SIZES - 1].time_ns *= 2;
    cr_assert_eq(gs_curve_judge(&curve, &less, &more), GS_CURVE_SLOWS);
    cr_assert(less == SIZES - 2 && more == SIZES - 1);
}

/* ---------------------------------------------------------------- real tables */

typedef struct table {
    const char *file;
    const char *collective;
    gs_curve_fault fault;
    bool is_judged; /* has sizes enough */
} table;

/* clang-format off */
static const table TABLES[] = {
    {"a100_sxm4_8gpu_1node_allgather.log", "all_gather", GS_CURVE_SOUND, true},
    {"a100_sxm4_8gpu_1node_allreduce.log", "all_reduce", GS_CURVE_SOUND, true},
    {"a100_sxm4_8gpu_1node_alltoall.log", "all_to_all", GS_CURVE_SOUND, true},
    {"h100_10nodes_1gpu_each.log", "all_reduce", GS_CURVE_SOUND, true},
    {"h100_10nodes_1gpu_each.log", "all_gather", GS_CURVE_SOUND, true},
    {"h100_10nodes_1gpu_each.log", "reduce_scatter", GS_CURVE_SOUND, true},
    {"h100_10nodes_1gpu_each.log", "all_to_all", GS_CURVE_SOUND, true},
    {"h100_10nodes_1gpu_each.log", "sendrecv", GS_CURVE_SOUND, true},
    {"h100_p5_efa_2nodes_excerpt_mpi_prefix.log", "all_reduce", GS_CURVE_SOUND, false},
    {"h100_pairwise/nccl_N2_G1_cnode2-001_cnode2-002.log", "all_to_all", GS_CURVE_SOUND, true},
    {"h100_pairwise/nccl_N2_G1_cnode2-001_cnode2-002.log", "sendrecv", GS_CURVE_SOUND, true},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-002.log", "all_to_all", GS_CURVE_SOUND, true},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-002.log", "sendrecv", GS_CURVE_SOUND, true},
    {"h100_pairwise/nccl_N2_G4_cnode2-001_cnode2-003.log", "sendrecv", GS_CURVE_SLOWS, true},
    {"h100_pairwise/nccl_N2_G8_cnode2-001_cnode2-002.log", "all_to_all", GS_CURVE_SOUND, true},
    {"h100_pairwise/nccl_N2_G8_cnode2-001_cnode2-002.log", "sendrecv", GS_CURVE_SOUND, true},
    {"rtx3090_pcie_4hosts_8gpus_allreduce.txt", "all_reduce", GS_CURVE_FALLS, true},
    {"rtx4090_pcie_2gpu_allgather.txt", "all_gather", GS_CURVE_SOUND, true},
};
/* clang-format on */

static const gs_curve *read_table(const table *wanted, gs_arena *arena, gs_imported *imported)
{
    char name[TEST_PATH_BYTES];
    gs_error err = {0};
    snprintf(name, sizeof name, "traces/nccl_tests/%s", wanted->file);
    const char *files[] = {test_data_path(name)};
    cr_assert_eq(gs_import(files, 1, NULL, arena, imported, &err), GS_OK, "%s", err.text);
    for (uint32_t i = 0; i < imported->curve_count; i++) {
        if (strcmp(imported->curves[i].collective, wanted->collective) == 0) {
            return &imported->curves[i];
        }
    }
    cr_assert_fail("%s: no %s", wanted->file, wanted->collective);
    return NULL;
}

static bool says(const gs_imported *imported, const char *text)
{
    for (uint32_t i = 0; i < imported->note_count; i++) {
        if (strstr(imported->notes[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

/* The promise: on every sound table half of the sizes foretells the others within 15 %, half of
 * them within 10 %. */
Test(curve_fit, half_of_a_sound_table_foretells_the_other_half)
{
    for (size_t t = 0; t < sizeof TABLES / sizeof *TABLES; t++) {
        gs_arena arena;
        gs_imported imported = {0};
        gs_arena_init(&arena);
        const gs_curve *curve = read_table(&TABLES[t], &arena, &imported);
        gs_curve_forecast forecast = {.foretold = 0};
        cr_expect_eq(gs_curve_foretell(curve, &forecast), TABLES[t].is_judged, "%s",
                     TABLES[t].file);
        if (TABLES[t].fault == GS_CURVE_SOUND && TABLES[t].is_judged) {
            cr_expect_lt(forecast.worst_ratio, 0.15, "%s %s: %.1f %% at %lld B", TABLES[t].file,
                         TABLES[t].collective, 100.0 * forecast.worst_ratio,
                         (long long)forecast.worst_bytes);
            cr_expect_lt(forecast.median_ratio, 0.10, "%s %s: median %.1f %%", TABLES[t].file,
                         TABLES[t].collective, 100.0 * forecast.median_ratio);
        }
        gs_arena_fini(&arena);
    }
}

Test(curve_fit, anomalous_tables_are_named_with_their_lines)
{
    for (size_t t = 0; t < sizeof TABLES / sizeof *TABLES; t++) {
        gs_arena arena;
        gs_imported imported = {0};
        uint32_t less = 0;
        uint32_t more = 0;
        gs_arena_init(&arena);
        const gs_curve *curve = read_table(&TABLES[t], &arena, &imported);
        cr_expect_eq(gs_curve_judge(curve, &less, &more), TABLES[t].fault, "%s %s", TABLES[t].file,
                     TABLES[t].collective);
        cr_expect_eq(says(&imported, "anomalous"), TABLES[t].fault != GS_CURVE_SOUND, "%s",
                     TABLES[t].file);
        if (TABLES[t].fault == GS_CURVE_SLOWS) {
            cr_expect(says(&imported, "line 51: sendrecv: anomalous: 1.07 GB/s at 17179869184 B, "
                                      "after 9.27 GB/s at 268435456 B (line 45)"),
                      "%s", imported.notes[imported.note_count - 1]);
        }
        gs_arena_fini(&arena);
    }
}

Test(curve_fit, times_that_halve_as_sizes_grow_are_refused_with_their_lines)
{
    static const char text[] =
        "# nThread 1 nGpus 8 minBytes 1024 maxBytes 4096 step: 2(factor)\n"
        "# Collective test starting: all_reduce_perf\n"
        "#       size         count    type   redop     time   algbw   busbw  error\n"
        "        1024           256   float     sum    40.00    0.03    0.04    N/A\n"
        "        2048           512   float     sum    20.40    0.10    0.18    N/A\n"
        "        4096          1024   float     sum    19.90    0.21    0.36    N/A\n";
    char path[TEST_PATH_BYTES];
    gs_arena arena;
    gs_imported imported = {0};
    gs_error err = {0};
    gs_arena_init(&arena);
    test_temp_file(path, text, sizeof text - 1);
    const char *files[] = {path};
    gs_import_options options = {.format = "nccl_tests"};
    cr_assert_eq(gs_import(files, 1, &options, &arena, &imported, &err), GS_EPARSE);
    cr_assert(strstr(err.text, ": line 6: 4096 B took 19.9 us, less than half of the 40 us of 1024 "
                               "B (line 4): time must not fall") != NULL,
              "%s", err.text);
    gs_arena_fini(&arena);
}
