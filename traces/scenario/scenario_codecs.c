/* The codec of a strategy: {"codec": {"name": "topk", "ratio": 0.01}} in a file, "+topk:ratio=0.01"
 * behind the strategy on the command line. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "strategies/other_names.h"

enum { NAMES_MAX = 64 };

static const char *const other_keys[] = {"name", NULL};

/* The codec with its defaults; "none" is no codec. */
static gs_status find_codec(const char *name, gs_coding *out, gs_error *err)
{
    const gs_codec *codec = gs_codec_find(name);
    const char *here = gs_other_name(name);
    if (codec == NULL && here != NULL) {
        return gs_fail(err, GS_ENOTFOUND, "no codec \"%s\": that is %s", name, here);
    }
    if (codec == NULL) {
        const char *names[NAMES_MAX];
        uint32_t count = gs_codec_count();
        GS_ASSERT(count <= NAMES_MAX);
        for (uint32_t i = 0; i < count; i++) {
            names[i] = gs_codec_at(i)->name;
        }
        const char *near = gs_nearest_name(name, names, count);
        return gs_fail(err, GS_ENOTFOUND, "no codec \"%.60s\"; %s%s%s", name,
                       near == NULL ? "see `gradsync list codecs`" : "did you mean \"",
                       near == NULL ? "" : near, near == NULL ? "" : "\"?");
    }
    *out = (gs_coding){.codec = codec};
    gs_config_defaults(codec->config, &out->config);
    return GS_OK;
}

static void drop_none(gs_coding *coding)
{
    if (strcmp(coding->codec->name, "none") == 0) {
        coding->codec = NULL;
    }
}

gs_status gs_scenario_parse_codec(char *text, gs_coding *out, gs_error *err)
{
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    GS_TRY(find_codec(text, out, err));
    if (colon != NULL) {
        GS_TRY(gs_scenario_set_words(out->codec->config, &out->config, colon + 1, err));
    }
    drop_none(out);
    return GS_OK;
}

gs_status gs_scenario_read_codec(const gs_json_at *strategy, gs_coding *out, gs_error *err)
{
    gs_json_at codec;
    gs_json_at name;
    const char *text = NULL;
    gs_error inner = {0};
    *out = (gs_coding){.codec = NULL};
    if (!gs_json_find(strategy, "codec", &codec)) {
        return GS_OK;
    }
    if (gs_json_kind_of(codec.value) != GS_JSON_OBJECT || !gs_json_find(&codec, "name", &name)) {
        return gs_json_fail(&codec, GS_EINVAL, err,
                            "takes an object with a name, such as {\"name\": \"topk\"}");
    }
    GS_TRY(gs_json_text(&name, &text, err));
    gs_status status = find_codec(text, out, &inner);
    if (status != GS_OK) {
        return gs_json_fail(&name, status, err, "%s", inner.text);
    }
    GS_TRY(gs_config_read(out->codec->config, &out->config, &codec, other_keys, err));
    drop_none(out);
    return GS_OK;
}

bool gs_scenario_write_codec(const gs_coding *coding, gs_json *strategy)
{
    if (coding->codec == NULL) {
        return true;
    }
    gs_json *codec = gs_json_new_object();
    bool ok = gs_json_set(codec, "name", gs_json_new_text(coding->codec->name));
    ok = gs_config_write(coding->codec->config, &coding->config, codec) && ok;
    return gs_json_set(strategy, "codec", codec) && ok;
}
