#include "heap_map.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 256u

/* One entry of a picture. */
typedef struct item {
    char kind; /* a tag letter; '-' range; '~' gap; '|' end of a segment */
    unsigned freelist;
    unsigned pins;
    uint64_t granules;
    uint64_t alignment; /* granules, 0: none asked for */
} item_t;

/* ---- Reading a picture -------------------------------------------------- */

static const char *read_number(const char *text, uint64_t *number_out)
{
    char *end;
    *number_out = strtoull(text, &end, 10);
    ck_assert_msg(end != text, "not a picture: %s", text);
    return end;
}

static const char *read_marks(const char *text, item_t *item)
{
    for (; *text == '!'; text++)
        item->pins++;
    return *text == '@' ? read_number(text + 1, &item->alignment) : text;
}

static const char *read_item(const char *text, item_t *item)
{
    *item = (item_t){.kind = *text++};
    if (item->kind == '|')
        return text;
    if (item->kind >= '0' && item->kind <= '9') {
        item->freelist = (unsigned)(item->kind - '0');
        item->kind = '-';
        ck_assert_int_eq(*text, ':');
        text++;
    }
    return read_marks(read_number(text, &item->granules), item);
}

static size_t read_picture(const char *text, item_t items[ITEMS])
{
    size_t count = 0;
    while (*text != '\0') {
        ck_assert_uint_lt(count, ITEMS);
        text = read_item(text, &items[count++]);
        text += strspn(text, " ");
    }
    return count;
}

/* ---- Building ----------------------------------------------------------- */

typedef struct builder {
    map_t *map;
    uint64_t segment; /* its first byte */
    uint64_t cursor;  /* behind what was built */
    int extends;      /* the segment has something already */
} builder_t;

static void build_bytes(builder_t *b, uint64_t bytes)
{
    cuarena_heap_t *heap = b->map->heap;
    if (b->extends) {
        expect_ok(cuarena_heap_segment_extend(heap, b->segment, bytes));
        return;
    }
    expect_ok(cuarena_heap_segment_add(heap, b->cursor, bytes));
    b->segment = b->cursor;
    b->extends = 1;
}

/* A range is built as a block too, and freed when all stand. */
static cuarena_block_t build_block(builder_t *b, const item_t *item)
{
    const map_t *map = b->map;
    cuarena_block_t block = 0;
    uint64_t offset = 0;
    cuarena_heap_request_t request = {
        .size = item->granules * map->granule,
        .alignment = item->alignment * map->granule,
        .tag = (uint16_t)item->kind,
        .pins = (uint16_t)item->pins,
    };
    build_bytes(b, request.size);
    expect_ok(cuarena_heap_alloc(map->heap, &request, &block, &offset));
    expect_u64(offset, b->cursor);
    b->cursor += request.size;
    return block;
}

static cuarena_block_t build_item(builder_t *b, const item_t *item)
{
    cuarena_block_t block = 0;
    if (item->kind == '|' || item->kind == '~') {
        b->extends = 0;
        b->cursor += item->granules * b->map->granule;
        return 0;
    }
    block = build_block(b, item);
    if (item->kind != '-')
        b->map->ids[(int)item->kind] = block;
    return block;
}

void map_add(map_t *map, uint64_t granules, const char *picture)
{
    item_t items[ITEMS];
    cuarena_block_t blocks[ITEMS];
    builder_t builder = {.map = map, .cursor = map_at(map, granules)};
    size_t count = read_picture(picture, items);
    for (size_t i = 0; i < count; i++)
        blocks[i] = build_item(&builder, &items[i]);
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == '-') {
            uint32_t freelist = map_freelist(map, items[i].freelist);
            expect_ok(cuarena_heap_free(map->heap, blocks[i], freelist));
        }
    }
    expect_valid(map->heap);
}

void map_open_with(map_t *map, const cuarena_heap_config_t *config, const char *picture)
{
    *map = (map_t){.granule = config->granule};
    expect_ok(cuarena_heap_create(config, &map->heap));
    map_add(map, 0, picture);
}

cuarena_heap_config_t map_config(void)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.granule = MAP_GRANULE;
    config.max_blocks = 4096;
    config.placement = CUARENA_PLACEMENT_BEST;
    return config;
}

void map_open(map_t *map, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    map_open_with(map, &config, picture);
}

void map_close(map_t *map)
{
    if (map->heap == NULL)
        return;
    expect_valid(map->heap);
    cuarena_heap_destroy(&map->heap);
    ck_assert_ptr_null(map->heap);
}

/* ---- Drawing ------------------------------------------------------------ */

static void draw(map_t *map, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void draw(map_t *map, const char *format, ...)
{
    size_t length = strlen(map->text);
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(map->text + length, MAP_TEXT - length, format, arguments);
    va_end(arguments);
    ck_assert_int_ge(added, 0);
    ck_assert_uint_lt(length + (size_t)added, MAP_TEXT);
}

/* As the map knows it; MAP_FREELISTS for a free list that it did not make. */
static unsigned digit_of(const map_t *map, uint32_t freelist)
{
    unsigned digit = 0;
    while (digit <= map->freelist_count && map->freelists[digit] != freelist)
        digit++;
    return digit <= map->freelist_count ? digit : MAP_FREELISTS;
}

static void draw_range(map_t *map, const cuarena_heap_entry_t *entry)
{
    unsigned digit = digit_of(map, entry->freelist);
    if (entry->freelist == 0 || entry->moving)
        draw(map, "-");
    else if (digit != MAP_FREELISTS)
        draw(map, "%u:", digit);
    else
        draw(map, "free list %" PRIu32 ":", entry->freelist);
    draw(map, "%" PRIu64 "%s", entry->size / map->granule, entry->moving ? "^" : "");
}

static void draw_block(map_t *map, const cuarena_heap_entry_t *entry)
{
    char tag = entry->tag >= 'a' && entry->tag <= 'z' ? (char)entry->tag : '?';
    draw(map, "%c%" PRIu64, tag, entry->size / map->granule);
    for (unsigned i = 0; i < entry->pins; i++)
        draw(map, "!");
    if (entry->alignment > map->granule)
        draw(map, "@%" PRIu64, entry->alignment / map->granule);
    if (entry->moving)
        draw(map, "^");
}

static void draw_entry(map_t *map, const cuarena_heap_entry_t *entry)
{
    draw(map, "%s", map->text[0] != '\0' ? " " : "");
    if (entry->kind == CUARENA_ENTRY_BLOCK) {
        draw_block(map, entry);
    } else if (entry->kind == CUARENA_ENTRY_RANGE) {
        draw_range(map, entry);
    } else {
        ck_assert_int_eq(entry->kind, CUARENA_ENTRY_GAP);
        draw(map, "~%" PRIu64, entry->size / map->granule);
    }
}

const char *map_text(map_t *map)
{
    cuarena_heap_entry_t entries[3];
    uint64_t cursor = 0;
    size_t count;
    expect_valid(map->heap);
    map->text[0] = '\0';
    do {
        expect_ok(cuarena_heap_walk(map->heap, &cursor, entries, 3, &count));
        for (size_t i = 0; i < count; i++)
            draw_entry(map, &entries[i]);
    } while (count == 3);
    return map->text;
}

/* ---- Calls -------------------------------------------------------------- */

uint64_t map_at(const map_t *map, uint64_t granules)
{
    return MAP_BASE + granules * map->granule;
}

uint64_t map_bytes(const map_t *map, uint64_t granules)
{
    return granules * map->granule;
}

cuarena_block_t map_id(const map_t *map, char tag)
{
    return map->ids[(int)tag];
}

uint64_t map_offset(const map_t *map, char tag)
{
    cuarena_heap_entry_t entry;
    expect_ok(cuarena_heap_block_info(map->heap, map_id(map, tag), &entry));
    return entry.offset;
}

uint32_t map_freelist(map_t *map, unsigned digit)
{
    ck_assert_uint_lt(digit, MAP_FREELISTS);
    while (map->freelist_count < digit) {
        uint32_t *freelist_out = &map->freelists[++map->freelist_count];
        expect_ok(cuarena_heap_freelist_create(map->heap, freelist_out));
    }
    return map->freelists[digit];
}

/* The status, once the heap was found valid. */
static cuarena_status_t checked(const map_t *map, cuarena_status_t status)
{
    expect_valid(map->heap);
    return status;
}

static cuarena_status_t alloc_request(map_t *map, const cuarena_heap_request_t *request)
{
    cuarena_block_t block = 0;
    uint64_t offset = 0;
    cuarena_status_t status = cuarena_heap_alloc(map->heap, request, &block, &offset);
    if (status == CUARENA_OK) {
        map->ids[request->tag] = block;
        expect_u64(offset, map_offset(map, (char)request->tag));
    } else {
        expect_u64(block, 0);
        expect_u64(offset, 0);
    }
    return checked(map, status);
}

cuarena_status_t map_alloc(map_t *map, char tag, uint64_t granules)
{
    return map_alloc_in(map, tag, granules, 0);
}

cuarena_status_t map_alloc_in(map_t *map, char tag, uint64_t granules, unsigned freelist)
{
    cuarena_heap_request_t request = {
        .size = map_bytes(map, granules),
        .freelist = map_freelist(map, freelist),
        .tag = (uint16_t)tag,
    };
    return alloc_request(map, &request);
}

cuarena_status_t map_alloc_aligned(map_t *map, char tag, uint64_t granules,
                                   uint64_t alignment_granules)
{
    cuarena_heap_request_t request = {
        .size = map_bytes(map, granules),
        .alignment = map_bytes(map, alignment_granules),
        .tag = (uint16_t)tag,
    };
    return alloc_request(map, &request);
}

cuarena_status_t map_free(map_t *map, char tag)
{
    return map_free_to(map, tag, 0);
}

cuarena_status_t map_free_to(map_t *map, char tag, unsigned freelist)
{
    uint32_t into = map_freelist(map, freelist);
    return checked(map, cuarena_heap_free(map->heap, map_id(map, tag), into));
}

cuarena_status_t map_resize(map_t *map, char tag, uint64_t granules)
{
    return map_resize_in(map, tag, granules, 0);
}

cuarena_status_t map_resize_in(map_t *map, char tag, uint64_t granules, unsigned freelist)
{
    uint64_t size = map_bytes(map, granules);
    uint32_t from = map_freelist(map, freelist);
    return checked(map, cuarena_heap_resize(map->heap, map_id(map, tag), size, from));
}

cuarena_status_t map_exchange(map_t *map, char a, char b)
{
    return checked(map, cuarena_heap_exchange(map->heap, map_id(map, a), map_id(map, b)));
}

cuarena_status_t map_pin(map_t *map, char tag)
{
    return checked(map, cuarena_heap_pin(map->heap, map_id(map, tag)));
}

cuarena_status_t map_unpin(map_t *map, char tag)
{
    return checked(map, cuarena_heap_unpin(map->heap, map_id(map, tag)));
}

cuarena_status_t map_segment(map_t *map, uint64_t at, uint64_t granules)
{
    return checked(map,
                   cuarena_heap_segment_add(map->heap, map_at(map, at), map_bytes(map, granules)));
}

cuarena_status_t map_extend(map_t *map, uint64_t at, uint64_t granules)
{
    return checked(
        map, cuarena_heap_segment_extend(map->heap, map_at(map, at), map_bytes(map, granules)));
}

cuarena_status_t map_cut(map_t *map, uint64_t at, uint64_t granules)
{
    return checked(map,
                   cuarena_heap_segment_cut(map->heap, map_at(map, at), map_bytes(map, granules)));
}

cuarena_status_t map_join(map_t *map, uint64_t at)
{
    return checked(map, cuarena_heap_segment_join(map->heap, map_at(map, at)));
}
