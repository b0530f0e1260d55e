#include "tests/support.h"

#include "tests/frozen/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A measurement on other scenarios is another benchmark: say so in docs/frozen.md, and make its
 * truth again. */
static const char frozen[] = "0bbca2b8d9c6d274";

Test(frozen, the_forty_files_never_change)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, frozen_hash());
    cr_log_info("hash of the 40 frozen scenarios: %s", hash);
    cr_assert_str_eq(hash, frozen);
}

Test(frozen, the_page_names_the_hash)
{
    char line[256];
    bool is_named = false;
    FILE *page = fopen(GS_TEST_SOURCE_DIR "/docs/frozen.md", "r");
    cr_assert_not_null(page);
    while (fgets(line, sizeof line, page) != NULL) {
        is_named = is_named || strstr(line, frozen) != NULL;
    }
    fclose(page);
    cr_assert(is_named);
}

Test(frozen, every_file_runs_and_says_what_the_page_says)
{
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t slow = 0;
        for (uint32_t i = half * FROZEN_HALF; i < (half + 1) * FROZEN_HALF; i++) {
            frozen_bench bench;
            bench_open(i, &bench);
            const gs_scenario *scenario = &bench.scenario;
            double gbps = (double)scenario->cluster.nic.bandwidth_bps / 1e9;
            TEST_REQUIRE(gbps >= 1.0 && gbps <= 400.0, "%s: %g", bench.name, gbps);
            TEST_REQUIRE(scenario->ranks >= 4 && scenario->ranks <= 16, "%s: %u ranks", bench.name,
                         scenario->ranks);
            TEST_REQUIRE(bench.all.learns && scenario->workload.target_value > 0.0, "%s",
                         bench.name);
            /* By logarithm the middle of 1 to 400 is 20. */
            slow += gbps < 20.0 ? 1 : 0;
            bench_close(&bench);
        }
        cr_assert_eq(slow, FROZEN_HALF / 2);
    }
}
