#include "tests/support.h"

#include "tests/frozen/truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A table of these scenarios with these rows. */
static void table(char path[TEST_PATH_BYTES], uint64_t hash, const char *rows)
{
    char text[1024];
    snprintf(text, sizeof text,
             "# scenarios %016" PRIx64 "\nscenario,arm,factor,stage,seeds,reached,seconds\n%s",
             hash, rows);
    test_temp_file(path, text, strlen(text));
}

Test(frozen_truth, a_row_that_was_cut_off_is_not_one)
{
    char path[TEST_PATH_BYTES];
    frozen_truth truth;
    table(path, frozen_hash(),
          "tuning_03,allreduce,0.25,first,1,0,7.5\ntuning_03,ssp,2,trial,3,3,6.2");
    truth_open(path, &truth);
    cr_assert_eq(truth.count, 1);
    const truth_row *row = truth_find(&truth, "tuning_03", "allreduce", 0.25, TRUTH_FIRST);
    cr_assert_not_null(row);
    cr_assert_eq(row->result.seconds, 7.5);
    cr_assert_null(truth_find(&truth, "tuning_03", "allreduce", 0.25, TRUTH_TRIAL));
    cr_assert_null(truth_find(&truth, "tuning_03", "ssp", 2.0, TRUTH_TRIAL));
    truth_close(&truth);
}

Test(frozen_truth, a_scenario_has_a_best_arm_once_all_its_rows_are_there)
{
    static const char rows[] = "tuning_03,allreduce,1,trial,3,3,1.5\n" /* no final one */
                               "tuning_03,allreduce,1,final,30,30,7.5\n"
                               "tuning_03,ssp,2,final,30,29,6.25\n"
                               "tuning_04,ssp,2,final,30,30,3.5\n";
    char path[TEST_PATH_BYTES];
    char text[512];
    frozen_truth truth;
    table(path, frozen_hash(), rows);
    truth_open(path, &truth);
    cr_assert_null(truth_best(&truth, "tuning_03"));
    truth_close(&truth);
    snprintf(text, sizeof text, "%stuning_03,(whole),1,final,0,0,0\n", rows);
    table(path, frozen_hash(), text);
    truth_open(path, &truth);
    const truth_row *best = truth_best(&truth, "tuning_03");
    cr_assert_not_null(best);
    cr_assert_str_eq(best->arm, "ssp");
    cr_assert_eq(best->result.seconds, 6.25);
    cr_assert_null(truth_best(&truth, "tuning_04"));
    truth_close(&truth);
}

/* The program ends there, so that a process of its own opens it. */
static int exit_code_of(uint64_t hash, const char *rows)
{
    char path[TEST_PATH_BYTES];
    int status = 0;
    table(path, hash, rows);
    pid_t child = fork();
    if (child == 0) {
        frozen_truth truth;
        truth_open(path, &truth);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

Test(frozen_truth, a_table_of_other_scenarios_is_refused)
{
    cr_assert_eq(exit_code_of(frozen_hash(), ""), 0);
    cr_assert_eq(exit_code_of(frozen_hash() + 1, ""), 1);
    cr_assert_eq(exit_code_of(frozen_hash(), "tuning_03,ssp,2,final,30\n"), 1);
    cr_assert_eq(exit_code_of(frozen_hash(), "tuning_03,ssp,2,third,30,29,6.25\n"), 1);
}
