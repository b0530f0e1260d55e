#include "tools/simpler.h"

#include "tools/recommend/arm.h"

#include <stdbool.h>
#include <string.h>

static const char *const listed[] = {
#define GS_ARM(word) word,
#include "tools/recommend/arms.def"
#undef GS_ARM
};
enum { LISTED = sizeof listed / sizeof *listed };

/* "local_sgd" of "local_sgd:period=4+fp16". */
static size_t name_length(const char *label)
{
    return strcspn(label, ":+");
}

/* "powersgd:rank=2" of "allreduce+powersgd:rank=2"; "" where there is none. */
static const char *codec_of(const char *label)
{
    const char *plus = strchr(label, '+');
    return plus == NULL ? "" : plus + 1;
}

static bool is_same_name(const char *a, const char *b)
{
    size_t length = name_length(a);
    return length == name_length(b) && strncmp(a, b, length) == 0;
}

static bool is_same_codec(const char *a, const char *b)
{
    return is_same_name(codec_of(a), codec_of(b));
}

static gs_arm_family family_of(const char *label)
{
    static const struct {
        const char *strategy;
        gs_arm_family family;
    } families[] = {
#define GS_FAMILY(strategy, family) {#strategy, GS_FAMILY_##family},
#include "tools/recommend/families.def"
#undef GS_FAMILY
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (is_same_name(families[i].strategy, label)) {
            return families[i].family;
        }
    }
    return GS_FAMILY_TIMED;
}

/* Twice the place in the list; odd: behind that place. */
static int rank_of(const char *label)
{
    int last = -1;
    for (int i = 0; i < LISTED; i++) {
        last = is_same_name(listed[i], label) ? i : last;
    }
    for (int i = 0; i < LISTED; i++) {
        if (is_same_name(listed[i], label) && is_same_codec(listed[i], label)) {
            return 2 * i;
        }
    }
    return last < 0 ? 2 * (LISTED + (int)family_of(label)) : 2 * last + 1;
}

static int parameters_of(const char *label)
{
    int count = 0;
    for (const char *at = label; *at != '\0'; at++) {
        count += *at == '=' ? 1 : 0;
    }
    return count;
}

int gs_simpler_compare(const char *a, const char *b)
{
    int ranks = rank_of(a) - rank_of(b);
    bool is_same = is_same_name(a, b) && is_same_codec(a, b);
    return ranks != 0 ? ranks : is_same ? parameters_of(a) - parameters_of(b) : 0;
}
