#include "support/told.h"

#include "checks.h"
#include "support/expect.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *tool(void)
{
    const char *named = getenv("CUARENA_TEST_NVTX");
    const char *loaded = getenv("NVTX_INJECTION64_PATH");
    bool both = named != NULL && loaded != NULL && strcmp(named, loaded) == 0;
    return both ? named : NULL;
}

int32_t nvtx_for_tools(void)
{
    return tool() != NULL ? CUARENA_NVTX_ON : CUARENA_NVTX_AUTO;
}

static bool find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    memcpy(member, &found, sizeof(found));
    return found != NULL;
}

const recorder_t *recorder(void)
{
    static recorder_t functions;
    static bool found;
    void *library = found || tool() == NULL ? NULL : dlopen(tool(), RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        found = true;
#define FIND(type, name, parameters) found = find(library, #name, &functions.name) && found;
        RECORDER_CALLS(FIND)
#undef FIND
        ck_assert_msg(found, "%s is no recorder", tool());
    }
    return found ? &functions : NULL;
}

/* ---- Comparing --------------------------------------------------------- */

/* Whether other threads have freed, moved or resized the block since it was looked at. */
static bool has_changed(cuarena_t *arena, const cuarena_block_info_t *info)
{
    cuarena_block_info_t now = {0};
    return cuarena_block_info(arena, info->block, &now) != CUARENA_OK || now.moving ||
           now.address != info->address || now.requested != info->requested;
}

static void expect_region(cuarena_t *arena, const cuarena_block_info_t *info, const char *file,
                          int line)
{
    uint64_t address = (uint64_t)(uintptr_t)info->address;
    recorder_region_t region = {0};
    bool there = recorder()->recorder_region_at(address, &region);
    bool larger = strcmp(region.name, "blocks of a capture session") == 0 ||
                  strcmp(region.name, "a segment without host memory for its blocks") == 0;
    if (larger && recorder()->recorder_may_use(address, info->requested))
        return;
    if ((!there || region.address != address || region.bytes != info->requested) &&
        !has_changed(arena, info))
        ck_abort_msg("%s:%d: block %#" PRIx64 " of %" PRIu64 " bytes at %#" PRIx64
                     ": the tool has %" PRIu64 " at %#" PRIx64 " (%s)",
                     file, line, info->block, info->requested, address, region.bytes,
                     region.address, there ? region.name : "no region");
}

static bool is_told(const cuarena_block_info_t *info)
{
    return info->requested != 0 && !info->adopted && !info->moving &&
           recorder()->recorder_heap_at((uint64_t)(uintptr_t)info->address);
}

void expect_told_at(cuarena_t *arena, const char *file, int line)
{
    uint64_t cursor = 0;
    cuarena_block_info_t infos[64];
    size_t count = 64;
    if (recorder() == NULL)
        return;
    while (count == 64) {
        expect_ok(cuarena_blocks(arena, &cursor, infos, 64, &count));
        for (size_t i = 0; i < count; i++)
            if (is_told(&infos[i]))
                expect_region(arena, &infos[i], file, line);
    }
    if (recorder()->recorder_counts().mistakes != 0)
        ck_abort_msg("%s:%d: the tool was told what is wrong; stderr has it", file, line);
}
