#include <criterion/criterion.h>

#include "base/nearest.h"

#include <string.h>

static const char *const names[] = {"ring", "halving_doubling", "double_tree", "naive", "ms", "us"};

static const char *near(const char *text)
{
    return gs_nearest_name(text, names, sizeof names / sizeof names[0]);
}

Test(nearest, one_edit_of_each_kind_is_near)
{
    cr_expect_str_eq(near("ring"), "ring");
    cr_expect_str_eq(near("rin"), "ring");   /* left out */
    cr_expect_str_eq(near("rinng"), "ring"); /* put in */
    cr_expect_str_eq(near("rong"), "ring");  /* replaced */
    cr_expect_str_eq(near("rign"), "ring");  /* swapped */
    cr_expect_str_eq(near("RING"), "ring");  /* four half edits are within two */
}

Test(nearest, longer_words_may_have_more_edits)
{
    /* 17 letters allow 1 + 17 / 4 = 5 edits, 4 letters allow 2. */
    cr_expect_str_eq(near("halfing-dubbling"), "halving_doubling");
    cr_expect_null(near("abcd"));
}

Test(nearest, a_tie_goes_to_the_same_first_letter)
{
    cr_expect_str_eq(near("m"), "ms");
    cr_expect_str_eq(near("u"), "us");
}

Test(nearest, nothing_and_very_long_texts_are_near_to_nothing)
{
    char text[80];
    memset(text, 'r', sizeof text);
    text[64] = '\0';
    const char *const itself[] = {text};
    cr_expect_null(near(""));
    cr_expect_null(gs_nearest_name(text, itself, 1));
    text[63] = '\0';
    cr_expect_eq(gs_nearest_name(text, itself, 1), text);
    cr_expect_null(gs_nearest_name("ring", names, 0));
}
