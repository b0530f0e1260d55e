#include <criterion/criterion.h>

#include "tests/traces/scenario_fixture.h"
#include "tools/recommend/paste.h"

#include <stdlib.h>
#include <string.h>

static gs_paste pastes[GS_PASTES_MAX];
static uint32_t count;

static void teardown(void)
{
    for (uint32_t i = 0; i < count; i++) {
        free(pastes[i].text);
    }
    scenario_teardown();
}

TestSuite(recommend_paste, .init = scenario_setup, .fini = teardown);

/* The settings for one strategy of the demo. */
static void make(const char *word)
{
    for (uint32_t i = 0; i < count; i++) {
        free(pastes[i].text);
    }
    options.strategies = &word;
    options.strategy_count = 1;
    cr_assert_eq(READ_DEMO("workload.optimizer.rate=0.2", "cluster.servers.count=1"), GS_OK, "%s",
                 err.text);
    count = gs_pastes_make(&scenario, pastes);
}

static const char *text_of(const char *framework, gs_paste_kind kind)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(pastes[i].framework, framework) == 0 && pastes[i].kind == kind) {
            return pastes[i].text;
        }
    }
    cr_assert_fail("nothing for %s", framework);
    return NULL;
}

static void expect_in(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "no \"%s\" in:\n%s", part, text);
}

Test(recommend_paste, ddp_has_its_bucket_and_the_chosen_rate)
{
    make("allreduce:bucket=50MiB");
    const char *text = text_of("PyTorch DDP", GS_PASTE_PYTHON);
    expect_in(text, "DDP(model, bucket_cap_mb=50)");
    expect_in(text, "torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9");
    cr_expect_null(strstr(text, "register_comm_hook"));
    expect_in(text_of("DeepSpeed", GS_PASTE_JSON), "\"communication_data_type\": \"fp32\"");
}

Test(recommend_paste, codecs_are_the_hooks_of_ddp)
{
    make("allreduce+fp16");
    expect_in(text_of("PyTorch DDP", GS_PASTE_PYTHON), "default_hooks.fp16_compress_hook");
    expect_in(text_of("Horovod", GS_PASTE_PYTHON), "hvd.Compression.fp16");
    make("allreduce+bf16");
    expect_in(text_of("PyTorch DDP", GS_PASTE_PYTHON), "default_hooks.bf16_compress_hook");
    expect_in(text_of("DeepSpeed", GS_PASTE_JSON), "\"bfp16\"");
    make("allreduce+powersgd:rank=4");
    const char *text = text_of("PyTorch DDP", GS_PASTE_PYTHON);
    expect_in(text, "matrix_approximation_rank=4");
    expect_in(text, "start_powerSGD_iter=10");
    make("allreduce:algorithm=ring");
    expect_in(text_of("NCCL", GS_PASTE_SHELL), "NCCL_ALGO=Ring");
}

Test(recommend_paste, local_steps_and_their_periods)
{
    make("local_sgd:period=16");
    expect_in(text_of("Hugging Face Accelerate", GS_PASTE_PYTHON), "local_sgd_steps=16");
    expect_in(text_of("torchft", GS_PASTE_PYTHON), "sync_every=16");
    make("post_local:period=4,start=30");
    const char *text = text_of("PyTorch DDP", GS_PASTE_PYTHON);
    expect_in(text, "start_localSGD_iter=30");
    expect_in(text, "period=4, warmup_steps=30");
    /* 4 ranks on each of 2 nodes: groups of 4 every 4 steps, of all 8 every 16. */
    make("hier_avg");
    expect_in(text_of("PyTorch", GS_PASTE_PYTHON), "OrderedDict([(4, 4), (16, 8)])");
    make("diloco:period=16,rate=0.5,nesterov=false");
    text = text_of("torchft", GS_PASTE_PYTHON);
    expect_in(text, "lr=0.5, momentum=0.9, nesterov=False");
    expect_in(text, "sync_every=16");
}

Test(recommend_paste, horovod_counts_in_bytes_and_milliseconds)
{
    make("horovod:fusion=64MiB,cycle=5ms");
    const char *text = text_of("Horovod", GS_PASTE_SHELL);
    expect_in(text, "HOROVOD_FUSION_THRESHOLD=67108864\n"); /* 64 * 2^20 */
    expect_in(text, "HOROVOD_CYCLE_TIME=5\n");
    make("hierarchical");
    expect_in(text_of("Horovod", GS_PASTE_SHELL), "HOROVOD_HIERARCHICAL_ALLREDUCE=1");
    expect_in(text_of("Horovod", GS_PASTE_PYTHON), "hvd.broadcast_parameters(model.state_dict()");
    expect_in(text_of("PyTorch DDP", GS_PASTE_PYTHON), "inside, world, rank = 4,");
    make("sharded");
    expect_in(text_of("DeepSpeed", GS_PASTE_JSON), "\"stage\": 1");
    /* 25 MiB of buckets are 6553600 elements of 4 bytes, which DeepSpeed counts in. */
    expect_in(text_of("DeepSpeed", GS_PASTE_JSON), "\"reduce_bucket_size\": 6553600");
}

Test(recommend_paste, what_no_framework_has_gets_nothing)
{
    static const char *const without[] = {"asp", "allreduce+qsgd", "d_psgd", "local_sgd+fp16"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        make(without[i]);
        for (uint32_t k = 0; k < count; k++) {
            cr_expect_fail("%s: %s", without[i], pastes[k].framework);
        }
    }
}

/* Every text of every bundled arm, by the reader of its own language. */
Test(recommend_paste, texts_are_what_they_say_they_are)
{
    static const char *const words[] = {
#define GS_ARM(word) word,
#include "tools/recommend/arms.def"
#undef GS_ARM
    };
    static const char *const checks[] = {"python3 -m py_compile", "python3 -m json.tool", "sh -n"};
    if (system("command -v python3 >/dev/null") != 0) {
        cr_skip("no python3");
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        make(words[i]);
        for (uint32_t k = 0; k < count; k++) {
            char path[TEST_PATH_BYTES];
            char command[TEST_PATH_BYTES + 64];
            test_temp_file(path, pastes[k].text, strlen(pastes[k].text));
            snprintf(command, sizeof command, "%s %s >/dev/null", checks[pastes[k].kind], path);
            cr_expect_eq(system(command), 0, "%s for %s:\n%s", words[i], pastes[k].framework,
                         pastes[k].text);
        }
    }
}
