#include "tools/flags.h"

#include "base/assert.h"
#include "tools/recommend/trial.h"
#include "traces/scenario/scenario.h"

static const char *const gs_color_names[] = {"auto", "always", "never", NULL};
static const char *const gs_progress_names[] = {"auto", "plain", "json", "none", NULL};
static const char *const gs_log_names[] = {"error", "warning", "info", "debug", NULL};
static const char *const gs_prune_names[] = {"none", "halving", NULL};
static const char *const gs_steps_names[] = {"sum", "all", NULL};
static const char *const gs_inconclusive_names[] = {"pass", "fail", NULL};

enum {
    SIM = 1 << GS_VERB_sim,
    SWEEP = 1 << GS_VERB_sweep,
    RECOMMEND = 1 << GS_VERB_recommend,
    LIVE = 1 << GS_VERB_live,
    CALIBRATE = 1 << GS_VERB_calibrate,
    CHECK = 1 << GS_VERB_check,
    EXPLAIN = 1 << GS_VERB_explain,
    VALIDATE = 1 << GS_VERB_validate,
    COMPARE = 1 << GS_VERB_compare,
    BASELINE = 1 << GS_VERB_baseline,
    REPORT = 1 << GS_VERB_report,
    LIST = 1 << GS_VERB_list,
    SHOW = 1 << GS_VERB_show,
    TRACE = 1 << GS_VERB_trace,
    PLOT = 1 << GS_VERB_plot,
    DB = 1 << GS_VERB_db,
    DOCTOR = 1 << GS_VERB_doctor,
    HELP = 1 << GS_VERB_help,
    ALL = (1 << GS_VERB_COUNT) - 1
};

static const gs_field fields[GS_FLAG_COUNT] = {
#define GS_FLAG(m, text_name, letter, field_kind, text, low, high, names, v, e, verbs, c,          \
                text_help)                                                                         \
    [GS_FLAG_##m] = {.name = (text_name),                                                          \
                     .kind = GS_FIELD_##field_kind,                                                \
                     GS_FIELD_AT(gs_flags, m),                                                     \
                     .default_text = (text),                                                       \
                     .minimum = (low),                                                             \
                     .maximum = (high),                                                            \
                     .choices = (names),                                                           \
                     .help = (text_help)},
#define GS_FLAG_LIST(...)
#include "tools/flags.def"
#undef GS_FLAG
#undef GS_FLAG_LIST
};

static const gs_flag flags[GS_FLAG_COUNT] = {
#define GS_FLAG(m, n, l, kind, text, low, high, names, v, e, of, c, h)                             \
    [GS_FLAG_##m] = {n, l, v, e, of, c, h, &fields[GS_FLAG_##m]},
#define GS_FLAG_LIST(m, n, l, v, of, h) [GS_FLAG_##m] = {n, l, v, NULL, of, false, h, NULL},
#include "tools/flags.def"
#undef GS_FLAG
#undef GS_FLAG_LIST
};

const gs_flag *gs_flag_at(gs_flag_id id)
{
    GS_ASSERT(id < GS_FLAG_COUNT);
    return &flags[id];
}

bool gs_flag_is_of(gs_flag_id id, gs_verb_id verb)
{
    return (gs_flag_at(id)->verbs >> verb & 1U) != 0;
}

/* Copies the fields that belong into packed; returns how many. */
static size_t pack(gs_field *packed, bool only_configuration)
{
    size_t count = 0;
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        if (flags[i].field != NULL && (flags[i].in_configuration || !only_configuration)) {
            packed[count++] = fields[i];
        }
    }
    return count;
}

const gs_field_table *gs_flag_fields(void)
{
    static gs_field packed[GS_FLAG_COUNT];
    static gs_field_table table = {"flag", sizeof(gs_flags), packed, 0};
    if (table.field_count == 0) {
        table.field_count = pack(packed, false);
    }
    return &table;
}

const gs_field_table *gs_flag_configuration(void)
{
    static gs_field packed[GS_FLAG_COUNT];
    static gs_field_table table = {"configuration", sizeof(gs_flags), packed, 0};
    if (table.field_count == 0) {
        table.field_count = pack(packed, true);
    }
    return &table;
}
