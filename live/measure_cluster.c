#include "live/measure_cluster.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/link_merge.h"

/* Of gradients: the usual bucket of 25 MiB, or all of it. */
enum { BUCKET_ELEMENTS = 25 * 1024 * 1024 / 4, NOTE_BYTES = 256 };
/* Of what lies farther from its line, or from what its ends can do, a note says so. */
#define MISFIT_RATIO 0.1

typedef struct measuring {
    gs_crew *crew;
    const char *transport;
    const gs_scenario *scenario;
    gs_arena *arena;
    gs_measured_cluster *out;
    uint32_t self;
} measuring;

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for what is measured");
}

static void note(measuring *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(measuring *in, const char *format, ...)
{
    char text[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gs_measured_cluster *out = in->out;
    if (out->note_count < GS_MEASURED_NOTES_MAX) {
        char *copy = gs_arena_text(in->arena, text);
        out->notes[out->note_count] = copy;
        out->note_count += copy != NULL ? 1 : 0;
    }
}

/* ---------------------------------------------------------------- work and model */

/* The codecs of the scenario's strategies, each once; a label says all that differs. */
static bool find_codecs(measuring *in)
{
    const gs_scenario *scenario = in->scenario;
    gs_measured_cluster *out = in->out;
    out->codecs = GS_TAKE(in->arena, gs_measured_codec, scenario->strategy_count);
    for (uint32_t i = 0; out->codecs != NULL && i < scenario->strategy_count; i++) {
        const gs_strategy_choice *choice = &scenario->strategies[i];
        const char *plus = strchr(choice->label, '+');
        bool is_new = choice->coding.codec != NULL && plus != NULL;
        for (uint32_t k = 0; is_new && k < out->codec_count; k++) {
            is_new = strcmp(out->codecs[k].name, plus + 1) != 0;
        }
        if (is_new) {
            out->codecs[out->codec_count++] = (gs_measured_codec){plus + 1, &choice->coding};
        }
    }
    return out->codecs != NULL;
}

static int64_t bucket_elements(const gs_scenario *scenario)
{
    const gs_profile *profile = scenario->workload.profile;
    int64_t elements = 0;
    for (uint32_t i = 0; i < profile->unit_count && elements < BUCKET_ELEMENTS; i++) {
        elements += profile->units[i].elements;
    }
    return elements < 1 ? 1 : elements < BUCKET_ELEMENTS ? elements : BUCKET_ELEMENTS;
}

static gs_status measure_work(measuring *in, gs_measured_rank *own, gs_error *err)
{
    gs_measured_cluster *out = in->out;
    out->work_elements = bucket_elements(in->scenario);
    own->codecs = GS_TAKE(in->arena, gs_codec_rates, out->codec_count);
    if (own->codecs == NULL) {
        return no_memory(err);
    }
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_status status = gs_measure_vector(out->work_elements, &scratch, &own->vector_bps, err);
    gs_arena_fini(&scratch);
    for (uint32_t i = 0; i < out->codec_count && status == GS_OK; i++) {
        status = gs_measure_codec(out->codecs[i].coding, out->work_elements, &scratch,
                                  &own->codecs[i], err);
        gs_arena_fini(&scratch);
        if (status == GS_EINVAL) {
            note(in, "%s: not measured: %s", out->codecs[i].name, err->text);
            own->codecs[i] = (gs_codec_rates){{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
            status = GS_OK;
        }
    }
    return status;
}

/* All train at the same time, as they will. */
static gs_status meet(const measuring *in, gs_error *err)
{
    gs_time_ns start;
    return in->crew == NULL ? GS_OK : gs_crew_meet(in->crew, &start, err);
}

static gs_status measure_model(measuring *in, gs_measured_rank *own, gs_error *err)
{
    gs_measured_model *model = NULL;
    bool is_rank = in->self < in->scenario->ranks;
    gs_status status =
        is_rank ? gs_measured_model_create(in->scenario, in->self, in->arena, &model, err) : GS_OK;
    if (status == GS_EUNSUPPORTED) {
        note(in, "layers: not measured: %s", err->text);
        status = GS_OK;
    }
    GS_TRY(status);
    GS_TRY(meet(in, err)); /* servers too, who do not know what the ranks have */
    if (model == NULL) {
        return GS_OK;
    }
    GS_TRY(gs_measure_model(model, &own->model, err));
    if (in->out->process_count > in->scenario->ranks) {
        note(in, "compute beside communication: not measured with servers");
        return GS_OK;
    }
    return in->crew == NULL || in->out->process_count == 1
               ? GS_OK
               : gs_measure_busy_passes(in->crew, model, in->arena, &own->busy_ns, err);
}

/* ---------------------------------------------------------------- to process 0 */

/* A rank's numbers as bytes: itself, its codecs, its units. */
static gs_status gather_ranks(measuring *in, const gs_measured_rank *own, gs_error *err)
{
    gs_measured_cluster *out = in->out;
    size_t codec_bytes = out->codec_count * sizeof *own->codecs;
    size_t unit_bytes = own->model.unit_count * sizeof *own->model.backward_ns;
    size_t bytes = sizeof *own + codec_bytes + unit_bytes;
    unsigned char *mine = gs_arena_take(in->arena, 1, bytes);
    gs_crew_bytes *all = GS_TAKE(in->arena, gs_crew_bytes, out->process_count);
    if (mine == NULL || all == NULL) {
        return no_memory(err);
    }
    memcpy(mine, own, sizeof *own);
    memcpy(mine + sizeof *own, own->codecs, codec_bytes);
    if (unit_bytes > 0) {
        memcpy(mine + sizeof *own + codec_bytes, own->model.backward_ns, unit_bytes);
    }
    GS_TRY(gs_crew_gather(in->crew, mine, bytes, all, err));
    for (uint32_t i = 0; in->self == 0 && i < out->process_count; i++) {
        gs_measured_rank *rank = &out->ranks[i];
        unsigned char *copy = gs_arena_take(in->arena, 1, all[i].count);
        if (copy == NULL) {
            return no_memory(err);
        }
        memcpy(copy, all[i].data, all[i].count);
        free(all[i].data);
        memcpy(rank, copy, sizeof *rank);
        rank->codecs = (gs_codec_rates *)(void *)(copy + sizeof *rank);
        rank->model.backward_ns = (double *)(void *)(copy + sizeof *rank + codec_bytes);
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- links */

static bool is_usual(const gs_link_times *link, const double *scales)
{
    return fabs(scales[link->from] - 1.0) + fabs(scales[link->to] - 1.0) <= 0.0;
}

/* The usual pairs as one link: repeats of the same point side by side. */
static gs_status fit_together(measuring *in, const gs_link_survey *survey, const double *scales,
                              gs_link_fit *out, gs_error *err)
{
    gs_link_point points[GS_LINK_POINTS];
    for (size_t p = 0; p < GS_LINK_POINTS; p++) {
        uint32_t repeats = 0;
        for (uint32_t i = 0; i < survey->link_count; i++) {
            repeats += survey->links[i].points[p].repeats;
        }
        points[p] = survey->links[0].points[p];
        points[p].repeats = 0;
        points[p].times_ns = GS_TAKE(in->arena, double, repeats);
        if (points[p].times_ns == NULL) {
            return no_memory(err);
        }
        for (uint32_t i = 0; i < survey->link_count; i++) {
            const gs_link_times *link = &survey->links[i];
            for (uint32_t r = 0; is_usual(link, scales) && r < link->points[p].repeats; r++) {
                points[p].times_ns[points[p].repeats++] = link->points[p].times_ns[r];
            }
        }
    }
    if (points[0].repeats == 0) {
        return gs_fail(err, GS_EINVAL,
                       "no two processes have links that are alike: there is no usual one");
    }
    GS_TRY(gs_link_fit_of(points, GS_LINK_POINTS, in->arena, out, err));
    if (fabs(out->misfit_ratio) > MISFIT_RATIO) {
        const gs_link_point *worst = &points[out->misfit_point];
        note(in,
             "%u messages of %lld B %s take %.2f times what latency, rate and cost per message "
             "say",
             worst->messages, (long long)worst->bytes,
             worst->pattern == GS_LINK_STREAM ? "in a row" : "to and fro", 1.0 + out->misfit_ratio);
    }
    return GS_OK;
}

/* Of the usual pairs, all repeats as of one link. */
static gs_status find_window(measuring *in, const gs_link_survey *survey, const double *scales,
                             gs_measured_links *out, gs_error *err)
{
    uint32_t repeats = 0, count = 0;
    for (uint32_t i = 0; i < survey->link_count; i++) {
        repeats += survey->links[i].points[0].repeats;
    }
    double *ahead_ns = GS_TAKE(in->arena, double, repeats);
    double *round_trip_ns = GS_TAKE(in->arena, double, repeats);
    double *scratch = GS_TAKE(in->arena, double, repeats);
    if (ahead_ns == NULL || round_trip_ns == NULL || scratch == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < survey->link_count; i++) {
        const gs_link_times *link = &survey->links[i];
        const gs_link_point *ping = &link->points[0];
        for (uint32_t r = 0; is_usual(link, scales) && r < ping->repeats; r++) {
            round_trip_ns[count] = ping->times_ns[r] / ping->messages;
            ahead_ns[count++] = link->ahead_ns[r];
        }
    }
    gs_link_ahead seen = {.ahead_ns = gs_median_estimate(ahead_ns, count, scratch),
                          .rate_bps = out->fit.rate_bps,
                          .round_trip_ns = gs_middle_of(round_trip_ns, count).median,
                          .stream_bytes = gs_link_stream_bytes()};
    out->window_count = gs_link_window_of(&seen, &out->window_bytes) ? count : 0;
    return GS_OK;
}

static void note_slow_pairs(measuring *in, const gs_pair_rate *pairs, uint32_t count,
                            const gs_estimate *ends_bps)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < count; i++) {
        gs_estimate from = ends_bps[pairs[i].from];
        gs_estimate to = ends_bps[pairs[i].to];
        gs_estimate could = from.value < to.value ? from : to;
        bool is_slow = pairs[i].bps.value < could.value && !gs_rates_are_alike(pairs[i].bps, could);
        if (is_slow && told++ < 4) {
            note(in, "from process %u to %u: %.4g Mbit/s, where their own links have %.4g",
                 pairs[i].from, pairs[i].to, pairs[i].bps.value / 1e6, could.value / 1e6);
        }
    }
    if (told > 4) {
        note(in, "%u more pairs are slower than their own links", told - 4);
    }
}

static gs_status fit_links(measuring *in, const gs_link_survey *survey, gs_measured_links *out,
                           gs_error *err)
{
    uint32_t size = in->out->process_count;
    gs_pair_rate *pairs = GS_TAKE(in->arena, gs_pair_rate, survey->link_count);
    gs_estimate *rates = GS_TAKE(in->arena, gs_estimate, size);
    out->scales = GS_TAKE(in->arena, double, size);
    if (pairs == NULL || rates == NULL || out->scales == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < survey->link_count; i++) {
        const gs_link_times *link = &survey->links[i];
        gs_link_fit fit;
        gs_status status = gs_link_fit_of(link->points, GS_LINK_POINTS, in->arena, &fit, err);
        if (status != GS_OK) {
            return gs_fail_in(err, "from process %u to %u", link->from, link->to);
        }
        pairs[i] = (gs_pair_rate){link->from, link->to, fit.rate_bps};
    }
    gs_end_rates(pairs, survey->link_count, size, rates);
    (void)gs_end_scales(rates, size, out->scales);
    note_slow_pairs(in, pairs, survey->link_count, rates);
    out->pairs = survey->link_count;
    out->all_pairs = survey->all_pairs;
    GS_TRY(fit_together(in, survey, out->scales, &out->fit, err));
    return find_window(in, survey, out->scales, out, err);
}

/* party_of: as of gs_measure_links. Nothing where no party has two members. */
static gs_status measure_links(measuring *in, const uint32_t *party_of, gs_measured_links *out,
                               gs_error *err)
{
    gs_link_survey survey = {.link_count = 0};
    GS_TRY(gs_measure_links(in->crew, party_of, in->arena, &survey, err));
    return in->self == 0 && survey.link_count > 0 ? fit_links(in, &survey, out, err) : GS_OK;
}

/* Between nodes one process of each, inside of them all with all. */
static gs_status measure_all_links(measuring *in, gs_error *err)
{
    const gs_scenario *scenario = in->scenario;
    uint32_t size = in->out->process_count;
    bool has_nodes = gs_cluster_has_nodes(&scenario->cluster);
    uint32_t *between = GS_TAKE(in->arena, uint32_t, size);
    uint32_t *inside = GS_TAKE(in->arena, uint32_t, size);
    if (between == NULL || inside == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < size; i++) {
        bool is_rank = i < scenario->ranks;
        uint32_t node = is_rank ? gs_scenario_node_of(scenario, i) : 0;
        bool is_first = !is_rank || i == 0 || gs_scenario_node_of(scenario, i - 1) != node;
        between[i] = !has_nodes || is_first ? 0 : GS_NO_PARTY;
        inside[i] = has_nodes && is_rank ? node : GS_NO_PARTY;
    }
    GS_TRY(measure_links(in, between, &in->out->nic, err));
    return has_nodes ? measure_links(in, inside, &in->out->intra, err) : GS_OK;
}

/* ---------------------------------------------------------------- all-reduces */

static gs_status measure_curve(measuring *in, bool native, gs_curve *out, gs_error *err)
{
    bool has = false;
    gs_curve_point *points = GS_TAKE(in->arena, gs_curve_point, GS_CURVE_SIZES);
    char source[NOTE_BYTES];
    snprintf(source, sizeof source, "gradsync calibrate: %s over %s", native ? "native" : "ring",
             in->transport);
    if (points == NULL) {
        return no_memory(err);
    }
    GS_TRY(gs_measure_all_reduce(in->crew, native, in->arena, points, &has, err));
    if (has && in->self == 0) {
        *out = (gs_curve){.collective = "all_reduce",
                          .ranks = (int32_t)in->out->process_count,
                          .device = "",
                          .points = points,
                          .point_count = GS_CURVE_SIZES,
                          .source = gs_arena_text(in->arena, source)};
    }
    return GS_OK;
}

gs_status gs_measure_cluster(gs_crew *crew, const char *transport, const gs_scenario *scenario,
                             gs_arena *arena, gs_measured_cluster *out, gs_error *err)
{
    measuring in = {.crew = crew,
                    .transport = transport,
                    .scenario = scenario,
                    .arena = arena,
                    .out = out,
                    .self = crew == NULL ? 0 : gs_crew_self(crew)};
    gs_measured_rank own = {.host = ""};
    *out = (gs_measured_cluster){.process_count = crew == NULL ? 1 : gs_crew_size(crew)};
    out->ranks = GS_TAKE(arena, gs_measured_rank, out->process_count);
    if (out->ranks == NULL || !find_codecs(&in)) {
        return no_memory(err);
    }
    (void)gethostname(own.host, sizeof own.host - 1);
    GS_TRY(meet(&in, err));
    GS_TRY(measure_work(&in, &own, err));
    GS_TRY(measure_model(&in, &own, err));
    if (crew == NULL || out->process_count == 1) {
        note(&in, "links: not measured: one process has none; start as many as there are ranks by "
                  "mpirun, srun or torchrun");
        out->ranks[0] = own;
        return GS_OK;
    }
    GS_TRY(gather_ranks(&in, &own, err));
    GS_TRY(measure_all_links(&in, err));
    if (out->process_count != scenario->ranks) {
        note(&in, "all-reduces: not measured with servers, who take no part in them");
        return GS_OK;
    }
    GS_TRY(measure_curve(&in, false, &out->ring, err));
    return measure_curve(&in, true, &out->native, err);
}
