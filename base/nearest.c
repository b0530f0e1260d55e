/* Edit distance (Damerau's, adjacent swaps only) in half edits, so that case counts half. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LENGTH_MAX = 63, EDIT = 2, CASE_EDIT = 1 };

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int replace_cost(char a, char b)
{
    if (a == b) {
        return 0;
    }
    return same_letter(a, b) ? CASE_EDIT : EDIT;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Distance of a[0..a_count) and b[0..b_count); both at most LENGTH_MAX long. */
static int distance(const char *a, size_t a_count, const char *b, size_t b_count)
{
    int rows[3][LENGTH_MAX + 1]; /* row i of the table is rows[i % 3] */
    for (size_t j = 0; j <= b_count; j++) {
        rows[0][j] = (int)j * EDIT;
    }
    for (size_t i = 1; i <= a_count; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3];
        row[0] = (int)i * EDIT;
        for (size_t j = 1; j <= b_count; j++) {
            int cost = above[j - 1] + replace_cost(a[i - 1], b[j - 1]);
            cost = least(cost, least(above[j], row[j - 1]) + EDIT);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost = least(cost, rows[(i - 2) % 3][j - 2] + EDIT);
            }
            row[j] = cost;
        }
    }
    return rows[a_count % 3][b_count];
}

const char *gs_nearest_name(const char *text, const char *const *names, size_t count)
{
    size_t length = strlen(text);
    if (length == 0 || length > LENGTH_MAX) {
        return NULL;
    }
    const char *best = NULL;
    int best_rank = 0;
    int limit = EDIT * (int)(1 + length / 4);
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > LENGTH_MAX) {
            continue;
        }
        int cost = distance(text, length, names[i], name_length);
        int rank = 2 * cost + (same_letter(text[0], names[i][0]) ? 0 : 1);
        if (cost <= limit && (best == NULL || rank < best_rank)) {
            best = names[i];
            best_rank = rank;
        }
    }
    return best;
}
