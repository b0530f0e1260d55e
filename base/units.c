/* Decimal numbers with units, read exactly: an integer mantissa, a power of ten and a unit factor.
 */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"

__extension__ typedef __int128 wide;

typedef struct unit {
    const char *name;
    int64_t factor; /* of the inner unit: ns, bytes or bit/s */
} unit;

enum { UNIT_NAME_BYTES = 12, UNIT_COUNT_MAX = 24, EXPONENT_MAX = 9999, DIGITS_MAX = 24 };

typedef struct quantity {
    const char *plural;  /* for errors: "durations" */
    const char *allowed; /* the units, as a person would list them */
    const char *bare[2]; /* the units that a bare number may have meant */
    const unit *units;   /* ended by a NULL name */
} quantity;

#define KI (INT64_C(1) << 10)
#define MI (INT64_C(1) << 20)
#define GI (INT64_C(1) << 30)
#define TI (INT64_C(1) << 40)
#define K  INT64_C(1000)
#define M  INT64_C(1000000)
#define G  INT64_C(1000000000)
#define T  INT64_C(1000000000000)

/* clang-format off */
static const unit duration_units[] = {
    {"ns", 1}, {"us", GS_NS_PER_US}, {"ms", GS_NS_PER_MS}, {"s", GS_NS_PER_S},
    {"min", 60 * GS_NS_PER_S}, {"h", 3600 * GS_NS_PER_S}, {"d", 86400 * GS_NS_PER_S}, {NULL, 0}};

static const unit byte_units[] = {
    {"B", 1}, {"kB", K}, {"MB", M}, {"GB", G}, {"TB", T},
    {"KiB", KI}, {"MiB", MI}, {"GiB", GI}, {"TiB", TI}, {NULL, 0}};

static const unit rate_units[] = {
    {"bit/s", 1}, {"kbit/s", K}, {"Mbit/s", M}, {"Gbit/s", G}, {"Tbit/s", T},
    {"bps", 1}, {"kbps", K}, {"Mbps", M}, {"Gbps", G}, {"Tbps", T},
    {"B/s", 8}, {"kB/s", 8 * K}, {"MB/s", 8 * M}, {"GB/s", 8 * G}, {"TB/s", 8 * T},
    {"KiB/s", 8 * KI}, {"MiB/s", 8 * MI}, {"GiB/s", 8 * GI}, {NULL, 0}};

static const quantity duration = {"durations", "ns us ms s min h d", {"us", "ms"}, duration_units};
static const quantity size = {"sizes", "B kB MB GB TB KiB MiB GiB TiB", {"B", "MiB"}, byte_units};
static const quantity rate = {
    "rates", "bit/s kbit/s Mbit/s Gbit/s Tbit/s, bps kbps Mbps Gbps Tbps and "
    "B/s kB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s", {"Gbit/s", "GB/s"}, rate_units};
/* clang-format on */

/* Both are written for 10^-6 and look alike; in UTF-8. */
#define MICRO_SIGN "\xc2\xb5"
#define GREEK_MU   "\xce\xbc"

typedef struct decimal {
    wide mantissa; /* below 10^DIGITS_MAX */
    int tens;      /* value = mantissa * 10^tens, plus a little where is_cut */
    bool is_cut;   /* digits that are not 0 were left out */
    bool is_huge;  /* beyond any int64 of any unit */
    size_t length; /* characters read; 0: no number */
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void take_digit(decimal *number, int digit, bool in_fraction, int *digits)
{
    if (*digits < DIGITS_MAX) {
        number->mantissa = number->mantissa * 10 + (wide)digit;
        *digits += number->mantissa != 0;
        number->tens -= in_fraction;
    } else {
        number->is_huge = number->is_huge || !in_fraction;
        number->is_cut = number->is_cut || digit != 0;
    }
}

/* Characters of "e-5" at text, its value added to *tens; 0 where there is no exponent. */
static size_t read_exponent(const char *text, int *tens)
{
    size_t at = 0;
    if (text[at] != 'e' && text[at] != 'E') {
        return 0;
    }
    at++;
    bool is_negative = text[at] == '-';
    at += text[at] == '-' || text[at] == '+';
    if (!is_digit(text[at])) {
        return 0;
    }
    int exponent = 0;
    for (; is_digit(text[at]); at++) {
        exponent = exponent * 10 + (text[at] - '0');
        exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    }
    *tens += is_negative ? -exponent : exponent;
    return at;
}

/* The decimal number at the start of text: digits, at most one point, an exponent. */
static decimal read_decimal(const char *text)
{
    decimal number = {0};
    int digits = 0;
    bool has_digit = false;
    bool in_fraction = false;
    size_t at = 0;
    for (;; at++) {
        if (is_digit(text[at])) {
            has_digit = true;
            take_digit(&number, text[at] - '0', in_fraction, &digits);
        } else if (text[at] == '.' && !in_fraction) {
            in_fraction = true;
        } else {
            break;
        }
    }
    if (has_digit) {
        number.length = at + read_exponent(text + at, &number.tens);
    }
    return number;
}

/* number * factor rounded up into *out; false where it does not fit. */
static bool scale(const decimal *number, int64_t factor, int64_t *out)
{
    if (number->mantissa == 0) {
        *out = 0;
        return true;
    }
    if (number->is_huge) {
        return false;
    }
    wide value = number->mantissa * (wide)factor; /* below 10^24 * 10^14: fits */
    bool has_rest = number->is_cut;
    for (int i = 0; i < number->tens && value <= INT64_MAX; i++) {
        value *= 10;
    }
    for (int i = number->tens; i < 0 && value != 0; i++) {
        has_rest = has_rest || value % 10 != 0;
        value /= 10;
    }
    value += has_rest;
    if (value > INT64_MAX) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}

static gs_status fail_unit(const quantity *kind, const char *text, const char *name, gs_error *err)
{
    const char *names[UNIT_COUNT_MAX];
    size_t count = 0;
    for (const unit *u = kind->units; u->name != NULL; u++) {
        GS_ASSERT(count < UNIT_COUNT_MAX);
        names[count++] = u->name;
    }
    const char *near = gs_nearest_name(name, names, count);
    size_t prefix = strspn(name, "kKMGT");
    if (kind == &rate && prefix <= 1 && strcmp(name + prefix, "b/s") == 0) {
        /* b is a bit for network people and a byte for the others. */
        const char *letter = prefix == 0 ? "" : name[0] == 'K' ? "k" : name;
        return gs_fail(
            err, GS_EINVAL,
            "\"%s\" has the unknown unit \"%s\"; write %.*sbit/s, or %.*sB/s if bytes are "
            "meant",
            text, name, (int)prefix, letter, (int)prefix, letter);
    }
    if (near == NULL) {
        return gs_fail(err, GS_EINVAL, "\"%s\" has the unknown unit \"%s\"; %s take %s", text, name,
                       kind->plural, kind->allowed);
    }
    return gs_fail(err, GS_EINVAL,
                   "\"%s\" has the unknown unit \"%s\"; did you mean %s? %s take %s", text, name,
                   near, kind->plural, kind->allowed);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static gs_status parse(const quantity *kind, const char *text, int64_t *out, gs_error *err)
{
    const char *start = text + strspn(text, " \t");
    if (start[0] == '-' && (is_digit(start[1]) || start[1] == '.')) {
        return gs_fail(err, GS_EINVAL, "\"%s\" is negative; %s are 0 or more", text, kind->plural);
    }
    decimal number = read_decimal(start);
    if (number.length == 0) {
        return gs_fail(err, GS_EINVAL, "\"%s\" is not a number with a unit; write 10%s or 10%s",
                       text, kind->bare[0], kind->bare[1]);
    }
    const char *name = start + number.length;
    name += strspn(name, " \t");
    size_t name_length = strlen(name);
    while (name_length > 0 && is_space(name[name_length - 1])) {
        name_length--;
    }
    if (name_length == 0) {
        int digits = (int)number.length;
        return gs_fail(err, GS_EINVAL, "\"%s\" has no unit; write %.*s%s or %.*s%s", text, digits,
                       start, kind->bare[0], digits, start, kind->bare[1]);
    }
    char copy[UNIT_NAME_BYTES];
    bool is_micro = strncmp(name, MICRO_SIGN, 2) == 0 || strncmp(name, GREEK_MU, 2) == 0;
    if (is_micro) {
        name += 2;
        name_length -= 2;
    }
    snprintf(copy, sizeof copy, "%s%.*s", is_micro ? "u" : "",
             (int)(name_length < 64 ? name_length : 64), name);
    const unit *u = kind->units;
    while (u->name != NULL && (strcmp(u->name, copy) != 0 || name_length >= sizeof copy)) {
        u++;
    }
    if (u->name == NULL) {
        return fail_unit(kind, text, copy, err);
    }
    if (!scale(&number, u->factor, out)) {
        return gs_fail(err, GS_EINVAL, "\"%s\" is too large; %s go up to %lld%s", text,
                       kind->plural, (long long)INT64_MAX, kind->units[0].name);
    }
    return GS_OK;
}

gs_status gs_parse_duration(const char *text, gs_time_ns *out_ns, gs_error *err)
{
    return parse(&duration, text, out_ns, err);
}

gs_status gs_parse_bytes(const char *text, int64_t *out_bytes, gs_error *err)
{
    return parse(&size, text, out_bytes, err);
}

gs_status gs_parse_rate(const char *text, int64_t *out_bps, gs_error *err)
{
    return parse(&rate, text, out_bps, err);
}

gs_status gs_parse_ratio(const char *text, double *out_ratio, gs_error *err)
{
    const char *start = text + strspn(text, " \t");
    if (start[0] == '-' && (is_digit(start[1]) || start[1] == '.')) {
        return gs_fail(err, GS_EINVAL, "\"%s\" is negative; ratios are 0 or more", text);
    }
    decimal number = read_decimal(start);
    const char *rest = start + number.length;
    rest += strspn(rest, " \t");
    bool is_percent = rest[0] == '%';
    rest += is_percent;
    rest += strspn(rest, " \t");
    if (number.length == 0 || rest[0] != '\0') {
        return gs_fail(err, GS_EINVAL, "\"%s\" is not a ratio; write 0.05 or \"5 %%\"", text);
    }
    double value = strtod(start, NULL);
    if (!isfinite(value)) {
        return gs_fail(err, GS_EINVAL, "\"%s\" is too large for a ratio", text);
    }
    *out_ratio = is_percent ? value / 100.0 : value;
    return GS_OK;
}

gs_time_ns gs_transfer_ns(int64_t bytes, int64_t rate_bps)
{
    GS_ASSERT(bytes >= 0);
    GS_ASSERT(rate_bps > 0);
    const int64_t bit_ns_per_byte = 8 * GS_NS_PER_S;
    if (bytes <= INT64_MAX / 2 / bit_ns_per_byte && rate_bps <= INT64_MAX / 2) {
        return (bytes * bit_ns_per_byte + rate_bps - 1) / rate_bps;
    }
    wide bit_ns = (wide)bytes * (wide)bit_ns_per_byte;
    wide ns = (bit_ns + (wide)rate_bps - 1) / (wide)rate_bps;
    return ns > INT64_MAX ? GS_TIME_NEVER : (gs_time_ns)ns;
}

/* value / factor with three digits or four, without trailing zeros. */
static char *format(double value, const unit *u, char out[GS_UNIT_TEXT_BYTES])
{
    double scaled = value / (double)u->factor;
    double magnitude = fabs(scaled);
    int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
    int used = snprintf(out, GS_UNIT_TEXT_BYTES, "%.*f", decimals, scaled);
    while (decimals > 0 && (out[used - 1] == '0' || out[used - 1] == '.')) {
        decimals -= out[used - 1] == '.' ? decimals : 0;
        used--;
    }
    snprintf(out + used, GS_UNIT_TEXT_BYTES - (size_t)used, " %s", u->name);
    return out;
}

/* The largest of units[count] (ascending) that leaves a value of 1 or more, after rounding. */
static const unit *suiting(double value, const unit *units, size_t count)
{
    while (count > 1 && fabs(value) < 0.9995 * (double)units[count - 1].factor) {
        count--;
    }
    return &units[count - 1];
}

char *gs_format_duration(gs_time_ns ns, char out[GS_UNIT_TEXT_BYTES])
{
    if (ns == GS_TIME_NEVER) {
        snprintf(out, GS_UNIT_TEXT_BYTES, "never");
        return out;
    }
    return format((double)ns, suiting((double)ns, duration_units, 7), out);
}

char *gs_format_bytes(int64_t bytes, char out[GS_UNIT_TEXT_BYTES])
{
    /* A binary unit where that is exact and short: 25 MiB is what the user wrote. */
    for (const unit *u = &byte_units[8]; u->factor % KI == 0; u--) {
        if (bytes > 0 && bytes % u->factor == 0 && bytes / u->factor < KI) {
            return format((double)bytes, u, out);
        }
    }
    return format((double)bytes, suiting((double)bytes, byte_units, 5), out);
}

char *gs_format_rate(int64_t bps, char out[GS_UNIT_TEXT_BYTES])
{
    return format((double)bps, suiting((double)bps, rate_units, 5), out);
}

/* value in the largest of units[count] that divides it. */
static char *exact(int64_t value, const unit *units, size_t count, char out[GS_UNIT_TEXT_BYTES])
{
    const unit *best = &units[0];
    for (size_t i = 0; i < count && value != 0; i++) {
        if (value % units[i].factor == 0 && units[i].factor > best->factor) {
            best = &units[i];
        }
    }
    snprintf(out, GS_UNIT_TEXT_BYTES, "%lld%s", (long long)(value / best->factor), best->name);
    return out;
}

char *gs_exact_duration(gs_time_ns ns, char out[GS_UNIT_TEXT_BYTES])
{
    return exact(ns, duration_units, 4, out);
}

char *gs_exact_bytes(int64_t bytes, char out[GS_UNIT_TEXT_BYTES])
{
    return exact(bytes, byte_units, 9, out);
}

char *gs_exact_rate(int64_t bps, char out[GS_UNIT_TEXT_BYTES])
{
    /* Rates of memory and of links inside a node are said in bytes: 300GB/s, not 2400Gbit/s. */
    if (bps >= T && bps % (8 * G) == 0) {
        bool is_tera = bps % (8 * T) == 0;
        snprintf(out, GS_UNIT_TEXT_BYTES, "%lld%s", (long long)(bps / (is_tera ? 8 * T : 8 * G)),
                 is_tera ? "TB/s" : "GB/s");
        return out;
    }
    return exact(bps, rate_units, 5, out);
}

char *gs_exact_real(double value, char out[GS_UNIT_TEXT_BYTES])
{
    if (fabs(value) < 1e15 && trunc(value) == value) {
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.0f", value); /* 100000 rather than 1e+05 */
        return out;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    return out;
}
