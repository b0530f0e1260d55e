#include <criterion/criterion.h>

#include "live/accelerator_module.h"
#include "live/carrier_module.h"

#include <string.h>

Test(accelerator_module, a_name_that_is_not_there_is_refused_with_those_that_are)
{
    const gs_accelerator *device;
    gs_error err;
    cr_expect_eq(gs_accelerator_find("abacus", &device, &err), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "no device \"abacus\"; allowed is cuda");
}

/* Builds with and without the toolkit are tested: each says what it can. */
Test(accelerator_module, cuda_is_loaded_where_it_was_built_and_else_says_how_to_build_it)
{
    char path[GS_MODULE_PATH_BYTES];
    const gs_accelerator *device = NULL;
    gs_error err = {.text = ""};
    gs_status status = gs_accelerator_find("cuda", &device, &err);
    if (gs_module_path("cuda", path)) {
        cr_assert_eq(status, GS_OK, "%s", err.text);
        cr_expect_str_eq(device->name, "cuda");
        cr_expect_eq(device->version, GS_ACCELERATOR_VERSION);
    } else {
        cr_expect_eq(status, GS_EUNSUPPORTED);
        cr_expect_not_null(strstr(err.text, "-DGS_CUDA=ON"));
    }
}

/* No machine has so many. Where there is no driver either, that is said in the same line. */
Test(accelerator_module, a_device_that_is_not_there_is_refused_in_one_line)
{
    char path[GS_MODULE_PATH_BYTES];
    const gs_accelerator *device = NULL;
    void *opened;
    gs_error err = {.text = ""};
    if (!gs_module_path("cuda", path)) {
        cr_skip_test("no module was built");
    }
    cr_assert_eq(gs_accelerator_find("cuda", &device, &err), GS_OK, "%s", err.text);
    cr_expect_eq(device->open(4096, &opened, &err), GS_EUNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "device cuda: no device 4096, "));
    cr_expect_null(strchr(err.text, '\n'));
}
