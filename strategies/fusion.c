#include "strategies/fusion.h"

gs_slice gs_fusion_slice(const gs_world *world, uint32_t first, uint32_t end)
{
    gs_slice slice = gs_bucket_slice(world, first);
    gs_slice last = gs_bucket_slice(world, end - 1);
    slice.length = last.offset + last.length - slice.offset;
    return slice;
}

uint32_t gs_fusion_end(const gs_world *world, uint32_t first, uint32_t end, int64_t elements_max)
{
    uint32_t fits = first + 1;
    while (fits < end && gs_fusion_slice(world, first, fits + 1).length <= elements_max) {
        fits++;
    }
    return fits;
}
