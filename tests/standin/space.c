#define _GNU_SOURCE
#include "space.h"

#include "call.h"
#include "context.h"
#include "told.h"
#include "work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Freed ranges that are remembered, to call them freed and not foreign. */
#define FREED_MAX 4096

static struct {
    sd_area_t **list; /* by address */
    size_t count;
    size_t room;
    struct {
        uint64_t begin;
        uint64_t end;
    } freed[FREED_MAX];
    size_t freed_count;
} space;

/* ---- Bytes ------------------------------------------------------------- */

/* New memory is not zero on a device; the first page shows it. */
static void soil(unsigned char *data, uint64_t size)
{
    memset(data, 0xa5, size < 4096 ? size : 4096);
}

static unsigned char *map_data(uint64_t size)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return NULL;
    (void)madvise(data, size, MADV_HUGEPAGE); /* tests touch most of it */
    soil(data, size);
    return data;
}

sd_bytes_t *sd_bytes_new(uint64_t size, int device, bool mapped)
{
    static uint64_t last_id;
    if (device >= 0 && !sd_device_take(device, size))
        return NULL;
    unsigned char *data = mapped ? map_data(size) : NULL;
    sd_bytes_t *bytes = calloc(1, sizeof(*bytes));
    if (bytes == NULL || (mapped && data == NULL)) {
        free(bytes);
        if (device >= 0)
            sd_device_give_back(device, size);
        return NULL;
    }
    *bytes = (sd_bytes_t){
        .id = ++last_id, .size = size, .device = device, .references = 1, .data = data, .file = -1};
    return bytes;
}

void sd_bytes_hold(sd_bytes_t *bytes)
{
    bytes->references++;
}

sd_bytes_t *sd_bytes_view(sd_bytes_t *whole)
{
    sd_bytes_t *view = malloc(sizeof(*view));
    if (view == NULL)
        sd_die("the host is out of memory");
    sd_bytes_hold(whole);
    *view = (sd_bytes_t){.id = whole->id,
                         .size = whole->size,
                         .device = -1,
                         .references = 1,
                         .file = -1,
                         .whole = whole};
    return view;
}

static void close_file(const sd_bytes_t *bytes)
{
    if (bytes->file < 0)
        return;
    if (bytes->owns_file)
        close(bytes->file);
    else
        fallocate(bytes->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)bytes->file_offset, (off_t)bytes->size);
}

void sd_bytes_release(sd_bytes_t *bytes)
{
    if (--bytes->references != 0)
        return;
    if (bytes->data != NULL)
        munmap(bytes->data, bytes->size);
    close_file(bytes);
    if (bytes->device >= 0)
        sd_device_give_back(bytes->device, bytes->size);
    if (bytes->whole != NULL)
        sd_bytes_release(bytes->whole);
    sd_marks_free(&bytes->marks);
    free(bytes);
}

void sd_bytes_use(sd_bytes_t *bytes)
{
    bytes->uses++;
    bytes->references++;
}

void sd_bytes_unuse(sd_bytes_t *bytes)
{
    bytes->uses--;
    sd_bytes_release(bytes);
}

bool sd_bytes_freed(sd_bytes_t *bytes, uint64_t offset, uint64_t size, standin_kind_t kind,
                    uint64_t address)
{
    sd_toucher_t toucher;
    if (bytes->uses != 0) {
        sd_report(kind,
                  "%llu bytes at %#llx are freed while %u units of queued work "
                  "use them",
                  (unsigned long long)size, (unsigned long long)address, bytes->uses);
        return true;
    }
    if (!sd_marks_unseen(&bytes->marks, offset, offset + size, &toucher))
        return false;
    sd_report(kind,
              "%llu bytes at %#llx are freed and nobody waited for %s on stream "
              "%llu, which uses them",
              (unsigned long long)size, (unsigned long long)address, toucher.call,
              (unsigned long long)sd_line_of(toucher.tick.line)->stream_id);
    return true;
}

/* ---- Addresses --------------------------------------------------------- */

void *sd_addresses_new(uint64_t size, uint64_t alignment, void *wanted)
{
    uint64_t room = size + alignment;
    unsigned char *base =
        mmap(wanted, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED || room < size)
        return NULL;
    uint64_t skip = -(uint64_t)(uintptr_t)base & (alignment - 1);
    if (skip != 0)
        munmap(base, skip);
    if (room - skip > size)
        munmap(base + skip + size, room - skip - size);
    return base + skip;
}

void sd_addresses_free(void *address, uint64_t size)
{
    munmap(address, size);
}

/* ---- Areas ------------------------------------------------------------- */

/* The index of the first area that ends above the address. */
static size_t first_above(uint64_t address)
{
    size_t low = 0;
    size_t high = space.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const sd_area_t *area = space.list[middle];
        if (area->address + area->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sd_area_t *sd_area_add(const sd_area_t *area)
{
    size_t index = first_above(area->address);
    if (space.count == space.room) {
        size_t room = space.room * 2 + 64;
        sd_area_t **list = realloc(space.list, room * sizeof(*list));
        if (list == NULL)
            sd_die("the host is out of memory");
        space.list = list;
        space.room = room;
    }
    sd_area_t *added = malloc(sizeof(*added));
    if (added == NULL)
        sd_die("the host is out of memory");
    *added = *area;
    memmove(&space.list[index + 1], &space.list[index],
            (space.count - index) * sizeof(*space.list));
    space.list[index] = added;
    space.count++;
    sd_bytes_hold(added->bytes);
    return added;
}

void sd_area_remove(sd_area_t *area)
{
    size_t index = first_above(area->address);
    memmove(&space.list[index], &space.list[index + 1],
            (space.count - index - 1) * sizeof(*space.list));
    space.count--;
    size_t slot = space.freed_count++ % FREED_MAX;
    space.freed[slot].begin = area->address;
    space.freed[slot].end = area->address + area->size;
    sd_bytes_release(area->bytes);
    free(area);
}

sd_area_t *sd_area_from(uint64_t address)
{
    size_t index = first_above(address);
    return index < space.count ? space.list[index] : NULL;
}

sd_area_t *sd_area_at(uint64_t address)
{
    sd_area_t *area = sd_area_from(address);
    return area != NULL && area->address <= address ? area : NULL;
}

bool sd_area_was(uint64_t address)
{
    for (size_t i = 0; i < FREED_MAX && i < space.freed_count; i++) {
        if (space.freed[i].begin <= address && address < space.freed[i].end)
            return true;
    }
    return false;
}

bool sd_host_has(uint64_t address)
{
    unsigned char resident;
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    return mincore((void *)page, 1, &resident) == 0;
}

size_t sd_areas_alive(sd_area_kind_t kind)
{
    size_t count = 0;
    for (size_t i = 0; i < space.count; i++)
        count += space.list[i]->kind == kind && space.list[i]->granted;
    return count;
}

void sd_areas_each(void (*each)(sd_area_t *area, void *user), void *user)
{
    for (size_t i = space.count; i-- != 0;)
        each(space.list[i], user);
}

/* ---- Who may touch what ------------------------------------------------ */

typedef struct ask {
    const struct sd_context *context;
    const sd_work_t *work; /* NULL: a call asks, before there is work */
    uint64_t address;
    uint64_t bytes;
    bool writes;
    bool any_device; /* a copy between devices needs no peers */
} ask_t;

static bool refuse(const ask_t *ask, standin_kind_t kind, const char *why)
{
    char text[128] = "the call";
    if (ask->work != NULL)
        sd_work_text(ask->work, text, sizeof(text));
    sd_report(kind, "%s %s %llu bytes at %#llx: %s", text, ask->writes ? "writes" : "reads",
              (unsigned long long)ask->bytes, (unsigned long long)ask->address, why);
    return false;
}

static bool refuse_nothing(const ask_t *ask, uint64_t at)
{
    if (at != ask->address)
        return refuse(ask, STANDIN_OUT_OF_BOUNDS, "the range leaves its allocation");
    if (sd_area_was(at))
        return refuse(ask, STANDIN_FREED, "this memory was freed or unmapped");
    return refuse(ask, STANDIN_FOREIGN, "this is no memory of the driver");
}

static bool may_touch(const ask_t *ask, const sd_area_t *area)
{
    unsigned masks = ask->writes ? area->writers : area->readers;
    unsigned device = 1u << ask->context->device;
    bool mapped = area->kind == SD_AREA_MAPPED;
    if (ask->work != NULL ? !area->live : !area->granted)
        return refuse(ask, STANDIN_FREED, "this memory was freed");
    if (area->device >= 0 && area->device != ask->context->device && !mapped && !ask->any_device &&
        (masks & device) == 0 && !sd_context_reaches(ask->context, area->device))
        return refuse(ask, STANDIN_NO_PEER, "it is memory of a device that is no peer");
    if (mapped && (masks & device) == 0 && (!ask->any_device || masks == 0))
        return refuse(ask, STANDIN_NO_ACCESS, "it is mapped and was not made accessible so");
    return true;
}

/* The area at `at`, if the range may go on there from `before`. */
static sd_area_t *next_area(const ask_t *ask, const sd_area_t *before, uint64_t at)
{
    sd_area_t *area = sd_area_at(at);
    if (area == NULL || (before != NULL && (before->group == 0 || before->group != area->group))) {
        refuse_nothing(ask, at);
        return NULL;
    }
    return may_touch(ask, area) ? area : NULL;
}

/* Walks the areas of the range; the first, or NULL and a report. */
static sd_area_t *walk(const ask_t *ask)
{
    sd_area_t *first = NULL;
    sd_area_t *area = NULL;
    for (uint64_t at = ask->address; at < ask->address + ask->bytes;
         at = area->address + area->size) {
        area = next_area(ask, area, at);
        if (area == NULL)
            return NULL;
        if (first == NULL)
            first = area;
    }
    return first;
}

bool sd_range_known(const struct sd_context *context, uint64_t address, uint64_t bytes, bool writes,
                    bool any_device)
{
    ask_t ask = {context, NULL, address, bytes, writes, any_device};
    sd_told_call(address, bytes);
    return walk(&ask) != NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Notes the access to a part of an area. */
static void touch(const sd_area_t *area, const sd_work_t *work, uint64_t begin, uint64_t end,
                  bool writes)
{
    uint64_t zero = area->address - area->offset;
    sd_bytes_t *bytes = area->bytes;
    sd_bytes_t *whole = sd_bytes_whole(bytes);
    sd_marks_touch(&whole->marks, work, begin - zero, end - zero, writes, zero);
    if (whole != bytes)
        sd_marks_note(&bytes->marks, work, begin - zero, end - zero, writes);
}

/* Notes the access in each area of a range that is all right. */
static void note(const ask_t *ask)
{
    uint64_t end = ask->address + ask->bytes;
    for (uint64_t at = ask->address; at < end;) {
        sd_area_t *area = sd_area_at(at);
        uint64_t next = least(area->address + area->size, end);
        touch(area, ask->work, at, next, ask->writes);
        at = next;
    }
}

unsigned char *sd_reach(sd_work_t *work, uint64_t address, uint64_t bytes, bool writes,
                        bool any_device)
{
    ask_t ask = {work->context, work, address, bytes, writes, any_device};
    sd_area_t *area = walk(&ask);
    if (area == NULL)
        return NULL;
    note(&ask);
    return area->alias + (address - area->address);
}

void sd_range_use(sd_work_t *work, uint64_t address, uint64_t bytes)
{
    for (sd_area_t *area = sd_area_from(address); area != NULL && area->address < address + bytes;
         area = sd_area_from(area->address + area->size))
        sd_work_uses(work, area->bytes);
}

/* ---- Control ----------------------------------------------------------- */

void standin_host_access(const void *address, size_t bytes, int writes)
{
    uint64_t begin = (uint64_t)(uintptr_t)address;
    sd_lock();
    sd_area_t *area = sd_area_at(begin);
    if (area == NULL || begin + bytes > area->address + area->size) {
        sd_report(STANDIN_FOREIGN,
                  "the host says that it touches %zu bytes at %#llx, which is "
                  "no memory of the driver",
                  bytes, (unsigned long long)begin);
    } else {
        touch(area, NULL, begin, begin + bytes, writes != 0);
    }
    sd_unlock();
}
