/* Runs a fuzz target over files and folders given as arguments: the corpus as a plain test, in
 * every build. Complains when it finds nothing, since a test over nothing cannot fail. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_BYTES_MAX = 1 << 20, PATH_BYTES = 1024 };

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(INPUT_BYTES_MAX);
    if (file == NULL || bytes == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(EXIT_FAILURE);
    }
    size_t length = fread(bytes, 1, INPUT_BYTES_MAX, file);
    fclose(file);
    /* An exact copy, so that the address sanitizer sees a read past the end. */
    unsigned char *exact = malloc(length == 0 ? 1 : length);
    if (exact == NULL) {
        exit(EXIT_FAILURE);
    }
    memcpy(exact, bytes, length);
    LLVMFuzzerTestOneInput(exact, length);
    free(exact);
    free(bytes);
}

static size_t replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    size_t done = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            char name[PATH_BYTES];
            snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
            replay_file(name);
            done++;
        }
        free(entries[i]);
    }
    free(entries);
    return done;
}

int main(int argc, char **argv)
{
    size_t done = 0;
    for (int i = 1; i < argc; i++) {
        done += replay_folder(argv[i]);
    }
    printf("%zu inputs\n", done);
    return done > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
