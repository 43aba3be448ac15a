/* See touched.h. */
#define _GNU_SOURCE
#include "touched.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "arena/arena.h"
#include "base/system.h"

#define MOST_AREAS (2 * CUAI_HEAPS)

typedef struct area {
    unsigned char *base;
    size_t bytes;
} area_t;

static area_t areas[MOST_AREAS];
static size_t area_count;
static volatile sig_atomic_t touched;
static size_t page;
static struct sigaction before;

static const area_t *area_around(const unsigned char *at)
{
    for (size_t i = 0; i < area_count; i++)
        if (areas[i].base <= at && at < areas[i].base + areas[i].bytes)
            return &areas[i];
    return NULL;
}

/* What is no business of this comes again, and then as it was before. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    const area_t *area = area_around(info->si_addr);
    (void)context;
    if (area == NULL) {
        (void)sigaction(signal, &before, NULL);
        return;
    }
    size_t offset = (size_t)((unsigned char *)info->si_addr - area->base);
    touched++;
    (void)mprotect(area->base + offset / page * page, page, PROT_READ | PROT_WRITE);
}

static void protect(int rights)
{
    for (size_t i = 0; i < area_count; i++)
        ck_assert_int_eq(mprotect(areas[i].base, areas[i].bytes, rights), 0);
}

static void add(const cuai_host_region_t *region)
{
    areas[area_count++] = (area_t){region->base, region->committed};
}

void touched_begin(const cuarena_t *arena)
{
    struct sigaction action;
    page = cuai_system_page();
    area_count = 0;
    touched = 0;
    for (int i = 0; i < CUAI_HEAPS; i++) {
        if (arena->heaps[i] == NULL)
            continue;
        add(&arena->heaps[i]->record_region);
        add(&arena->heaps[i]->table.region);
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    ck_assert_int_eq(sigaction(SIGSEGV, &action, &before), 0);
    protect(PROT_NONE);
}

uint64_t touched_end(uint64_t *pages_out)
{
    uint64_t pages = 0;
    protect(PROT_READ | PROT_WRITE);
    ck_assert_int_eq(sigaction(SIGSEGV, &before, NULL), 0);
    for (size_t i = 0; i < area_count; i++)
        pages += areas[i].bytes / page;
    if (pages_out != NULL)
        *pages_out = pages;
    return (uint64_t)touched;
}
