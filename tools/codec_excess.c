#include "tools/codec_excess.h"

#include "tools/message.h"

static int64_t sent(const gs_strategy_choice *choice, const gs_job *job, const gs_coding *coding)
{
    return choice->strategy->wire_bytes(choice->config, job, coding);
}

static char *text_of(const gs_strategy_choice *choice, const gs_job *job)
{
    char bytes[GS_UNIT_TEXT_BYTES], dense_bytes[GS_UNIT_TEXT_BYTES], least[GS_UNIT_TEXT_BYTES];
    const gs_coding *coding = &choice->coding;
    int64_t own = sent(choice, job, coding);
    int64_t dense = sent(choice, job, &(gs_coding){.codec = NULL});
    if (own <= dense) {
        return NULL;
    }
    gs_coding other = *coding;
    other.config.path = GS_PATH_TWO_PHASE;
    bool has_path =
        gs_config_find(coding->codec->config, "path") < coding->codec->config->field_count;
    int64_t two_phases = has_path ? sent(choice, job, &other) : INT64_MAX;
    gs_format_bytes(own, bytes);
    gs_format_bytes(dense, dense_bytes);
    return two_phases < own
               ? gs_text("%s sends %s a rank and step, without its codec %s: every payload goes to "
                         "all ranks; %s:path=two_phase sends %s",
                         choice->label, bytes, dense_bytes, coding->codec->name,
                         gs_format_bytes(two_phases, least))
               : gs_text("%s sends %s a rank and step, without its codec %s: on so many ranks it "
                         "saves nothing; leave the codec out",
                         choice->label, bytes, dense_bytes);
}

char *gs_codec_excess_text(const gs_scenario *scenario, const gs_strategy_choice *choice)
{
    gs_arena arena;
    gs_job job;
    gs_error err;
    char *text = NULL;
    if (choice->coding.codec == NULL || choice->strategy->wire_bytes == NULL) {
        return NULL;
    }
    gs_arena_init(&arena);
    if (gs_scenario_job(scenario, &arena, &job, &err) == GS_OK) {
        text = text_of(choice, &job);
    }
    gs_arena_fini(&arena);
    return text;
}
