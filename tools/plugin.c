#include "tools/plugin.h"

#include "strategies/registry.h"
#include "traces/whole_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Name, size and hash of the file, as results keep them. */
static gs_status describe(const char *file, gs_loaded_plugin *out, gs_error *err)
{
    struct stat facts = {0};
    gs_error inner = {0};
    /* The linker looks for a name without a slash in folders of its own. */
    int length =
        snprintf(out->path, sizeof out->path, "%s%s", strchr(file, '/') == NULL ? "./" : "", file);
    if (length < 0 || (size_t)length >= sizeof out->path) {
        return gs_fail(err, GS_EINVAL, "--plugin %.40s...: the path is too long", file);
    }
    if (stat(out->path, &facts) != 0) {
        bool absent = errno == ENOENT;
        return gs_fail(err, absent ? GS_ENOTFOUND : GS_EIO, "--plugin %s: %s", file,
                       absent ? "no such file" : strerror(errno));
    }
    if (!S_ISREG(facts.st_mode)) {
        return gs_fail(err, GS_EPARSE, "--plugin %s: is no file; name a shared object", file);
    }
    uint64_t hash = 0;
    gs_status status = gs_whole_file_hash(out->path, 0, &hash, &inner);
    if (status != GS_OK) {
        return gs_fail(err, status, "--plugin %s: %s", file, inner.text);
    }
    const char *slash = strrchr(out->path, '/');
    out->input = (gs_stored_input){.role = "plugin",
                                   .name = slash + 1,
                                   .format = "shared object",
                                   .bytes = facts.st_size,
                                   .xxh3 = hash};
    snprintf(out->version, sizeof out->version, "plugin-%016" PRIx64, hash);
    return GS_OK;
}

/* The linker's reason, without the name of the file where it begins with that. */
static const char *reason(const char *path)
{
    const char *text = dlerror();
    size_t length = strlen(path);
    if (text == NULL) {
        return "for no reason that the linker gives";
    }
    return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

static gs_status check_versions(const char *file, const gs_plugin_table *table, gs_error *err)
{
    if (table->contract != GS_CONTRACT) {
        return gs_fail(err, GS_EVERSION,
                       "--plugin %s: made for contract %" PRIu32 ", this gradsync has %d; build it "
                       "again with the headers of this gradsync",
                       file, table->contract, GS_CONTRACT);
    }
    if (table->sizes != GS_CONTRACT_SIZES) {
        return gs_fail(err, GS_EVERSION,
                       "--plugin %s: made with other headers (sizes %" PRIu32
                       ", here %d); build it "
                       "again with the headers of this gradsync",
                       file, table->sizes, (int)GS_CONTRACT_SIZES);
    }
    if (table->strategy_count == 0 || table->strategies == NULL) {
        return gs_fail(err, GS_EINVAL, "--plugin %s: brings no strategies", file);
    }
    return GS_OK;
}

gs_status gs_plugin_load(const char *file, gs_loaded_plugin *out, gs_error *err)
{
    GS_TRY(describe(file, out, err));
    /* Now and not on first use: a missing service must not show in the middle of a run. */
    void *object = dlopen(out->path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        return gs_fail(err, GS_EPARSE, "--plugin %s: cannot be loaded: %s", file,
                       reason(out->path));
    }
    out->table = dlsym(object, "gs_plugin");
    if (out->table == NULL) {
        return gs_fail(err, GS_EPARSE,
                       "--plugin %s: has no symbol gs_plugin, so it is no plug-in of gradsync; "
                       "docs/contract.md says how to write one",
                       file);
    }
    GS_TRY(check_versions(file, out->table, err));
    for (uint32_t i = 0; i < out->table->strategy_count; i++) {
        gs_error inner = {0};
        gs_status status = gs_strategy_add(out->table->strategies[i], &inner);
        if (status != GS_OK) {
            return gs_fail(err, status, "--plugin %s: %s", file, inner.text);
        }
    }
    return GS_OK;
}

const gs_loaded_plugin *gs_plugin_of(const gs_loaded_plugin *plugins, size_t count,
                                     const gs_strategy *strategy)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < plugins[i].table->strategy_count; k++) {
            if (plugins[i].table->strategies[k] == strategy) {
                return &plugins[i];
            }
        }
    }
    return NULL;
}
