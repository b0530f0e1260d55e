/* The frozen benchmark by hand (docs/frozen.md): its files, its truth, and the regret of recommend.
 */
#include "tests/frozen/regret.h"
#include "tests/frozen/rival.h"
#include "tools/interrupt.h"
#include "tools/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LENGTH = 1024, SKIPPED = 77 };

static int usage(void)
{
    fputs("frozen scenarios FOLDER               writes the 40 files\n"
          "frozen truth CSV FIRST COUNT          measures what is missing; goes on where it ended\n"
          "frozen regret CSV GRADSYNC FIRST COUNT\n"
          "frozen rival CSV STRATEGY FIRST COUNT  beside the fixed ones of the truth\n"
          "FIRST, COUNT: 0 20 are those for tuning, 20 20 those held out\n",
          stderr);
    return GS_EXIT_USAGE;
}

static int write_scenarios(const char *folder)
{
    for (uint32_t i = 0; i < FROZEN_COUNT; i++) {
        char name[FROZEN_NAME_BYTES];
        char path[PATH_LENGTH];
        frozen_name(i, name);
        snprintf(path, sizeof path, "%s/%s.json", folder, name);
        char *text = frozen_text(i);
        FILE *file = fopen(path, "w");
        bool written = file != NULL && fputs(text, file) >= 0;
        written = file != NULL && fclose(file) == 0 && written;
        free(text);
        if (!written) {
            gs_complain("%s: cannot be written; name a folder that is there", path);
            return GS_EXIT_FAILED;
        }
    }
    printf("%016" PRIx64 "\n", frozen_hash());
    return GS_EXIT_OK;
}

/* false: not two whole numbers within the benchmark. */
static bool read_range(char **words, uint32_t *first, uint32_t *count)
{
    char *end[2];
    unsigned long from = strtoul(words[0], &end[0], 10);
    unsigned long many = strtoul(words[1], &end[1], 10);
    *first = (uint32_t)from;
    *count = (uint32_t)many;
    return *end[0] == '\0' && *end[1] == '\0' && from < FROZEN_COUNT && many > 0 &&
           many <= FROZEN_COUNT - from;
}

static int make_truth(frozen_truth *truth, uint32_t first, uint32_t count)
{
    gs_interrupt_watch();
    for (uint32_t i = first; i < first + count; i++) {
        if (!truth_make(truth, i)) {
            return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
        }
    }
    return GS_EXIT_OK;
}

/* Of the final seeds as many as tuning can afford. */
enum { RIVAL_SEEDS = 5 };

static int hold_beside(const frozen_truth *truth, const char *word, uint32_t first, uint32_t count)
{
    gs_interrupt_watch();
    return rival_measure(truth, word, first, count, RIVAL_SEEDS)
               ? GS_EXIT_OK
               : GS_EXIT_INTERRUPTED + gs_interrupt_signal();
}

static int find_regret(const frozen_truth *truth, const char *program, uint32_t first,
                       uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        char name[FROZEN_NAME_BYTES];
        frozen_name(i, name);
        if (truth_best(truth, name) == NULL) {
            gs_complain("%s: has no whole truth of %s; make it with frozen truth", truth->path,
                        name);
            return SKIPPED;
        }
    }
    return regret_measure(truth, program, first, count);
}

int main(int argc, char **argv)
{
    uint32_t first = 0;
    uint32_t count = 0;
    if (argc == 3 && strcmp(argv[1], "scenarios") == 0) {
        return write_scenarios(argv[2]);
    }
    bool makes = argc == 5 && strcmp(argv[1], "truth") == 0;
    bool judges = argc == 6 && strcmp(argv[1], "regret") == 0;
    bool rivals = argc == 6 && strcmp(argv[1], "rival") == 0;
    if (!(makes || judges || rivals) || !read_range(argv + argc - 2, &first, &count)) {
        return usage();
    }
    frozen_truth truth;
    truth_open(argv[2], &truth);
    int code = makes    ? make_truth(&truth, first, count)
               : judges ? find_regret(&truth, argv[3], first, count)
                        : hold_beside(&truth, argv[3], first, count);
    truth_close(&truth);
    return code;
}
