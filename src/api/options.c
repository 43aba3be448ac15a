#include "api/options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

/* ---- The table --------------------------------------------------------- */

#define MEMBER(name)                                                           \
    .offset = offsetof(cuarena_config_t, name),                                \
    .size = sizeof(((cuarena_config_t *)0)->name)

#define MOST_BYTES (CUARENA_HEAP_MAX_SEGMENT - 1)
#define AMOUNT_RANGE "bytes below 256TiB, 0.001% to 100%, auto, auto-BYTES"

/* The range of ONNX Runtime's ints. */
#define ORT_INT "1 to 2147483647", 1, INT32_MAX

#define PROPERTY                                                               \
    .fallback = "off", .accepted = "off, try, require",                        \
    .first = CUARENA_PROPERTY_OFF

static const cuai_option_t options[] = {
    {
        .key = "preset",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(preset),
        .fallback = "pool",
        .accepted = "pool, grow, bfc",
        .first = CUARENA_PRESET_POOL,
        .help = "A pool of a fixed size, one that takes what requests need, or "
                "one that grows as ONNX Runtime's.",
    },
    {
        .key = "memory",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(memory),
        .fallback = "pageable",
        .accepted = "pageable, none, device, managed, pinned",
        .first = CUARENA_MEMORY_PAGEABLE,
        .wordless = 2,
        .help = "Where bytes come from; none: addresses without bytes.",
    },
    {
        .key = "pool",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(pool),
        .fallback = "auto-512MiB",
        .accepted = AMOUNT_RANGE,
        .least = 1,
        .most = MOST_BYTES,
        .help = "The size of a pool, its stable region included.",
    },
    {
        .key = "stable",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(stable),
        .fallback = "0",
        .accepted = "bytes below 256TiB, 0% to 100%, auto, auto-BYTES",
        .most = MOST_BYTES,
        .help = "How much of a pool is the stable region, which never moves.",
    },
    {
        .key = "limit",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(limit),
        .fallback = "auto",
        .accepted = "bytes from 1 on, 0.001% to 100%, auto, auto-BYTES",
        .least = 1,
        .most = UINT64_MAX,
        .help = "The most bytes to hold from the memory.",
        .ort = {"max_mem", "a whole number from 0 on; 0: no limit", 0,
                UINT64_MAX, NULL},
    },
    {
        .key = "reserve",
        .type = CUAI_OPTION_BYTES,
        MEMBER(reserve_bytes),
        .fallback = "0",
        .accepted = "0 to below 256TiB",
        .most = MOST_BYTES,
        .help = "Addresses set aside for growing in place; 0: as the limit "
                "says.",
    },
    {
        .key = "alignment",
        .type = CUAI_OPTION_BYTES,
        MEMBER(alignment),
        .fallback = "256",
        .accepted = "a power of two from 8 to 1GiB",
        .least = 8,
        .most = CUAI_GIB,
        .power_of_two = true,
        .help = "The granule: what addresses and sizes are multiples of.",
    },
    {
        .key = "split_threshold",
        .type = CUAI_OPTION_BYTES,
        MEMBER(split_threshold),
        .fallback = "preset",
        .accepted = "bytes, preset, never",
        .most = UINT64_MAX,
        .unlimited = "never",
        .from_preset = "preset",
        .help = "The least rest of a free range that is split off a block.",
        .ort = {"max_dead_bytes_per_chunk", ORT_INT, NULL},
    },
    {
        .key = "max_blocks",
        .type = CUAI_OPTION_COUNT,
        MEMBER(max_blocks),
        .fallback = "67108864",
        .accepted = "1 to 67108864",
        .least = 1,
        .most = CUARENA_HEAP_MAX_BLOCKS,
        .help = "The most blocks that live at once.",
    },
    {
        .key = "grow",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(grow),
        .fallback = "preset",
        .accepted = "preset, none, exact, doubling",
        .first = -1,
        .help = "By how much to grow: as the preset says, never, by what a "
                "request lacks, or by chunks that double.",
        .ort = {"extend_strategy, arena_extend_strategy", "0, 1", 0, 1,
                "doubling, exact"},
    },
    {
        .key = "zero",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(zero),
        .fallback = "never",
        .accepted = "never, create, alloc, free",
        .first = CUARENA_ZERO_NEVER,
        .help = "When bytes are set to 0.",
    },
    {
        .key = "placement",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(placement),
        .fallback = "default",
        .accepted = "default, best, low",
        .first = CUARENA_PLACEMENT_DEFAULT,
        .help = "How a free range is chosen for a request.",
    },
    {
        .key = "compact_on_oom",
        .type = CUAI_OPTION_FLAG,
        MEMBER(compact_on_oom),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether running out compacts before it fails.",
    },
    {
        .key = "device",
        .type = CUAI_OPTION_COUNT,
        MEMBER(device),
        .fallback = "0",
        .accepted = "0 to 1023",
        .most = 1023,
        .help = "The device's number; see CUDA_VISIBLE_DEVICES.",
    },
    {
        .key = "backing",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(backing),
        .fallback = "auto",
        .accepted = "auto, vmm, malloc, async",
        .first = CUARENA_BACKING_AUTO,
        .help = "How memory=device gets its bytes; auto: vmm where there is "
                "such, else malloc.",
    },
    {
        .key = "fd",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(fd),
        PROPERTY,
        .help = "Whether blocks can be exported to other processes.",
    },
    {
        .key = "rdma",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(rdma),
        PROPERTY,
        .help = "Whether network cards can reach the bytes.",
    },
    {
        .key = "fabric",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(fabric),
        PROPERTY,
        .help = "Whether handles can be exported to other hosts.",
    },
    {
        .key = "peers",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(peers),
        PROPERTY,
        .help = "Whether the other devices can reach the bytes.",
    },
    {
        .key = "handle",
        .type = CUAI_OPTION_BYTES,
        MEMBER(handle_bytes),
        .fallback = "0",
        .accepted = "0, or a power of two to 64GiB",
        .most = 64 * CUAI_GIB,
        .power_of_two = true,
        .or_zero = true,
        .help = "What backing=vmm takes and gives back at a time; 0: by the "
                "arena's size. memory=none does the same.",
    },
    {
        .key = "mapped",
        .type = CUAI_OPTION_FLAG,
        MEMBER(mapped),
        .fallback = "1",
        .accepted = "0, 1",
        .help = "Whether devices can reach pinned memory.",
    },
    {
        .key = "write_combined",
        .type = CUAI_OPTION_FLAG,
        MEMBER(write_combined),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether pinned memory is fast to write and slow to read.",
    },
    {
        .key = "portable",
        .type = CUAI_OPTION_FLAG,
        MEMBER(portable),
        .fallback = "1",
        .accepted = "0, 1",
        .help = "Whether pinned memory is so for every context.",
    },
    {
        .key = "device_only",
        .type = CUAI_OPTION_FLAG,
        MEMBER(device_only),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether the CPU leaves alone what streams use, though it "
                "could reach it.",
    },
    {
        .key = "marker",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(marker),
        .fallback = "late",
        .accepted = "late, eager",
        .first = CUARENA_MARKER_LATE,
        .help = "When a stream's progress is recorded: when it is needed, or "
                "at every free.",
    },
    {
        .key = "steal",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(steal),
        .fallback = "wait",
        .accepted = "wait, settled, never",
        .first = CUARENA_STEAL_WAIT,
        .help = "What streams take of each other's freed bytes: all, waiting "
                "for each other; those that are idle; or none.",
    },
    {
        .key = "name",
        .type = CUAI_OPTION_TEXT,
        MEMBER(name),
        .fallback = "",
        .accepted = "up to 31 bytes",
        .help = "What logs and messages call the arena.",
    },
    {
        .key = "initial_chunk",
        .type = CUAI_OPTION_BYTES,
        MEMBER(initial_chunk),
        .fallback = "1MiB",
        .accepted = "1 to below 256TiB",
        .least = 1,
        .most = MOST_BYTES,
        .help = "The first chunk of grow=doubling, and of take_first.",
        .ort = {"initial_chunk_size_bytes", ORT_INT, NULL},
    },
    {
        .key = "growth_after_trim",
        .type = CUAI_OPTION_BYTES,
        MEMBER(growth_after_trim),
        .fallback = "2MiB",
        .accepted = "1 to below 256TiB",
        .least = 1,
        .most = MOST_BYTES,
        .help = "The next chunk of grow=doubling after a trim.",
        .ort = {"initial_growth_chunk_size_bytes", ORT_INT, NULL},
    },
    {
        .key = "max_doubling",
        .type = CUAI_OPTION_BYTES,
        MEMBER(max_doubling),
        .fallback = "1GiB",
        .accepted = "bytes from 1 on, never",
        .least = 1,
        .most = UINT64_MAX,
        .unlimited = "never",
        .help = "What chunks of grow=doubling double to at most; never: no "
                "such end.",
        .ort = {"max_power_of_two_extend_bytes", "1 to 9223372036854775807", 1,
                INT64_MAX, NULL},
    },
    {
        .key = "take_first",
        .type = CUAI_OPTION_FLAG,
        MEMBER(take_first),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether an arena that grows takes initial_chunk bytes when it "
                "is made.",
    },
    {
        .key = "unknown_keys",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(unknown_keys),
        .fallback = "error",
        .accepted = "error, warn",
        .first = CUARENA_UNKNOWN_ERROR,
        .help = "What a key that is none of these comes to, from then on.",
    },
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

/* Words have consecutive values in the order of the table. */
static_assert(CUARENA_PRESET_GROW == CUARENA_PRESET_POOL + 1, "preset");
static_assert(CUARENA_PRESET_BFC == CUARENA_PRESET_POOL + 2, "preset");
static_assert(CUARENA_MEMORY_NONE == CUARENA_MEMORY_PAGEABLE + 1, "memory");
static_assert(CUARENA_MEMORY_DEVICE == CUARENA_MEMORY_PAGEABLE + 2, "memory");
static_assert(CUARENA_MEMORY_MANAGED == CUARENA_MEMORY_PAGEABLE + 3, "memory");
static_assert(CUARENA_MEMORY_PINNED == CUARENA_MEMORY_PAGEABLE + 4, "memory");
static_assert(CUARENA_MEMORY_BYTES == CUARENA_MEMORY_PAGEABLE + 5, "memory");
static_assert(CUARENA_MEMORY_CUSTOM == CUARENA_MEMORY_PAGEABLE + 6, "memory");
static_assert(CUARENA_GROW_NONE == 0 && CUARENA_GROW_EXACT == 1, "grow");
static_assert(CUARENA_GROW_DOUBLING == 2, "grow");
static_assert(CUARENA_UNKNOWN_WARN == CUARENA_UNKNOWN_ERROR + 1, "unknown");
static_assert(CUARENA_ZERO_CREATE == CUARENA_ZERO_NEVER + 1, "zero");
static_assert(CUARENA_ZERO_ALLOC == CUARENA_ZERO_NEVER + 2, "zero");
static_assert(CUARENA_ZERO_FREE == CUARENA_ZERO_NEVER + 3, "zero");
static_assert(CUARENA_PLACEMENT_BEST == CUARENA_PLACEMENT_DEFAULT + 1, "fit");
static_assert(CUARENA_PLACEMENT_LOW == CUARENA_PLACEMENT_DEFAULT + 2, "fit");
static_assert(CUARENA_BACKING_VMM == CUARENA_BACKING_AUTO + 1, "backing");
static_assert(CUARENA_BACKING_MALLOC == CUARENA_BACKING_AUTO + 2, "backing");
static_assert(CUARENA_BACKING_ASYNC == CUARENA_BACKING_AUTO + 3, "backing");
static_assert(CUARENA_PROPERTY_TRY == CUARENA_PROPERTY_OFF + 1, "property");
static_assert(CUARENA_PROPERTY_REQUIRE == CUARENA_PROPERTY_OFF + 2, "property");
static_assert(CUARENA_MARKER_EAGER == CUARENA_MARKER_LATE + 1, "marker");
static_assert(CUARENA_STEAL_SETTLED == CUARENA_STEAL_WAIT + 1, "steal");
static_assert(CUARENA_STEAL_NEVER == CUARENA_STEAL_WAIT + 2, "steal");
static_assert(CUARENA_HEAP_MAX_BLOCKS == 67108864, "the text of max_blocks");
static_assert(CUARENA_HEAP_MAX_SEGMENT == 256 * CUAI_TIB, "the text of pool");
static_assert(sizeof((cuarena_config_t *)0)->name == 32, "the text of name");

const cuai_option_t *cuai_option_at(size_t index)
{
    return index < OPTION_COUNT ? &options[index] : NULL;
}

const cuai_option_t *cuai_option_find(const char *key)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

const char *cuai_option_type_name(cuai_option_type_t type)
{
    static const char *const names[] = {
        [CUAI_OPTION_AMOUNT] = "amount", [CUAI_OPTION_BYTES] = "bytes",
        [CUAI_OPTION_COUNT] = "count",   [CUAI_OPTION_CHOICE] = "choice",
        [CUAI_OPTION_FLAG] = "flag",     [CUAI_OPTION_TEXT] = "text",
    };
    return names[type];
}

/* ---- Members ----------------------------------------------------------- */

static const void *member(const cuai_option_t *option,
                          const cuarena_config_t *config)
{
    return (const char *)config + option->offset;
}

static void store(const cuai_option_t *option, cuarena_config_t *config,
                  const void *value)
{
    memcpy((char *)config + option->offset, value, option->size);
}

static cuarena_amount_t amount_in(const cuai_option_t *option,
                                  const cuarena_config_t *config)
{
    cuarena_amount_t amount;
    memcpy(&amount, member(option, config), sizeof amount);
    return amount;
}

static int32_t choice_in(const cuai_option_t *option,
                         const cuarena_config_t *config)
{
    int32_t choice;
    memcpy(&choice, member(option, config), sizeof choice);
    return choice;
}

/* Counts may have 32 bits; a negative one is out of every range. */
static uint64_t number_in(const cuai_option_t *option,
                          const cuarena_config_t *config)
{
    uint64_t number;
    if (option->size == sizeof(int32_t))
        return (uint64_t)choice_in(option, config);
    memcpy(&number, member(option, config), sizeof number);
    return number;
}

static void store_number(const cuai_option_t *option, cuarena_config_t *config,
                         uint64_t value)
{
    int32_t narrow = (int32_t)value; /* it is in range */
    bool wide = option->size == sizeof value;
    store(option, config, wide ? (const void *)&value : &narrow);
}

/* ---- Words ------------------------------------------------------------- */

size_t cuai_next_word(const char **list, const char **word)
{
    *word = *list;
    size_t length = strcspn(*list, ",");
    *list += length;
    *list += strspn(*list, ", ");
    return length;
}

static int32_t count_words(const char *list)
{
    const char *word;
    int32_t count = 0;
    while (cuai_next_word(&list, &word) != 0)
        count++;
    return count;
}

/* ---- Ranges ------------------------------------------------------------ */

static const char out_of_range[] = "is out of range";

static cuai_refusal_t check_number(const cuai_option_t *option, uint64_t value)
{
    if (value < option->least || value > option->most)
        return out_of_range;
    if (option->or_zero && value == 0)
        return NULL;
    if (option->power_of_two && !cuai_is_power_of_two(value))
        return "is no power of two";
    return NULL;
}

static cuai_refusal_t check_amount(const cuai_option_t *option,
                                   cuarena_amount_t amount)
{
    if (amount.zero != 0)
        return "has a member `zero` that is not 0";
    if (amount.unit == CUARENA_AMOUNT_AUTO)
        return NULL;
    if (amount.unit == CUARENA_AMOUNT_BYTES)
        return check_number(option, amount.value);
    if (amount.unit != CUARENA_AMOUNT_PERCENT)
        return "has an unknown unit";
    bool none = option->least != 0 && amount.value == 0;
    return none || amount.value > 100000 ? out_of_range : NULL;
}

static cuai_refusal_t check_choice(const cuai_option_t *option, int32_t value)
{
    int32_t count = count_words(option->accepted) + option->wordless;
    int64_t place = (int64_t)value - option->first;
    return place >= 0 && place < count ? NULL : out_of_range;
}

cuai_refusal_t cuai_option_check(const cuai_option_t *option,
                                 const cuarena_config_t *config)
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        return check_amount(option, amount_in(option, config));
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        return check_number(option, number_in(option, config));
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return check_choice(option, choice_in(option, config));
    case CUAI_OPTION_TEXT:
        break;
    }
    bool ends = memchr(member(option, config), '\0', option->size) != NULL;
    return ends ? NULL : "has no zero at its end";
}

/* ---- Reading ----------------------------------------------------------- */

static cuai_refusal_t read_amount(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    cuarena_amount_t amount;
    cuai_refusal_t refusal = cuai_amount_read(text, &amount);
    if (refusal == NULL)
        refusal = check_amount(option, amount);
    if (refusal == NULL)
        store(option, config, &amount);
    return refusal;
}

static bool is_word(const char *text, const char *word)
{
    return word != NULL && strcmp(text, word) == 0;
}

static cuai_refusal_t read_number(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    uint64_t value = UINT64_MAX;
    cuai_refusal_t refusal = NULL;
    if (is_word(text, option->from_preset))
        value = CUARENA_SPLIT_PRESET;
    else if (!is_word(text, option->unlimited))
        refusal = option->type == CUAI_OPTION_BYTES
                      ? cuai_bytes_read(text, &value)
                      : cuai_count_read(text, &value);
    if (refusal == NULL)
        refusal = check_number(option, value);
    if (refusal == NULL)
        store_number(option, config, value);
    return refusal;
}

static cuai_refusal_t read_choice(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    const char *list = option->accepted;
    const char *word;
    size_t length;
    int32_t value = option->first;
    for (; (length = cuai_next_word(&list, &word)) != 0; value++) {
        if (strlen(text) != length || memcmp(text, word, length) != 0)
            continue;
        store(option, config, &value);
        return NULL;
    }
    return "is none of the words";
}

static cuai_refusal_t read_text(const cuai_option_t *option, const char *text,
                                cuarena_config_t *config)
{
    if (strlen(text) >= option->size)
        return "is too long";
    memset((char *)config + option->offset, 0, option->size);
    memcpy((char *)config + option->offset, text, strlen(text));
    return NULL;
}

cuai_refusal_t cuai_option_read(const cuai_option_t *option, const char *value,
                                cuarena_config_t *config)
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        return read_amount(option, value, config);
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        return read_number(option, value, config);
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return read_choice(option, value, config);
    case CUAI_OPTION_TEXT:
        break;
    }
    return read_text(option, value, config);
}

/* ---- Printing ---------------------------------------------------------- */

static_assert(CUAI_NUMBER_TEXT <= CUAI_OPTION_TEXT_SIZE, "numbers fit");
static_assert(sizeof((cuarena_config_t *)0)->name <= CUAI_OPTION_TEXT_SIZE,
              "names fit");

static void print_number(const cuai_option_t *option, uint64_t value,
                         char text[CUAI_OPTION_TEXT_SIZE])
{
    if (option->unlimited != NULL && value == UINT64_MAX)
        strcpy(text, option->unlimited);
    else if (option->from_preset != NULL && value == CUARENA_SPLIT_PRESET)
        strcpy(text, option->from_preset);
    else if (option->type == CUAI_OPTION_BYTES)
        cuai_bytes_print(value, text);
    else if (option->size == sizeof(int32_t))
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRId64, (int64_t)value);
    else
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRIu64, value);
}

static bool print_choice(const cuai_option_t *option, int32_t value,
                         char text[CUAI_OPTION_TEXT_SIZE])
{
    const char *list = option->accepted;
    const char *word;
    size_t length;
    for (int32_t at = option->first;
         (length = cuai_next_word(&list, &word)) != 0; at++) {
        if (at != value)
            continue;
        memcpy(text, word, length);
        text[length] = '\0';
        return true;
    }
    (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRId32, value);
    return false;
}

bool cuai_option_print(const cuai_option_t *option,
                       const cuarena_config_t *config,
                       char text[CUAI_OPTION_TEXT_SIZE])
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        cuai_amount_print(amount_in(option, config), text);
        break;
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        print_number(option, number_in(option, config), text);
        break;
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return print_choice(option, choice_in(option, config), text);
    case CUAI_OPTION_TEXT:
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%.*s",
                       (int)option->size - 1,
                       (const char *)member(option, config));
        break;
    }
    return cuai_option_check(option, config) == NULL;
}
