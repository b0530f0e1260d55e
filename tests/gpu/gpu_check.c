/* gpu_check [LARGEST-FLOATS [DEVICES]]: prints a table in Markdown; 0 where every row is as it
 * should be, 1 where one is not, 77 where there is no device. */
#include "tests/gpu/gpu_check.h"

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const gs_accelerator *gs_accelerator_module(void);

static bool failed;

void check_row(bool ok, const char *what, const char *size, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)printf("| %s | %s | %s%s |\n", what, size, ok ? "" : "**WRONG**: ", text);
    (void)fflush(stdout);
    failed = failed || !ok;
}

int64_t check_now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int argc, char **argv)
{
    size_t largest = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : (size_t)1 << 26;
    int devices = 0;
    const gs_accelerator *table = gs_accelerator_module();
    void *device;
    gs_error err = {.text = ""};
    cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        (void)fprintf(stderr, "gpu_check: no CUDA device (%s)\n", cudaGetErrorString(code));
        return 77;
    }
    int wanted = argc > 2 ? (int)strtol(argv[2], NULL, 10) : devices;
    devices = wanted < devices ? wanted : devices;
    if (table->open(0, &device, &err) != GS_OK) {
        (void)fprintf(stderr, "gpu_check: %s\n", err.text);
        return 1;
    }
    (void)printf("| what | size | result |\n| --- | --- | --- |\n");
    check_kernels(table, device, largest);
    check_time(table, device);
    table->close(device);
    check_nccl((uint32_t)devices, largest);
    return failed ? 1 : 0;
}
