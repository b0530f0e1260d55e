/* show COLLECTIVE: the closed form at given sizes, with the two ways people count its bytes. */
#include "tools/message.h"
#include "tools/show.h"

#include <stdio.h>
#include <string.h>

typedef struct question {
    int64_t ranks, bytes, bandwidth_bps, latency_ns;
} question;

static const gs_field fields[] = {
    {.name = "ranks",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(question, ranks),
     .default_text = "8",
     .minimum = 1,
     .maximum = GS_ENTITIES_MAX,
     .help = "members of the operation"},
    {.name = "bytes",
     .kind = GS_FIELD_BYTES,
     GS_FIELD_AT(question, bytes),
     .default_text = "0B",
     .minimum = 0,
     .maximum = 0x1p50,
     .help = "buffer of each rank; 0B: a table of sizes"},
    {.name = "bandwidth",
     .kind = GS_FIELD_RATE,
     GS_FIELD_AT(question, bandwidth_bps),
     .default_text = "100Gbit/s",
     .minimum = 1,
     .maximum = 0x1p60,
     .help = "of each rank's link, per direction"},
    {.name = "latency",
     .kind = GS_FIELD_DURATION,
     GS_FIELD_AT(question, latency_ns),
     .default_text = "0ns",
     .minimum = 0,
     .maximum = 0x1p60,
     .help = "one message, end to end"},
};

static const gs_field_table table = {"show", sizeof(question), fields,
                                     sizeof fields / sizeof *fields};

static int read_words(const gs_cli *cli, question *out)
{
    gs_config_defaults(&table, out);
    for (size_t i = 1; i < cli->word_count; i++) {
        char key[64];
        const char *equals = strchr(cli->words[i], '=');
        gs_error err = {0};
        if (equals == NULL || (size_t)(equals - cli->words[i]) >= sizeof key) {
            gs_complain("show %s: \"%s\" is no KEY=VALUE; keys are ranks, bytes, bandwidth, "
                        "latency",
                        cli->words[0], cli->words[i]);
            return GS_EXIT_USAGE;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - cli->words[i]), cli->words[i]);
        if (gs_config_set_text(&table, out, key, equals + 1, &err) != GS_OK) {
            return gs_complain_error(&err);
        }
    }
    return GS_EXIT_OK;
}

static double seconds(const gs_collective *collective, const question *asked, double bytes)
{
    gs_shape shape = gs_shape_plain((uint32_t)asked->ranks, 0, (int64_t)bytes);
    shape.piece = collective->piece_bytes;
    double (*form)(const gs_shape *, double, double, double) =
        collective->shared_s == NULL ? collective->closed_s : collective->shared_s;
    return form(&shape, bytes, (double)asked->latency_ns * 1e-9,
                (double)asked->bandwidth_bps / 8.0);
}

static void add_time(gs_table *rows, double s)
{
    char shown[32];
    char exact[GS_UNIT_TEXT_BYTES];
    if (s >= 0.01) {
        snprintf(shown, sizeof shown, "%.3g s", s);
    } else {
        gs_format_duration((gs_time_ns)(s * 1e9 + 0.5), shown);
    }
    gs_table_add(rows, shown, gs_exact_real(s, exact));
}

static void add_rate(gs_table *rows, double bits_per_s)
{
    char shown[GS_UNIT_TEXT_BYTES];
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(rows, gs_format_rate((int64_t)bits_per_s, shown),
                 gs_exact_real(bits_per_s, exact));
}

static void add_size(gs_table *rows, const gs_collective *collective, const question *asked,
                     int64_t bytes)
{
    char shown[GS_UNIT_TEXT_BYTES];
    char exact[32];
    double n = (double)asked->ranks;
    double s = seconds(collective, asked, (double)bytes);
    snprintf(exact, sizeof exact, "%lld", (long long)bytes);
    gs_table_add(rows, gs_format_bytes(bytes, shown), exact);
    add_time(rows, s);
    if (s > 0.0) {
        add_rate(rows, 8.0 * (double)bytes / s);
        add_rate(rows, 8.0 * (double)bytes / s * 2.0 * (n - 1.0) / n);
    } else {
        gs_table_add(rows, "-", "");
        gs_table_add(rows, "-", "");
    }
}

/* Two counts are in use for the same all-reduce; saying only one makes the other look wrong. */
static void add_counts(gs_page *page, const question *asked)
{
    double n = (double)asked->ranks;
    double bytes_per_s = (double)asked->bandwidth_bps / 8.0;
    double wire = 2.0 * (n - 1.0) / n * (double)asked->bytes;
    double twice = 2.0 * (double)asked->bytes;
    char size[GS_UNIT_TEXT_BYTES];
    char rate[GS_UNIT_TEXT_BYTES];
    gs_format_bytes(asked->bytes, size);
    gs_format_rate(asked->bandwidth_bps, rate);
    gs_page_note(page,
                 "Each rank sends and receives 2 (n-1)/n S = %.3g GB of S = %s: %.3g s at %s.",
                 wire * 1e-9, size, wire / bytes_per_s, rate);
    gs_page_note(page,
                 "A rule of thumb takes twice the size, 2 S = %.3g GB, which is true of very many "
                 "ranks: %.3g s; with %lld ranks that is %.0f %% too much.",
                 twice * 1e-9, twice / bytes_per_s, (long long)asked->ranks,
                 100.0 * (twice / wire - 1.0));
}

int gs_show_collective(gs_page *page, const gs_cli *cli, const gs_collective *collective)
{
    static const int64_t sizes[] = {INT64_C(1) << 10,  INT64_C(1) << 15, INT64_C(1) << 20,
                                    INT64_C(25) << 20, INT64_C(1) << 28, INT64_C(1) << 30};
    question asked;
    int code = read_words(cli, &asked);
    if (code != GS_EXIT_OK) {
        return code;
    }
    char text[GS_UNIT_TEXT_BYTES];
    gs_page_fact(page, "name", "collective", collective->name, NULL);
    gs_page_fact(page, "summary", "", collective->summary, NULL);
    gs_page_fact(page, "source", "source", collective->source, NULL);
    snprintf(text, sizeof text, "%lld", (long long)asked.ranks);
    gs_page_fact(page, "ranks", "ranks", text, gs_json_new_int(asked.ranks));
    gs_page_fact(page, "bandwidth_bps", "bandwidth", gs_format_rate(asked.bandwidth_bps, text),
                 gs_json_new_int(asked.bandwidth_bps));
    gs_page_fact(page, "latency_ns", "latency", gs_format_duration(asked.latency_ns, text),
                 gs_json_new_int(asked.latency_ns));
    page->table_key = "sizes";
    gs_table_add_column(&page->table, (gs_table_column){"bytes", "bytes", true});
    gs_table_add_column(&page->table, (gs_table_column){"time", "time_s", true});
    gs_table_add_column(&page->table, (gs_table_column){"algbw", "algbw_bps", true});
    gs_table_add_column(&page->table, (gs_table_column){"busbw", "busbw_bps", true});
    for (size_t i = 0; i < (asked.bytes > 0 ? 1 : sizeof sizes / sizeof *sizes); i++) {
        add_size(&page->table, collective, &asked, asked.bytes > 0 ? asked.bytes : sizes[i]);
    }
    if (asked.bytes > 0 && asked.ranks > 1 && strcmp(collective->name, "ring") == 0) {
        add_counts(page, &asked);
    } else {
        gs_page_note(
            page,
            "Closed form where each rank has one link out and one in; algbw = S/t, busbw = S/t "
            "2(n-1)/n. "
            "KEY=VALUE words: ranks, bytes, bandwidth, latency.");
    }
    return GS_EXIT_OK;
}
