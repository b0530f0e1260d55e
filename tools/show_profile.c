/* show PROFILE: what a bundled profile times, and what it was measured on. */
#include "tools/message.h"
#include "tools/show.h"

#include <stdio.h>
#include <stdlib.h>

static void add_time(gs_page *page, const char *key, const gs_profile_step *step,
                     gs_segment_kind kind)
{
    char text[GS_UNIT_TEXT_BYTES];
    gs_time_ns sum = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        sum += step->segments[i].kind == kind ? step->segments[i].duration_ns : 0;
    }
    char *name = gs_text("%s_ns", key);
    gs_page_fact(page, name, key, gs_format_duration(sum, text), gs_json_new_int(sum));
    free(name);
}

static void add_layers(gs_page *page, const gs_layer_table *layers)
{
    char text[64];
    double flops = gs_layer_table_flops(layers);
    gs_layer_activations kept = gs_layer_table_activations(layers, false);
    snprintf(text, sizeof text, "%.4g GFLOP forward a sample", flops / 1e9);
    gs_page_fact(page, "forward_flops_per_sample", "work", text, gs_json_new_real(flops));
    snprintf(text, sizeof text, "%lld elements a sample", (long long)kept.all);
    gs_page_fact(page, "activations", "activations", text, gs_json_new_int(kept.all));
    snprintf(text, sizeof text, "%lld", (long long)(kept.kept + kept.block_max));
    gs_page_fact(page, "activations_checkpointed", "checkpointed", text,
                 gs_json_new_int(kept.kept + kept.block_max));
    if (!gs_layer_table_is_timed(layers)) {
        gs_page_note(page, "It has no times: forward takes its FLOPs over the rate of the device, "
                           "backward twice that.");
    }
}

static void fill(gs_page *page, const gs_profile *profile, const gs_layer_table *layers)
{
    int64_t elements = 0;
    char bytes[GS_UNIT_TEXT_BYTES];
    char batch[GS_UNIT_TEXT_BYTES];
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        elements += profile->units[i].elements;
    }
    char *text = gs_text("%s in %u units of %d-byte elements",
                         gs_format_bytes(elements * profile->element_bytes, bytes),
                         profile->unit_count, (int)profile->element_bytes);
    gs_page_fact(page, "gradient_elements", "gradients", text, gs_json_new_int(elements));
    free(text);
    const gs_profile_step *step = &profile->ranks[0].steps[0];
    if (layers == NULL || gs_layer_table_is_timed(layers)) {
        add_time(page, "forward", step, GS_SEGMENT_FORWARD);
        add_time(page, "backward", step, GS_SEGMENT_BACKWARD);
        add_time(page, "optimizer", step, GS_SEGMENT_OPTIMIZER);
    }
    if (layers != NULL) {
        add_layers(page, layers);
    }
    snprintf(batch, sizeof batch, "%lld", (long long)profile->batch);
    gs_page_fact(page, "batch", "batch", profile->batch == 0 ? "not known" : batch,
                 profile->batch == 0 ? gs_json_new_null() : gs_json_new_int(profile->batch));
}

/* "times.source" of a layer table: where its times come from. */
static void add_measured(gs_page *page, const char *file)
{
    gs_json_at document;
    gs_json_at times;
    gs_json_at source;
    const char *text = NULL;
    if (gs_json_read(file, &document, NULL) != GS_OK) {
        return;
    }
    if (gs_json_find(&document, "times", &times) && gs_json_find(&times, "source", &source) &&
        gs_json_text(&source, &text, NULL) == GS_OK) {
        gs_page_fact(page, "times_source", "times", text, NULL);
    }
    gs_json_free(document.value);
}

int gs_show_profile(gs_page *page, const gs_named_scenario *profile, gs_arena *arena)
{
    gs_error err = {0};
    gs_imported imported = {0};
    if (gs_import(&profile->file, 1, NULL, arena, &imported, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_page_fact(page, "name", "profile", profile->name, NULL);
    gs_page_fact(page, "file", "file", profile->file, NULL);
    gs_page_fact(page, "source", "source", profile->summary, NULL);
    if (imported.profile != NULL) {
        fill(page, imported.profile, imported.layers);
    }
    add_measured(page, profile->file);
    gs_page_note(page, "workload.profile=%s uses it", profile->name);
    return GS_EXIT_OK;
}
