#include <criterion/criterion.h>

#include "models/model.h"

#include <string.h>

Test(model_registry, names_are_sorted_and_lead_to_their_models)
{
    size_t count = 0;
    for (; gs_model_names[count] != NULL; count++) {
        const char *name = gs_model_names[count];
        cr_expect(count == 0 || strcmp(gs_model_names[count - 1], name) < 0, "%s", name);
        const gs_model *model = gs_model_find(name);
        cr_assert_not_null(model, "%s", name);
        cr_expect_str_eq(model->name, name);
        cr_expect_eq(gs_model_at(count), model);
    }
    cr_expect_eq(count, 5);
    cr_expect_null(gs_model_at(count));
    cr_expect_null(gs_model_find("MLP"));
    cr_expect_null(gs_model_find(""));
}

Test(model_registry, every_model_fills_every_slot)
{
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        const gs_model *model = gs_model_at(i);
        cr_expect_gt(strlen(model->summary), 0, "%s", model->name);
        cr_expect_gt(strlen(model->source), 0, "%s", model->name);
        cr_expect_not_null(model->build, "%s", model->name);
        cr_assert_not_null(model->config_table, "%s", model->name);
        cr_expect_leq(model->config_table->struct_bytes, GS_MODEL_CONFIG_BYTES, "%s", model->name);
    }
}
