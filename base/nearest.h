/* "Did you mean": the nearest of a list of names, for errors about a word that nobody knows. */
#ifndef GS_BASE_NEAREST_H
#define GS_BASE_NEAREST_H

#include <stddef.h>

/* The name of names[count] nearest to text by edit distance, or NULL where none is near. Changing
 * case is half an edit; swapping neighbours is one. A tie goes to the same first letter, then to
 * the earlier name. Texts of 64 characters and more are near to nothing. */
const char *gs_nearest_name(const char *text, const char *const *names, size_t count);

#endif
