#include <criterion/criterion.h>

#include "models/task_config.h"

#include <stdlib.h>
#include <string.h>

static gs_task_config config;
static gs_json_at document;

static void setup(void)
{
    config = gs_task_config_default();
}

static void teardown(void)
{
    gs_json_free(document.value);
    document.value = NULL;
}

TestSuite(task_config, .init = setup, .fini = teardown);

static gs_json_at member(const char *key)
{
    gs_json_at at;
    cr_assert(gs_json_find(&document, key, &at), "no %s", key);
    return at;
}

static void parse(const char *text)
{
    gs_error err;
    gs_json_free(document.value);
    cr_assert_eq(gs_json_parse(text, strlen(text), "s.json", &document, &err), GS_OK, "%s",
                 err.text);
}

static const gs_int_list *hidden(void)
{
    return (const gs_int_list *)(const void *)
        config.model_config; /* first in the config of an mlp */
}

Test(task_config, defaults_are_a_perceptron_on_digits)
{
    cr_expect_str_eq(config.model->name, "mlp");
    cr_expect_eq(hidden()->count, 1);
    cr_expect_eq(hidden()->values[0], 128);
    cr_expect_str_eq(config.data.source->name, "digits");
    cr_expect_eq(config.data.shards.kind, GS_SHARDS_IID);
    cr_expect(config.optimizer.rate == 0.1 && config.optimizer.momentum == 0.9);
    cr_expect(config.optimizer.weight_decay == 0.0);
}

Test(task_config, the_three_objects_of_a_scenario_are_read)
{
    parse("{\"model\": {\"name\": \"mlp\", \"hidden\": [48, 24]},"
          " \"data\": {\"name\": \"digits\", \"shards\": \"iid\"},"
          " \"optimizer\": {\"name\": \"sgd\", \"rate\": 0.03, \"momentum\": 0.5}}");
    gs_error err;
    gs_json_at at = member("model");
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    at = member("data");
    cr_assert_eq(gs_task_config_read_data(&config, &at, &err), GS_OK, "%s", err.text);
    at = member("optimizer");
    cr_assert_eq(gs_task_config_read_optimizer(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect_eq(hidden()->count, 2);
    cr_expect_eq(hidden()->values[1], 24);
    cr_expect(config.optimizer.rate == 0.03 && config.optimizer.momentum == 0.5);
}

Test(task_config, another_model_starts_from_its_own_defaults)
{
    parse("{\"soft\": {\"name\": \"softmax\"}, \"wide\": {\"hidden\": [9]}, \"back\": {\"name\": "
          "\"mlp\"}}");
    gs_error err;
    gs_json_at at = member("wide"); /* the name stays */
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect_eq(hidden()->values[0], 9);
    at = member("back"); /* the same model: what was said before stays */
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect_eq(hidden()->values[0], 9);
    at = member("soft");
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect_str_eq(config.model->name, "softmax");
    at = member("back");
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect_eq(hidden()->values[0], 128);
}

static void refuse_model(const char *text, gs_status code, const char *wanted)
{
    parse(text);
    gs_json_at at = member("model");
    gs_error err = {.code = GS_OK};
    gs_task_config before = config;
    cr_expect_eq(gs_task_config_read_model(&config, &at, &err), code);
    cr_expect_str_eq(err.text, wanted);
    cr_expect(memcmp(&before, &config, sizeof config) == 0);
}

static void read_data(const char *text, gs_status code, const char *wanted)
{
    parse(text);
    gs_json_at at = member("data");
    gs_error err = {.code = GS_OK};
    cr_expect_eq(gs_task_config_read_data(&config, &at, &err), code, "%s", err.text);
    cr_expect_str_eq(err.text, wanted);
}

static const char *file_of(size_t index)
{
    return gs_data_config_file(&config.data, index);
}

Test(task_config, data_has_the_keys_of_its_source_and_those_of_shards)
{
    read_data("{\"data\": {\"name\": \"idx\", \"images\": \"a/i\", \"labels\": \"a/l\", "
              "\"shards\": \"dirichlet\", \"alpha\": 0.1, \"late\": [3, 7], \"late_epoch\": 2}}",
              GS_OK, "");
    cr_expect_str_eq(config.data.source->name, "idx");
    cr_expect_str_eq(file_of(0), "a/i");
    cr_expect_str_eq(file_of(1), "a/l");
    cr_expect_null(file_of(2)); /* no test files are named */
    cr_expect(config.data.shards.kind == GS_SHARDS_DIRICHLET && config.data.shards.alpha == 0.1);
    cr_expect(config.data.shards.late.count == 2 && config.data.shards.late_epoch == 2);
    /* Another source keeps the shards and forgets the files. */
    read_data("{\"data\": {\"name\": \"digits\"}}", GS_OK, "");
    cr_expect_null(file_of(0));
    cr_expect_eq(config.data.shards.kind, GS_SHARDS_DIRICHLET);
}

Test(task_config, wrong_words_on_data_are_refused)
{
    read_data("{\"data\": {\"name\": \"mnist\"}}", GS_ENOTFOUND,
              "s.json: data.name: no data \"mnist\"; there are digits, idx, mixture, quadratic, "
              "teacher, text");
    read_data("{\"data\": {\"name\": \"digits\", \"images\": \"x\"}}", GS_EINVAL,
              "s.json: data: unknown key \"images\"; known are name, shards, alpha, size_ratio, "
              "shard_seed, late, late_epoch");
    read_data("{\"data\": {\"name\": \"idx\", \"images\": \"x\"}}", GS_EINVAL,
              "s.json: data: the key \"labels\" is missing; it takes a text of at most 255 bytes");
    cr_expect_str_eq(config.data.source->name, "digits");
}

Test(task_config, a_model_that_does_not_exist_is_refused_with_the_nearest)
{
    refuse_model("{\"model\": {\"name\": \"softmux\"}}", GS_ENOTFOUND,
                 "s.json: model.name: no model \"softmux\"; did you mean softmax?; there are cnn, "
                 "gpt, linear, mlp, softmax");
    refuse_model("{\"model\": {\"name\": \"transformer\"}}", GS_ENOTFOUND,
                 "s.json: model.name: no model \"transformer\"; there are cnn, gpt, linear, "
                 "mlp, softmax");
}

Test(task_config, fields_that_a_model_does_not_have_are_refused)
{
    gs_error err;
    parse("{\"model\": {\"name\": \"softmax\", \"hidden\": [3]}}");
    gs_json_at at = member("model");
    cr_expect_eq(gs_task_config_read_model(&config, &at, &err), GS_EINVAL);
    cr_expect(strstr(err.text, "hidden") != NULL, "%s", err.text);
    cr_expect_str_eq(config.model->name, "mlp");
    parse("{\"model\": {\"hidden\": [0]}, \"list\": [1]}");
    at = member("model");
    cr_expect_eq(gs_task_config_read_model(&config, &at, &err), GS_EINVAL);
    cr_expect(strstr(err.text, "model.hidden") != NULL, "%s", err.text);
    at = member("list");
    cr_expect_eq(gs_task_config_read_model(&config, &at, &err), GS_EINVAL, "%s", err.text);
}

Test(task_config, what_is_written_reads_back)
{
    gs_error err;
    parse("{\"model\": {\"hidden\": [48, 24, 7]}, \"optimizer\": {\"rate\": 0.3, \"momentum\": 0,"
          " \"weight_decay\": 0.0001}}");
    gs_json_at at = member("model");
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    at = member("optimizer");
    cr_assert_eq(gs_task_config_read_optimizer(&config, &at, &err), GS_OK, "%s", err.text);
    gs_json *workload = gs_json_new_object();
    cr_assert(gs_task_config_write(&config, workload));
    char *text = gs_json_write(workload, false);
    gs_json_free(workload);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, "{\"model\":{\"name\":\"mlp\",\"hidden\":[48,24,7],"
                           "\"activation\":\"relu\"},"
                           "\"data\":{\"name\":\"digits\",\"shards\":\"iid\",\"alpha\":0.5,"
                           "\"size_ratio\":4,\"shard_seed\":0,\"late\":[],\"late_epoch\":0},"
                           "\"optimizer\":{\"name\":\"sgd\",\"rate\":0.3,\"momentum\":0,"
                           "\"nesterov\":false,\"beta1\":0.9,\"beta2\":0.999,"
                           "\"epsilon\":1e-08,\"trust\":0.001,\"weight_decay\":0.0001,"
                           "\"clip\":0,\"loss_scale\":1,\"schedule\":\"constant\","
                           "\"warmup_samples\":0,\"schedule_samples\":0,\"drop_samples\":[],"
                           "\"drop_factor\":0.1}}");
    parse(text);
    free(text);
    gs_task_config again = config;
    config = gs_task_config_default();
    at = member("model");
    cr_assert_eq(gs_task_config_read_model(&config, &at, &err), GS_OK, "%s", err.text);
    at = member("data");
    cr_assert_eq(gs_task_config_read_data(&config, &at, &err), GS_OK, "%s", err.text);
    at = member("optimizer");
    cr_assert_eq(gs_task_config_read_optimizer(&config, &at, &err), GS_OK, "%s", err.text);
    cr_expect(memcmp(config.model_config, again.model_config, sizeof again.model_config) == 0);
    cr_expect(memcmp(&config.data, &again.data, sizeof again.data) == 0);
    cr_expect(memcmp(&config.optimizer, &again.optimizer, sizeof again.optimizer) == 0);
}
