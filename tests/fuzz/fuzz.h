/* The entry point that libFuzzer calls; each fuzz_*.c defines it once. */
#ifndef GS_TESTS_FUZZ_H
#define GS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input; returns 0. A finding is a crash, a failed assertion or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
