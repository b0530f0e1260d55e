/* The list of transports, and what all of them share. */
#include "live/live_net.h"

#include "base/assert.h"

#include <string.h>
#include <time.h>

#define GS_TRANSPORT(stem) extern const gs_transport gs_transport_##stem;
#include "live/transports.def"
#undef GS_TRANSPORT

static const gs_transport *const transports[] = {
#define GS_TRANSPORT(stem) &gs_transport_##stem,
#include "live/transports.def"
#undef GS_TRANSPORT
};

uint32_t gs_transport_count(void)
{
    return sizeof transports / sizeof *transports;
}

const gs_transport *gs_transport_at(uint32_t index)
{
    GS_ASSERT(index < gs_transport_count());
    return transports[index];
}

const gs_transport *gs_transport_find(const char *name)
{
    for (uint32_t i = 0; i < gs_transport_count(); i++) {
        if (strcmp(transports[i]->name, name) == 0) {
            return transports[i];
        }
    }
    return NULL;
}

const char *gs_delay_text(gs_delay delay)
{
    static const char *const texts[] = {
#define GS_DELAY_TEXT(name, text) text,
        GS_DELAY_LIST(GS_DELAY_TEXT)
#undef GS_DELAY_TEXT
    };
    GS_ASSERT(delay < GS_DELAY_COUNT);
    return texts[delay];
}

gs_time_ns gs_live_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * GS_NS_PER_S + now.tv_nsec;
}
