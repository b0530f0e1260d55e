/* noise: laws of compute, latency and input, stragglers, bandwidth over time. */
#include "traces/scenario/scenario_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { SAMPLES_MAX = 1000000 };

/* Below it the laws drown in rounding: traces/noise.h refuses it as well. */
static const double CV_MIN = 0.001;
static const double SHIFT_TOLERANCE = 1e-9;

const char *const gs_law_names[] = {"none",   "lognormal", "gamma",     "shifted_exponential",
                                    "pareto", "weibull",   "empirical", NULL};
const char *const gs_straggler_names[] = {"none",   "persistent", "drift",
                                          "markov", "throttle",   NULL};
static const char *const link_names[] = {"nic", "intra", NULL};

/* clang-format off */
static const gs_field law_fields[] = {
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(gs_noise_law, law), "none", 0, 0, gs_law_names,
     "law of a factor with mean 1"},
    {"cv", GS_FIELD_RATIO, GS_FIELD_AT(gs_noise_law, cv), "0", 0, 10, NULL,
     "standard deviation over mean; shifted_exponential: 1 - shift, empirical: that of the samples"},
    {"shift", GS_FIELD_RATIO, GS_FIELD_AT(gs_noise_law, shift), "0.5", 0, 0.999, NULL,
     "shifted_exponential: the sure part of the mean"},
};
static const gs_field straggler_fields[] = {
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(gs_straggler, kind), "none", 0, 0, gs_straggler_names,
     "persistent: always slow; drift: slower and slower; markov: now and then; throttle: by heat"},
    {"rank", GS_FIELD_INT, GS_FIELD_AT(gs_straggler, rank), "-1", -1, GS_ENTITIES_MAX, NULL,
     "the rank it is about; -1: every rank"},
    {"factor", GS_FIELD_REAL, GS_FIELD_AT(gs_straggler, factor), "1.5", 1e-3, 1e3, NULL,
     "compute time is multiplied by it while slow"},
    {"drift_per_hour", GS_FIELD_REAL, GS_FIELD_AT(gs_straggler, drift_per_hour), "0.1", 0, 1e6, NULL,
     "drift: how much the factor grows in an hour"},
    {"mean_up", GS_FIELD_DURATION, GS_FIELD_AT(gs_straggler, mean_up_ns), "60s", 1e6, 3.2e16, NULL,
     "markov: mean time between slow phases"},
    {"mean_down", GS_FIELD_DURATION, GS_FIELD_AT(gs_straggler, mean_down_ns), "5s", 1e6, 3.2e16, NULL,
     "markov: mean time of a slow phase"},
    {"heat", GS_FIELD_DURATION, GS_FIELD_AT(gs_straggler, heat_ns), "60s", 1, 3.2e16, NULL,
     "throttle: time constant of heating while it computes"},
    {"cool_down", GS_FIELD_DURATION, GS_FIELD_AT(gs_straggler, cool_ns), "30s", 1, 3.2e16, NULL,
     "throttle: time constant of cooling while it waits"},
    {"hot", GS_FIELD_RATIO, GS_FIELD_AT(gs_straggler, hot), "0.9", 0, 1, NULL,
     "throttle: slow above this level of heat, 0..1"},
    {"cool", GS_FIELD_RATIO, GS_FIELD_AT(gs_straggler, cool), "0.7", 0, 1, NULL,
     "throttle: normal again below this level"},
};
static const gs_field bandwidth_fields[] = {
    {"link", GS_FIELD_CHOICE, GS_FIELD_AT(gs_bandwidth_config, link), "nic", 0, 0, link_names,
     "the links whose rate changes"},
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(gs_bandwidth_config, process.kind), "trace", 0, 0,
     gs_rate_kind_names,
     "trace: played from a file; markov: low now and then; ar1: around a mean; on_off: background "
     "traffic; flap: down now and then"},
    {"trace", GS_FIELD_TEXT, GS_FIELD_AT(gs_bandwidth_config, trace), "", 0, 0, NULL,
     "CSV file, \"time [s],factor\" or \"time [s],rate [Gbit/s]\"; empty: constant"},
    {"factor", GS_FIELD_RATIO, GS_FIELD_AT(gs_bandwidth_config, process.factor), "0.5", 1e-6, 1, NULL,
     "markov: share of the bandwidth that is left while low"},
    {"mean_up", GS_FIELD_DURATION, GS_FIELD_AT(gs_bandwidth_config, process.mean_up_ns), "60s", 1000, 3.2e16, NULL,
     "markov, flap: mean time between two low phases; on_off: between two of one source"},
    {"mean_down", GS_FIELD_DURATION, GS_FIELD_AT(gs_bandwidth_config, process.mean_down_ns), "5s", 1000, 3.2e16, NULL,
     "markov, flap: mean time of a low phase; on_off: of a source that is on"},
    {"mean", GS_FIELD_RATIO, GS_FIELD_AT(gs_bandwidth_config, process.mean), "0.8", 0.01, 1, NULL,
     "ar1: share of the bandwidth in the mean"},
    {"sd", GS_FIELD_RATIO, GS_FIELD_AT(gs_bandwidth_config, process.sd), "0.1", 0, 1, NULL,
     "ar1: standard deviation of that share, which is cut to 1 %..100 %"},
    {"interval", GS_FIELD_DURATION, GS_FIELD_AT(gs_bandwidth_config, process.interval_ns), "100ms", 1000, 3.2e16, NULL,
     "ar1: time between two levels"},
    {"memory", GS_FIELD_DURATION, GS_FIELD_AT(gs_bandwidth_config, process.memory_ns), "1s", 1000, 3.2e16, NULL,
     "ar1: time constant with which a level is forgotten"},
    {"sources", GS_FIELD_INT, GS_FIELD_AT(gs_bandwidth_config, process.sources), "4", 1, 1000, NULL,
     "on_off: sources of background traffic on each link"},
    {"share", GS_FIELD_RATIO, GS_FIELD_AT(gs_bandwidth_config, process.share), "0.1", 0, 1, NULL,
     "on_off: share of the bandwidth that a source takes while it is on; 1 % is always left"},
};
/* clang-format on */

const gs_field_table gs_scenario_law_table = GS_SCENARIO_TABLE("noise.*", gs_noise_law, law_fields);
const gs_field_table gs_scenario_straggler_table =
    GS_SCENARIO_TABLE("noise.straggler", gs_straggler, straggler_fields);
const gs_field_table gs_scenario_bandwidth_table =
    GS_SCENARIO_TABLE("noise.bandwidth", gs_bandwidth_config, bandwidth_fields);

/* --- laws ----------------------------------------------------------------------------------- */

/* Numbers above 0 at path, scaled to mean 1; none where the key is absent. */
static gs_status read_samples(gs_scenario_reader *reader, const char *path, gs_noise_law *law,
                              gs_error *err)
{
    gs_json_at list;
    if (!gs_scenario_path_find(&reader->source.merged, path, &list)) {
        return GS_OK;
    }
    size_t count = gs_json_kind_of(list.value) == GS_JSON_LIST ? gs_json_count(list.value) : 0;
    if (gs_json_kind_of(list.value) != GS_JSON_LIST || count > SAMPLES_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err, "takes a list of up to %d numbers above 0",
                            SAMPLES_MAX);
    }
    double *samples = GS_TAKE(reader->arena, double, count);
    if (samples == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    gs_json_at at;
    double sum = 0.0;
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        GS_TRY(gs_json_real(&at, &samples[i], err));
        if (!(samples[i] >= 1e-15 && samples[i] <= 1e15)) {
            return gs_json_fail(&at, GS_EINVAL, err, "%g is out of range; allowed is 1e-15 to 1e15",
                                samples[i]);
        }
        sum += samples[i];
    }
    for (size_t i = 0; i < count; i++) {
        samples[i] *= (double)count / sum;
    }
    law->samples = samples;
    law->sample_count = (uint32_t)count;
    return GS_OK;
}

/* Standard deviation over mean of samples with mean 1. */
static double spread(const gs_noise_law *law)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < law->sample_count; i++) {
        sum += (law->samples[i] - 1.0) * (law->samples[i] - 1.0);
    }
    return sqrt(sum / law->sample_count);
}

/* shifted_exponential: cv is 1 - shift, and either may be said. A cv of 0 says nothing. */
static gs_status read_shift(gs_scenario_reader *reader, const char *path, gs_noise_law *law,
                            gs_error *err)
{
    char shift[GS_JSON_PATH_BYTES];
    gs_json_at at;
    snprintf(shift, sizeof shift, "%s.shift", path);
    bool by_cv = law->cv > 0.0;
    if (by_cv && law->cv <= 1.0 && !gs_scenario_path_find(&reader->source.merged, shift, &at)) {
        law->shift = 1.0 - law->cv;
    }
    if (by_cv && !(law->cv >= CV_MIN && fabs(1.0 - law->cv - law->shift) <= SHIFT_TOLERANCE)) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "cv %g does not go with kind \"shifted_exponential\" and shift %g: "
                                "cv is 1 - shift, %g to 1; say one of them",
                                law->cv, law->shift, CV_MIN);
    }
    law->cv = 1.0 - law->shift;
    return GS_OK;
}

static gs_status read_law(gs_scenario_reader *reader, const char *path, gs_noise_law *law,
                          gs_error *err)
{
    char samples[GS_JSON_PATH_BYTES];
    snprintf(samples, sizeof samples, "%s.samples", path);
    GS_TRY(gs_scenario_read_object(reader, path, &gs_scenario_law_table, law, err));
    GS_TRY(read_samples(reader, samples, law, err));
    if (law->law == GS_LAW_SHIFTED_EXPONENTIAL) {
        return read_shift(reader, path, law, err);
    }
    if (law->law == GS_LAW_EMPIRICAL) {
        if (law->sample_count == 0) {
            return gs_scenario_fail(reader, GS_EINVAL, samples, err,
                                    "is missing; kind \"empirical\" needs the factors to draw "
                                    "from, such as [0.9, 1, 1.3]");
        }
        law->cv = spread(law);
    } else if (law->law != GS_LAW_NONE && law->cv < CV_MIN) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "kind \"%s\" needs \"cv\" from %g on, such as \"10 %%\"; or say "
                                "kind \"none\"",
                                gs_law_names[law->law], CV_MIN);
    }
    return GS_OK;
}

/* --- stragglers and bandwidth --------------------------------------------------------------- */

static gs_status read_straggler(gs_scenario_reader *reader, gs_error *err)
{
    gs_straggler *straggler = &reader->out->noise.straggler;
    GS_TRY(gs_scenario_read_object(reader, "noise.straggler", &gs_scenario_straggler_table,
                                   straggler, err));
    if (straggler->rank >= (int64_t)reader->out->ranks) {
        return gs_scenario_fail(reader, GS_EINVAL, "noise.straggler.rank", err,
                                "%lld is no rank of the cluster; it has 0 to %u, and -1 is every "
                                "rank",
                                (long long)straggler->rank, reader->out->ranks - 1);
    }
    if (straggler->kind == GS_STRAGGLER_THROTTLE && straggler->cool >= straggler->hot) {
        char hot[GS_UNIT_TEXT_BYTES];
        char cool[GS_UNIT_TEXT_BYTES];
        return gs_scenario_fail(reader, GS_EINVAL, "noise.straggler.cool", err,
                                "%s is not below hot, which is %s; lower it",
                                gs_exact_real(straggler->cool, cool),
                                gs_exact_real(straggler->hot, hot));
    }
    return GS_OK;
}

static gs_status read_bandwidth(gs_scenario_reader *reader, gs_error *err)
{
    gs_bandwidth_config *config = &reader->bandwidth;
    gs_cluster *cluster = &reader->out->cluster;
    GS_TRY(gs_scenario_read_object(reader, "noise.bandwidth", &gs_scenario_bandwidth_table, config,
                                   err));
    bool is_process = config->process.kind != GS_RATE_TRACE;
    if (!is_process && config->trace[0] == '\0') {
        return GS_OK;
    }
    gs_link *link = config->link == 0 ? &cluster->nic : &cluster->intra;
    if (config->link == 1 && !gs_cluster_has_nodes(cluster)) {
        return gs_scenario_fail(reader, GS_EINVAL, "noise.bandwidth.link", err,
                                "\"intra\" is no link of a switch; say \"nic\", or topology kind "
                                "\"nodes\"");
    }
    if (is_process) {
        link->process = config->process;
        return GS_OK;
    }
    gs_error inner = {0};
    memcpy(link->trace_file, config->trace, sizeof link->trace_file);
    gs_status status =
        gs_rate_trace_read(config->trace, link->bandwidth_bps, reader->arena, &link->trace, &inner);
    return status == GS_OK
               ? GS_OK
               : gs_scenario_fail(reader, status, "noise.bandwidth.trace", err, "%s", inner.text);
}

gs_status gs_scenario_read_noise(gs_scenario_reader *reader, gs_error *err)
{
    gs_noise *noise = &reader->out->noise;
    GS_TRY(read_law(reader, "noise.compute", &noise->compute, err));
    GS_TRY(read_straggler(reader, err));
    GS_TRY(read_law(reader, "noise.latency", &noise->latency, err));
    GS_TRY(read_law(reader, "noise.input", &noise->input, err));
    return read_bandwidth(reader, err);
}

/* --- writing -------------------------------------------------------------------------------- */

/* Samples are written as they were read: scaling them again could change the last bit. */
static bool write_law(const gs_scenario_reader *reader, gs_json *parent, const char *key,
                      const gs_noise_law *law)
{
    char path[GS_JSON_PATH_BYTES];
    gs_json_at list;
    snprintf(path, sizeof path, "noise.%s.samples", key);
    gs_json *part = gs_json_new_object();
    bool ok = gs_config_write(&gs_scenario_law_table, law, part);
    ok = gs_json_set(part, "samples",
                     gs_scenario_path_find(&reader->source.merged, path, &list)
                         ? gs_json_copy(list.value)
                         : gs_json_new_list()) &&
         ok;
    return gs_json_set(parent, key, part) && ok;
}

bool gs_scenario_write_noise(const gs_scenario_reader *reader, gs_json *root)
{
    const gs_noise *noise = &reader->out->noise;
    gs_json *part = gs_json_new_object();
    bool ok = write_law(reader, part, "compute", &noise->compute);
    ok = gs_scenario_put_object(part, "straggler", &gs_scenario_straggler_table,
                                &noise->straggler) &&
         ok;
    ok = write_law(reader, part, "latency", &noise->latency) && ok;
    ok = write_law(reader, part, "input", &noise->input) && ok;
    ok = gs_scenario_put_object(part, "bandwidth", &gs_scenario_bandwidth_table,
                                &reader->bandwidth) &&
         ok;
    return gs_json_set(root, "noise", part) && ok;
}
