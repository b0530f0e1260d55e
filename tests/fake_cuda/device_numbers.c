/* An entity whose floats lie on a device beside one that has them here: whatever is asked of both,
 * they hold the same bits. A plain program over the fake runtime, whose kernels come late, so that
 * a look without waiting would see what was there before. Prints what failed. */
#include "tests/fake_cuda/fake.h"
#include "tests/strategies/probes.h"
#include "traces/entity_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, STEPS = 6, OWN = 2 };

const gs_accelerator *gs_accelerator_module(void);

static int failures;

static void expect(bool condition, const char *what, const char *of)
{
    if (!condition) {
        failures++;
        (void)printf("%s: %s\n", of, what);
    }
}

typedef struct side {
    gs_entity_memory memory;
    double products; /* of all steps */
    gs_task_workspace *workspace;
} side;

static gs_slice slice(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

static bool are_equal(const side *here, const side *there)
{
    size_t count, other;
    bool ok = true;
    for (uint32_t vector = 0; vector < here->memory.vectors.vector_count; vector++) {
        const float *a = gs_entity_memory_vector(&here->memory, vector, &count);
        const float *b = gs_entity_memory_vector(&there->memory, vector, &other);
        ok = ok && count == other && memcmp(a, b, count * sizeof *a) == 0;
    }
    return ok && isfinite(here->memory.applied_max) &&
           memcmp(&here->products, &there->products, sizeof(double)) == 0 &&
           memcmp(&here->memory.applied_max, &there->memory.applied_max, sizeof(double)) == 0;
}

/* What strategies ask for, one after the other; the same on both. */
static void step(side *at, int64_t elements, float *from_outside)
{
    gs_entity_memory *memory = &at->memory;
    const gs_plan plan = {.go = true, .at = GS_PARAM, .micro_steps = 2};
    const int64_t third = elements / 3;
    gs_error err = {.text = ""};
    double loss;
    gs_entity_memory_begin(memory, &plan);
    gs_gradient_request request = {.workspace = at->workspace, .plan = &plan};
    expect(gs_entity_memory_gradient(memory, &request, &loss, &err) == GS_OK, err.text, "gradient");
    for (int vop = 0; vop < GS_VOP_COUNT; vop++) {
        expect(gs_entity_memory_vec(memory, (gs_vop)vop, slice(GS_OWN, third, third),
                                    slice(GS_GRAD, third, third), 0.25),
               "refused", "vec");
    }
    gs_payload payload = gs_entity_memory_view(memory, slice(GS_GRAD, 0, third));
    payload.data = from_outside;
    expect(gs_entity_memory_put(memory, slice(GS_GRAD, 0, third), &payload, true), "refused",
           "put");
    expect(gs_entity_memory_put(memory, slice(GS_OWN + 1, 0, third), &payload, false), "refused",
           "put");
    expect(gs_entity_memory_vec(memory, GS_VOP_scale, slice(GS_GRAD, 0, elements),
                                slice(GS_GRAD, 0, elements), 0.5),
           "refused", "vec");
    double product;
    expect(gs_entity_memory_dot(memory, slice(GS_GRAD, 0, elements), slice(GS_OWN, 0, elements),
                                &product),
           "refused", "dot");
    at->products += product;
    /* An apply of what a vec before it made, as hosts put it off. */
    gs_entity_work work[2];
    expect(gs_entity_memory_plan_vec(memory, GS_VOP_axpy, slice(GS_GRAD, 0, elements),
                                     slice(GS_OWN, 0, elements), 0.01, &work[0]),
           "refused", "plan");
    gs_entity_memory_plan_apply(memory, slice(GS_PARAM, 0, elements), GS_GRAD, 1.0, &work[1]);
    gs_entity_memory_do(memory, work, 2);
}

/* Keys and values of an optimizer, NULL behind the last. */
typedef struct settings {
    const char *words[9];
} settings;

static bool make_task(probe_job *made, const settings *optimizer, gs_error *err)
{
    gs_task_config config = gs_task_config_default();
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = 2, .seed = 7};
    bool ok = gs_config_set_text(config.model->config_table, config.model_config, "hidden", "32",
                                 err) == GS_OK;
    for (int i = 0; ok && optimizer->words[i] != NULL; i += 2) {
        ok = gs_config_set_text(&gs_optimizer_config_table, &config.optimizer, optimizer->words[i],
                                optimizer->words[i + 1], err) == GS_OK;
    }
    return ok && gs_task_create(&config, &setup, &made->arena, &made->task, err) == GS_OK;
}

static void make_sides(probe_job *made, side sides[2], gs_number number, void *device)
{
    static const gs_layout layout = {.own_vectors = {OWN}};
    gs_error err = {.text = ""};
    gs_entity_memory_config config = {.job = &made->job,
                                      .layout = &layout,
                                      .self = {GS_WORKER, 1},
                                      .task = made->task,
                                      .batch_per_rank = BATCH,
                                      .number = number};
    for (int i = 0; i < 2; i++) {
        config.device = i == 0 ? NULL : gs_accelerator_module();
        config.device_context = device;
        bool ok = gs_task_workspace_create(made->task, BATCH, &made->arena, &sides[i].workspace,
                                           &err) == GS_OK &&
                  gs_entity_memory_init(&sides[i].memory, &config, &made->arena, &err) == GS_OK;
        if (!ok) {
            (void)printf("%s\n", err.text);
            exit(1);
        }
    }
}

static void hold_side_by_side(const settings *optimizer, gs_number number)
{
    char what[64];
    probe_job made;
    side sides[2];
    void *device;
    gs_error err = {.text = ""};
    const gs_accelerator *table = gs_accelerator_module();
    (void)snprintf(what, sizeof what, "%s, number %d", optimizer->words[1], (int)number);
    probe_job_init(&made, 2);
    if (!make_task(&made, optimizer, &err) || table->open(1, &device, &err) != GS_OK) {
        (void)printf("%s\n", err.text);
        exit(1);
    }
    make_sides(&made, sides, number, device);
    float *outside = GS_TAKE(&made.arena, float, made.count);
    for (size_t i = 0; outside != NULL && i < made.count; i++) {
        outside[i] = (float)(i % 13) * 0.0137F - 0.05F;
    }
    for (int i = 0; i < STEPS; i++) {
        step(&sides[0], made.job.elements, outside);
        step(&sides[1], made.job.elements, outside);
        expect(are_equal(&sides[0], &sides[1]), "other bits on the device", what);
        expect(gs_entity_memory_check(&sides[1].memory, GS_PARAM, &err) == GS_OK, err.text, what);
    }
    table->close(device);
    probe_job_fini(&made);
}

static void ends(void)
{
    void *device;
    gs_error err = {.text = ""};
    expect(gs_accelerator_module()->open(64, &device, &err) == GS_EUNSUPPORTED &&
               strstr(err.text, "no device 64, 4 here") != NULL,
           err.text, "open");
}

int main(void)
{
    static const settings optimizers[] = {
        {{"name", "sgd", "momentum", "0", NULL}},
        {{"name", "sgd", "momentum", "0.9", "weight_decay", "0.001", NULL}},
        {{"name", "sgd", "momentum", "0.9", "nesterov", "true", NULL}},
        {{"name", "adam", "rate", "0.01", "weight_decay", "0.01", NULL}},
        {{"name", "adamw", "rate", "0.01", "weight_decay", "0.01", NULL}},
        {{"name", "lars", "rate", "0.5", NULL}},
        {{"name", "sgd", "clip", "0.01", NULL}},
        {{"name", "sgd", "loss_scale", "dynamic", NULL}},
    };
    fake_settings_get()->delay_us = 200;
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++) {
        hold_side_by_side(&optimizers[i], GS_FP32);
        hold_side_by_side(&optimizers[i], GS_BF16);
    }
    hold_side_by_side(&optimizers[1], GS_FP16);
    ends();
    return failures == 0 ? 0 : 1;
}
