/* What recommend gives to paste into PyTorch trains there as it says (tests/oracle/pastes.py): two
 * processes on gloo. Skipped, aloud, where python3, or the interpreter that PYTHON names, has no
 * torch (package python3-torch). */
#include <criterion/criterion.h>

#include "tests/traces/scenario_fixture.h"
#include "tools/recommend/paste.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(pastes, .init = scenario_setup, .fini = scenario_teardown);

/* Not bf16, which DDP takes with NCCL alone. Two ranks, each on a node of its own but where the
 * strategy is about ranks of one node. */
static void write_pastes(const char *folder, const char *name, const char *word)
{
    bool is_inside = strncmp(name, "hier", 4) == 0;
    gs_paste pastes[GS_PASTES_MAX];
    uint32_t written = 0;
    options.strategies = &word;
    options.strategy_count = 1;
    cr_assert_eq(READ_DEMO(is_inside ? "cluster.nodes.0.count=1" : "cluster.nodes.0.count=2",
                           is_inside ? "cluster.nodes.0.ranks=2" : "cluster.nodes.0.ranks=1",
                           "workload.optimizer.rate=0.2"),
                 GS_OK, "%s", err.text);
    uint32_t count = gs_pastes_make(&scenario, pastes);
    for (uint32_t i = 0; i < count; i++) {
        char path[2 * TEST_PATH_BYTES];
        bool is_torch = strncmp(pastes[i].framework, "PyTorch", strlen("PyTorch")) == 0;
        snprintf(path, sizeof path, "%s/%s.py", folder, name);
        FILE *out = is_torch ? fopen(path, "w") : NULL;
        if (is_torch) {
            cr_assert_not_null(out);
            fputs(pastes[i].text, out);
            cr_assert_eq(fclose(out), 0);
            written++;
        }
        free(pastes[i].text);
    }
    cr_assert_eq(written, 1u, "%s: one text for PyTorch", name);
}

Test(pastes, texts_for_pytorch_train_as_they_say)
{
    static const char *const words[][2] = {
        {"allreduce", "allreduce"},
        {"allreduce_fp16", "allreduce+fp16"},
        {"allreduce_powersgd", "allreduce+powersgd:rank=1,start_step=2"},
        {"hierarchical", "hierarchical"},
        {"hier_avg", "hier_avg:inside=2,between=4"},
        {"local_sgd", "local_sgd:period=4"},
        {"post_local", "post_local:period=2,start=3"},
        {"sharded", "sharded"}};
    char folder[TEST_PATH_BYTES];
    char command[4 * TEST_PATH_BYTES];
    if (system("${PYTHON:-python3} -c 'import torch.distributed' 2>/dev/null") != 0) {
        fprintf(stderr, "skipped: no torch (package python3-torch)\n");
        cr_skip_test("no torch");
    }
    snprintf(folder, sizeof folder, "/tmp/gs_pastes_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        write_pastes(folder, words[i][0], words[i][1]);
    }
    snprintf(command, sizeof command,
             "p=${PYTHON:-python3}; s='%s/tests/oracle/pastes.py'; timeout 240 $p $s '%s' 1 & "
             "timeout 240 $p $s '%s' 0 && wait $!",
             GS_TEST_SOURCE_DIR, folder, folder);
    int status = system(command);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(status, 0);
}
