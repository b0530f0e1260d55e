/* Units: what a number means, at the door and on the way out.
 *
 * Inside, time is int64 nanoseconds, sizes are int64 bytes and rates are int64 bits per second.
 * Outside every number carries its unit: bare numbers are refused, and GB (10^9) is not GiB (2^30).
 */
#ifndef GS_BASE_UNITS_H
#define GS_BASE_UNITS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef int64_t gs_time_ns;

#define GS_NS_PER_US  INT64_C(1000)
#define GS_NS_PER_MS  INT64_C(1000000)
#define GS_NS_PER_S   INT64_C(1000000000)
#define GS_TIME_NEVER INT64_MAX
/* The end of a run's time: 100 days. What would come after it saturates there. */
#define GS_TIME_END (100 * 24 * 3600 * GS_NS_PER_S)

/* A time after another. Neither is negative. */
static inline gs_time_ns gs_time_after(gs_time_ns at, gs_time_ns passed)
{
    return at < GS_TIME_END && passed < GS_TIME_END - at ? at + passed : GS_TIME_END;
}

/* A time (>= 0) that was computed, cut to whole ns. */
static inline gs_time_ns gs_time_of(double ns)
{
    return ns < (double)GS_TIME_END ? (gs_time_ns)ns : GS_TIME_END;
}

/* Time to move bytes (>= 0) at rate_bps (> 0), rounded up; never 0 for a non-zero size,
 * GS_TIME_NEVER where it would not fit. */
gs_time_ns gs_transfer_ns(int64_t bytes, int64_t rate_bps);

/* Parsers of "10us", "25MiB", "25Gbit/s" or "3.1GB/s", and of "5 %" or "0.05" (a ratio).
 * Spaces between number and unit are allowed. Fractions of a ns, byte or bit/s round up, so that
 * what is not 0 never becomes 0. Out is written only on GS_OK. Errors: GS_EINVAL with a text that
 * names the value and the units allowed (a bare number names the unit it may have meant).
 * Durations: ns us ms s min h d; µs is us. Sizes: B kB MB GB TB KiB MiB GiB TiB. Rates: bit/s
 * kbit/s Mbit/s Gbit/s Tbit/s, the same with bps, and B/s kB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s. */
GS_MUST_USE gs_status gs_parse_duration(const char *text, gs_time_ns *out_ns, gs_error *err);
GS_MUST_USE gs_status gs_parse_bytes(const char *text, int64_t *out_bytes, gs_error *err);
GS_MUST_USE gs_status gs_parse_rate(const char *text, int64_t *out_bps, gs_error *err);
GS_MUST_USE gs_status gs_parse_ratio(const char *text, double *out_ratio, gs_error *err);

enum { GS_UNIT_TEXT_BYTES = 32 };

/* Writers for people: three or four significant digits and the unit that suits ("41.8 ms", "25
 * MiB", "97.5 MB", "10 Gbit/s"). Return out. */
char *gs_format_duration(gs_time_ns ns, char out[GS_UNIT_TEXT_BYTES]);
char *gs_format_bytes(int64_t bytes, char out[GS_UNIT_TEXT_BYTES]);
char *gs_format_rate(int64_t bps, char out[GS_UNIT_TEXT_BYTES]);

/* Writers for files: exact, parsed back to the same value ("1500us", "25MiB", "10Gbit/s"). Return
 * out. */
char *gs_exact_duration(gs_time_ns ns, char out[GS_UNIT_TEXT_BYTES]);
char *gs_exact_bytes(int64_t bytes, char out[GS_UNIT_TEXT_BYTES]);
char *gs_exact_rate(int64_t bps, char out[GS_UNIT_TEXT_BYTES]);
/* A finite number in the fewest digits that read back to it ("0.1"). Returns out. */
char *gs_exact_real(double value, char out[GS_UNIT_TEXT_BYTES]);

#endif
