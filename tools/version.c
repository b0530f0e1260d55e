#include "tools/version.h"

#include "gs_version.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *gs_version_line(void)
{
    return "gradsync " GS_VERSION " (commit " GS_COMMIT
#if GS_COMMIT_DIRTY
           ", changed since"
#endif
           ", " GS_BUILD_TYPE ", " COMPILER ")";
}

const char *gs_version_number(void)
{
    return GS_VERSION;
}

const char *gs_version_date(void)
{
    return GS_COMMIT_DATE;
}

const char *gs_version_compiler(void)
{
    return COMPILER;
}

const char *gs_version_cuda_toolkit(void)
{
    return GS_HAVE_CUDA_TOOLKIT ? GS_CUDA_TOOLKIT : "not found when this was built";
}

const char *gs_version_nccl(void)
{
    return GS_HAVE_NCCL ? GS_NCCL : "not found when this was built";
}

gs_tool_facts gs_version_facts(void)
{
    return (gs_tool_facts){
        .version = GS_VERSION, .commit = GS_COMMIT, .dirty = GS_COMMIT_DIRTY != 0};
}
