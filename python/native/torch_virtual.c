/*
 * Functions that PyTorch's CUDAPluggableAllocator has only to refuse: they are answered here, in
 * its table of virtual functions.
 *
 *   cacheInfo            how large a workspace cuDNN's benchmarks may ask for
 *   createOrIncrefPool   torch.cuda.MemPool: its tensors lie in the arena as all others do
 *   setUseOnOOM          ... which asks for nothing then
 *   setNoSplit
 *   getPoolUseCount      ... how many hold it
 *
 * A place in the table is found by the address that PyTorch exports for its function. What it does
 * not export is found between two that it does, if these are as far apart as they are in the
 * releases that were looked at. What is not found stays as it is, and the caller is told.
 */
#define _GNU_SOURCE
#include "torch.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLASS "N5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator"
#define MOST 96 /* functions that are looked at */

/* What cuarena_torch_answer could answer. */
#define ANSWERS_CACHE_INFO 1
#define ANSWERS_POOLS 2

CUARENA_API int cuarena_torch_answer(void);

/* ---- Answers -------------------------------------------------------------- */

static void cache_info(void *self, signed char device, size_t *largest)
{
    (void)self;
    *largest = torch_would_fit(device, NULL);
}

/* Callers pass more than these. */
static void ignore_pool(void *self, signed char device, uint64_t first, uint64_t second)
{
    (void)self;
    (void)device;
    (void)first;
    (void)second;
}

static int pool_uses(void *self, signed char device, uint64_t first, uint64_t second)
{
    (void)self;
    (void)device;
    (void)first;
    (void)second;
    return 1;
}

/* ---- The table ------------------------------------------------------------ */

static void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    void *library = found ? NULL : dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : found;
}

/* The place of an exported function; NULL if there is none. */
static void **place_of(void **table, const char *name)
{
    const void *function = symbol(name);
    for (size_t i = 2; function && i < MOST; i++)
        if (table[i] == function)
            return &table[i];
    return NULL;
}

/* The table is read-only once it is loaded. Its page stays writable: what else lies there may have
 * been so before. */
static bool put(void **place, void *function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *begin = (void *)((uintptr_t)place & ~(page - 1));
    if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    *place = function;
    return true;
}

static void *address_of(void (*function)(void))
{
    void *address;
    *(void (**)(void)) & address = function;
    return address;
}

static bool answer_cache_info(void **table)
{
    void **place = place_of(table, "_Z" CLASS "9cacheInfoEaPm");
    return !place ? false : put(place, address_of((void (*)(void))cache_info));
}

/* In between: getPoolUseCount, createOrIncrefPool, setUseOnOOM, setNoSplit,
 * checkPoolLiveAllocations. */
static bool answer_pools(void **table)
{
    void **release = place_of(table, "_Z" CLASS "11releasePoolEaSt4pairIyyE");
    void **share = place_of(table, "_Z" CLASS "14shareIpcHandleEPv");
    if (!release || !share || share - release != 6)
        return false;
    void *ignore = address_of((void (*)(void))ignore_pool);
    return put(release + 1, address_of((void (*)(void))pool_uses)) && put(release + 2, ignore) &&
           put(release + 3, ignore) && put(release + 4, ignore);
}

/* Answers what can be answered in this PyTorch, for the whole process: bits of the above, the same
 * at each call. Not from two threads at once. */
int cuarena_torch_answer(void)
{
    static int answers = -1;
    void **table = symbol("_ZTV" CLASS "E");
    if (answers >= 0)
        return answers;
    answers = 0;
    if (table && answer_cache_info(table))
        answers |= ANSWERS_CACHE_INFO;
    if (table && answer_pools(table))
        answers |= ANSWERS_POOLS;
    return answers;
}
