#include "live/accelerator_module.h"

#include "live/carrier_module.h"

#include <dlfcn.h>
#include <string.h>

gs_status gs_accelerator_find(const char *name, const gs_accelerator **out, gs_error *err)
{
    char path[GS_MODULE_PATH_BYTES];
    if (strcmp(name, "cuda") != 0) {
        return gs_fail(err, GS_ENOTFOUND, "no device \"%.40s\"; allowed is cuda", name);
    }
    if (!gs_module_path("cuda", path)) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "device cuda: this gradsync was built without it: build with -DGS_CUDA=ON "
                       "where the CUDA toolkit and NCCL are");
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *why = dlerror();
        return gs_fail(err, GS_EUNSUPPORTED, "device cuda: the module cannot be loaded: %s",
                       why == NULL ? path : why);
    }
    gs_accelerator_module_fn *module;
    void *symbol = dlsym(object, "gs_accelerator_module");
    memcpy(&module, &symbol, sizeof module);
    const gs_accelerator *device = module == NULL ? NULL : module();
    if (device == NULL || device->version != GS_ACCELERATOR_VERSION) {
        (void)dlclose(object);
        return gs_fail(err, GS_EVERSION,
                       "device cuda: %s is a module of another gradsync; build and install both "
                       "together",
                       path);
    }
    *out = device;
    return GS_OK;
}
