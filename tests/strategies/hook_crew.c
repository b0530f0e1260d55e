#include "tests/strategies/hook_crew.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void crew_init(hook_crew *crew, const gradsync_hook_config *config)
{
    size_t bytes = gradsync_hook_bytes();
    *crew = (hook_crew){.ranks = config->ranks};
    GS_ASSERT(config->ranks <= CREW_MAX && bytes % sizeof(double) == 0);
    crew->memory = malloc(config->ranks * bytes);
    GS_ASSERT(crew->memory != NULL);
    for (uint32_t rank = 0; rank < crew->ranks; rank++) {
        gradsync_hook_config own = *config;
        const char *why;
        own.rank = rank;
        crew->signals[rank] = gradsync_hook_unknown();
        crew->hooks[rank] =
            gradsync_hook_create(crew->memory + rank * (bytes / sizeof(double)), bytes, &own, &why);
        GS_ASSERT(crew->hooks[rank] != NULL);
    }
}

void crew_fini(hook_crew *crew)
{
    free(crew->memory);
    *crew = (hook_crew){0};
}

static void add(gradsync_hook_values *all, const gradsync_hook_values *one)
{
    for (int i = 0; i < GRADSYNC_HOOK_SUMS; i++) {
        all->sums[i] += one->sums[i];
    }
    for (int i = 0; i < GRADSYNC_HOOK_MAXIMA; i++) {
        all->maxima[i] = fmax(all->maxima[i], one->maxima[i]);
    }
}

bool crew_step(hook_crew *crew)
{
    gradsync_hook_values all = {0};
    uint32_t due = 0;
    for (uint32_t rank = 0; rank < crew->ranks; rank++) {
        gradsync_hook_values one;
        if (gradsync_hook_step(crew->hooks[rank], &crew->signals[rank], &one)) {
            add(&all, &one);
            due++;
        }
    }
    GS_ASSERT(due == 0 || due == crew->ranks); /* all decide, or none */
    if (due == 0) {
        return false;
    }
    crew->agreed = all;
    gradsync_hook_decide(crew->hooks[0], &all, &crew->decision);
    for (uint32_t rank = 1; rank < crew->ranks; rank++) {
        gradsync_hook_decision other;
        gradsync_hook_decide(crew->hooks[rank], &all, &other);
        GS_ASSERT(memcmp(&other, &crew->decision, sizeof other) == 0);
    }
    return true;
}
