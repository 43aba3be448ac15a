/*
 * Memory by the caller's own functions. The arena calls the functions of this file, which call the
 * caller's and check what they answer: an arena never works with an address, a length or a status
 * that the contract does not allow.
 */
#define _XOPEN_SOURCE 700 /* tsearch */
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/host.h"
#include "base/lock.h"
#include "base/sized.h"
#include "memory/kinds.h"

/* The size that cuarena_memory_ops_t had in the first release. */
#define OPS_FIRST sizeof(cuarena_memory_ops_t)

#define KNOWN_PROPERTIES                                                                           \
    (CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES | CUARENA_MEMORY_COMES_ZEROED)

/* The memory that a caller brought: `user` of this file's functions. */
typedef struct guest {
    cuarena_memory_ops_t ops;
    void *user;
    cuai_lock_t lock;
    void *given; /* tsearch's tree of the segments that the caller gave: given_t */
} guest_t;

/* ---- What was given ---------------------------------------------------- */

/* The addresses of a segment that was not given back yet. */
typedef struct given {
    uint64_t begin;
    uint64_t end;
} given_t;

/* Segments that overlap compare as equal, so that one is found by the other. */
static int compare(const void *a, const void *b)
{
    const given_t *one = a;
    const given_t *other = b;
    if (one->end <= other->begin)
        return -1;
    return other->end <= one->begin;
}

/* The entry of a node of the tree. */
static given_t *entry_of(void *node)
{
    return *(given_t **)node;
}

/* Enters a segment into the tree; false if some of its bytes are the arena's already (*overlaps),
 * or if the host has no memory. O(log n) in the segments. */
static bool note_given(guest_t *guest, const cuarena_memory_segment_t *segment, bool *overlaps)
{
    given_t *given = cuai_host_alloc(sizeof *given);
    *overlaps = false;
    if (given == NULL)
        return false;
    given->begin = segment->address;
    given->end = segment->address + segment->address_bytes;
    CUAI_ASSERT(given->begin < given->end);
    cuai_lock(&guest->lock);
    void *node = tsearch(given, &guest->given, compare);
    *overlaps = node != NULL && entry_of(node) != given;
    cuai_unlock(&guest->lock);
    if (node != NULL && !*overlaps)
        return true;
    cuai_host_free(given);
    return false;
}

/* Takes a segment out of the tree: before the caller gets it back, who may give it anew at once. */
static void forget_given(guest_t *guest, const cuarena_memory_segment_t *segment)
{
    given_t key = {segment->address, segment->address + 1};
    cuai_lock(&guest->lock);
    void *node = tfind(&key, &guest->given, compare);
    given_t *given = node == NULL ? NULL : entry_of(node);
    CUAI_ASSERT(given == NULL || given->begin == segment->address);
    if (given != NULL)
        (void)tdelete(given, &guest->given, compare);
    cuai_unlock(&guest->lock);
    cuai_host_free(given);
}

/* ---- Calling the caller ------------------------------------------------ */

/* From here to leave() the thread is in one of the caller's functions. */
static void enter(cuai_frame_t *frame, const guest_t *guest)
{
    CUAI_ASSERT(guest->ops.name != NULL);
    cuai_frame_push(frame, CUAI_FRAME_MEMORY, guest);
}

/* Ends what enter() began, and puts a failure into words. Statuses other than OK, OUT_OF_MEMORY,
 * LOST and DRIVER become DRIVER. */
static cuarena_status_t leave(const guest_t *guest, const char *function, uint64_t asked,
                              cuarena_status_t status)
{
    CUAI_ASSERT(cuai_frame_within(CUAI_FRAME_MEMORY, guest));
    cuai_frame_pop();
    if (status == CUARENA_OK)
        return status;
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LOST)
        cuai_fail(status, "memory '%s': %s %s (it answered %d)", guest->ops.name, function,
                  status == CUARENA_LOST ? "has lost all" : "has no more", (int)status);
    else
        status = cuai_fail_driver(status, "memory '%s': %s answered %s (%d)", guest->ops.name,
                                  function, cuarena_status_name(status), (int)status);
    if (status != CUARENA_DRIVER)
        cuai_error_code(status);
    cuai_error_asked(asked);
    return status;
}

/* As leave(), for work of a stream: BUSY says that it is being captured and was given nothing. */
static cuarena_status_t leave_on(const guest_t *guest, const char *function, uint64_t asked,
                                 cuarena_stream_t stream, cuarena_status_t status)
{
    if (status != CUARENA_BUSY || stream == CUARENA_NO_STREAM)
        return leave(guest, function, asked, status);
    cuai_frame_pop();
    return cuai_fail(CUARENA_BUSY, "memory '%s': %s: stream %p is being captured", guest->ops.name,
                     function, (void *)stream);
}

static bool is_usable(const cuarena_memory_ops_t *ops, const cuarena_memory_segment_t *segment,
                      uint64_t bytes)
{
    uint64_t end;
    return segment->address != 0 && cuai_is_aligned(segment->address, ops->alignment) &&
           segment->bytes == bytes && segment->address_bytes >= bytes &&
           (cuai_is_aligned(segment->address_bytes, ops->granularity) ||
            segment->address_bytes == bytes) &&
           cuai_add_checked(segment->address, segment->address_bytes, &end);
}

/* ---- The table --------------------------------------------------------- */

typedef cuarena_status_t (*bytes_fn)(void *user, uint64_t *bytes_out);

static cuarena_status_t ask(const guest_t *guest, const char *name, bytes_fn function,
                            uint64_t *bytes_out)
{
    uint64_t bytes = 0;
    CUAI_ASSERT(function != NULL);
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = function(guest->user, &bytes);
    if (status == CUARENA_OK)
        *bytes_out = bytes;
    return leave(guest, name, 0, status);
}

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const guest_t *guest = user;
    return ask(guest, "available", guest->ops.available, bytes_out);
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    const guest_t *guest = user;
    return ask(guest, "total", guest->ops.total, bytes_out);
}

static cuarena_status_t refuse_segment(const guest_t *guest, const char *function, uint64_t bytes,
                                       cuarena_memory_segment_t *segment)
{
    guest->ops.give_back(guest->user, segment);
    return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                            "memory '%s': %s gave %" PRIu64 " of %" PRIu64 " bytes at 0x%" PRIx64
                            ", %" PRIu64 " at a multiple of %" PRIu64 " are accepted",
                            guest->ops.name, function, segment->bytes, segment->address_bytes,
                            segment->address, bytes, guest->ops.alignment);
}

/* The second of two segments with the same bytes does not go back: nobody knows which of them the
 * caller would end. */
static cuarena_status_t refuse_overlap(const guest_t *guest, const char *function,
                                       const cuarena_memory_segment_t *segment)
{
    return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                            "memory '%s': %s gave 0x%" PRIx64 " to 0x%" PRIx64
                            ", some of which it had given before; bytes that are nobody's are "
                            "accepted",
                            guest->ops.name, function, segment->address,
                            segment->address + segment->address_bytes);
}

/* Checks and enters a segment that the caller's function gave. */
static cuarena_status_t accept_segment(guest_t *guest, const char *function, uint64_t bytes,
                                       cuarena_memory_segment_t *segment,
                                       cuarena_memory_segment_t *segment_out)
{
    bool overlaps;
    if (!is_usable(&guest->ops, segment, bytes))
        return refuse_segment(guest, function, bytes, segment);
    if (note_given(guest, segment, &overlaps)) {
        *segment_out = *segment;
        return CUARENA_OK;
    }
    if (overlaps)
        return refuse_overlap(guest, function, segment);
    guest->ops.give_back(guest->user, segment);
    return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a segment's record");
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    guest_t *guest = user;
    cuarena_memory_segment_t segment = {0};
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.get(guest->user, bytes, address_bytes, &segment);
    status = leave(guest, "get", bytes, status);
    return status == CUARENA_OK ? accept_segment(guest, "get", bytes, &segment, segment_out)
                                : status;
}

static cuarena_status_t get_on(void *user, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    guest_t *guest = user;
    cuarena_memory_segment_t segment = {0};
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.get_on(guest->user, bytes, stream, &segment);
    status = leave_on(guest, "get_on", bytes, stream, status);
    return status == CUARENA_OK ? accept_segment(guest, "get_on", bytes, &segment, segment_out)
                                : status;
}

static void give_on(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream)
{
    guest_t *guest = user;
    cuai_frame_t frame;
    forget_given(guest, segment);
    enter(&frame, guest);
    guest->ops.give_on(guest->user, segment, stream);
    cuai_frame_pop();
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    guest_t *guest = user;
    cuai_frame_t frame;
    forget_given(guest, segment);
    enter(&frame, guest);
    guest->ops.give_back(guest->user, segment);
    cuai_frame_pop();
}

/* The caller's function need not set `bytes`. */
static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.grow(guest->user, segment, new_bytes);
    if (status == CUARENA_OK)
        segment->bytes = new_bytes;
    return leave(guest, "grow", new_bytes, status);
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    guest->ops.shrink(guest->user, segment, new_bytes);
    cuai_frame_pop();
    segment->bytes = new_bytes;
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    guest->ops.punch(guest->user, segment, offset, bytes);
    cuai_frame_pop();
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    return leave(guest, "fill", bytes, guest->ops.fill(guest->user, segment, offset, bytes));
}

/* A count above the list's would make the arena believe in moves that nobody made, so it becomes
 * the list's. */
static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    const guest_t *guest = user;
    size_t done = 0;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.relocate(guest->user, list, count, stream, &done);
    *done_out = status == CUARENA_OK || done > count ? count : done;
    return leave_on(guest, "relocate", 0, *done_out == 0 ? stream : CUARENA_NO_STREAM, status);
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    return leave_on(guest, "zero_bytes", bytes, stream,
                    guest->ops.zero_bytes(guest->user, address, bytes, stream));
}

/* BUSY says that the capture has failed. */
static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.zero_captured(guest->user, address, bytes, stream);
    bool failed = status == CUARENA_BUSY;
    status = leave(guest, "zero_captured", bytes, failed ? CUARENA_OK : status);
    if (!failed)
        return status;
    return cuai_fail(CUARENA_BUSY,
                     "memory '%s': zero_captured: the capture of stream %p has "
                     "failed",
                     guest->ops.name, (void *)stream);
}

static cuarena_status_t identify(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out)
{
    const guest_t *guest = user;
    cuarena_stream_info_t info = {0};
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.identify(guest->user, stream, &info);
    if (status == CUARENA_OK)
        *info_out = info;
    bool refused = status == CUARENA_BAD_ARGUMENT;
    status = leave(guest, "identify", 0, refused ? CUARENA_OK : status);
    if (!refused)
        return status;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "stream: %p is none of memory '%s'", (void *)stream,
                     guest->ops.name);
}

/* UNSUPPORTED for the work of all streams is an answer, not a failure. */
static cuarena_status_t mark(void *user, cuarena_stream_t stream, void **event)
{
    const guest_t *guest = user;
    void *made = *event;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.mark(guest->user, stream, &made);
    bool unknown = stream == CUARENA_NO_STREAM && status == CUARENA_UNSUPPORTED;
    status = leave_on(guest, "mark", 0, stream, unknown ? CUARENA_OK : status);
    if (status == CUARENA_OK && !unknown)
        *event = made;
    return unknown ? CUARENA_UNSUPPORTED : status;
}

/* BUSY is an answer, not a failure. */
static cuarena_status_t query(void *user, void *event)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status = guest->ops.query(guest->user, event);
    bool busy = status == CUARENA_BUSY;
    status = leave(guest, "query", 0, busy ? CUARENA_OK : status);
    return busy ? CUARENA_BUSY : status;
}

static cuarena_status_t wait(void *user, void *event, cuarena_stream_t stream, int32_t host)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    return leave_on(guest, "wait", 0, host ? CUARENA_NO_STREAM : stream,
                    guest->ops.wait(guest->user, event, stream, host));
}

static void unmark(void *user, void *event)
{
    const guest_t *guest = user;
    cuai_frame_t frame;
    enter(&frame, guest);
    guest->ops.unmark(guest->user, event);
    cuai_frame_pop();
}

/* Descriptors that came with an impossible count are not closed: only the caller's function knows
 * which they are. */
static cuarena_status_t export_range(void *user, const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces, size_t capacity,
                                     size_t *count_out)
{
    const guest_t *guest = user;
    size_t count = 0;
    cuai_frame_t frame;
    enter(&frame, guest);
    cuarena_status_t status =
        guest->ops.export_range(guest->user, segment, offset, bytes, pieces, capacity, &count);
    status = leave(guest, "export_range", bytes, status);
    if (status != CUARENA_OK)
        return status;
    if (count == 0 || (pieces != NULL && count > capacity))
        return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                                "memory '%s': export_range gave %zu pieces, 1 "
                                "to %zu are accepted",
                                guest->ops.name, count, capacity);
    *count_out = count;
    return CUARENA_OK;
}

static void end(void *user)
{
    guest_t *guest = user;
    if (guest->ops.end != NULL)
        guest->ops.end(guest->user);
    CUAI_ASSERT(guest->given == NULL);
    cuai_lock_cleanup(&guest->lock);
    cuai_host_free(guest);
}

/* ---- What the caller brought ------------------------------------------- */

static cuarena_status_t lacks(const cuarena_memory_ops_t *ops, const char *what)
{
    return cuai_fail(CUARENA_BAD_ARGUMENT, "ops: memory '%s' %s",
                     ops->name != NULL ? ops->name : "", what);
}

/* What contradicts itself in a table; NULL: nothing. */
static const char *contradiction(const cuarena_memory_ops_t *ops)
{
    if ((ops->grow == NULL) != (ops->shrink == NULL))
        return "has one of grow and shrink, both or neither is accepted";
    if ((ops->punch == NULL) != (ops->fill == NULL))
        return "has one of punch and fill, both or neither is accepted";
    const int streams = (ops->identify != NULL) + (ops->mark != NULL) + (ops->query != NULL) +
                        (ops->wait != NULL) + (ops->unmark != NULL);
    if (streams != 0 && streams != 5)
        return "has some of identify, mark, query, wait and unmark, all or "
               "none is accepted";
    if ((ops->get_on == NULL) != (ops->give_on == NULL))
        return "has one of get_on and give_on, both or neither is accepted";
    if (ops->get_on != NULL && streams == 0)
        return "has get_on without streams";
    if ((ops->properties & CUARENA_MEMORY_TOUCHES) == 0 &&
        (ops->properties & CUARENA_MEMORY_HOST_READABLE) != 0)
        return "is HOST_READABLE without TOUCHES";
    return NULL;
}

static cuarena_status_t check_functions(const cuarena_memory_ops_t *ops)
{
    if (ops->name == NULL)
        return lacks(ops, "has no name");
    if (ops->get == NULL)
        return lacks(ops, "has no get");
    if (ops->give_back == NULL)
        return lacks(ops, "has no give_back");
    const char *wrong = contradiction(ops);
    return wrong != NULL ? lacks(ops, wrong) : CUARENA_OK;
}

static cuarena_status_t check_values(const cuarena_memory_ops_t *ops, uint64_t granule)
{
    if (!cuai_is_power_of_two(ops->granularity) || ops->granularity < granule)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: memory '%s' has granularity %" PRIu64
                         ", a power of two from the alignment %" PRIu64 " on is accepted",
                         ops->name, ops->granularity, granule);
    if (!cuai_is_power_of_two(ops->alignment) || ops->alignment < granule)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: memory '%s' has alignment %" PRIu64
                         ", a power of two from the arena's %" PRIu64 " on is accepted",
                         ops->name, ops->alignment, granule);
    if (ops->least_bytes != 0 &&
        (!cuai_is_power_of_two(ops->least_bytes) || ops->least_bytes < granule ||
         ops->least_bytes > ops->granularity))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: memory '%s' has least_bytes %" PRIu64
                         ", 0 and powers of two from %" PRIu64 " to %" PRIu64 " are accepted",
                         ops->name, ops->least_bytes, granule, ops->granularity);
    if ((ops->properties & ~KNOWN_PROPERTIES) != 0 || ops->zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: memory '%s' has properties 0x%x and zero %u, "
                         "bits of 0x%x and 0 are accepted",
                         ops->name, (unsigned)ops->properties, (unsigned)ops->zero,
                         (unsigned)KNOWN_PROPERTIES);
    return CUARENA_OK;
}

static cuarena_status_t copy_table(const cuarena_config_t *config, cuarena_memory_ops_t *ops)
{
    if (!cuai_sized_ok(config->ops, OPS_FIRST, sizeof *ops))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: %s, a table that cuarena_memory_ops_init has "
                         "filled is accepted",
                         config->ops == NULL ? "NULL" : "unknown struct_size");
    cuarena_memory_ops_init(ops);
    cuai_sized_read(ops, config->ops);
    cuarena_status_t status = check_functions(ops);
    return status != CUARENA_OK ? status : check_values(ops, config->alignment);
}

/* Fills our table with a function for each that the caller's has. */
static void fill_table(const cuarena_memory_ops_t *theirs, cuarena_memory_ops_t *ours)
{
#define PASS(function) ours->function = theirs->function ? function : NULL
    *ours = *theirs;
    PASS(available);
    PASS(total);
    PASS(get);
    PASS(give_back);
    PASS(get_on);
    PASS(give_on);
    PASS(grow);
    PASS(shrink);
    PASS(punch);
    PASS(fill);
    PASS(relocate);
    PASS(zero_bytes);
    PASS(zero_captured);
    PASS(identify);
    PASS(mark);
    PASS(query);
    PASS(wait);
    PASS(unmark);
    PASS(export_range);
    ours->end = end;
#undef PASS
}

cuarena_status_t cuai_custom_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_memory_ops_t ops;
    cuarena_status_t status = copy_table(config, &ops);
    if (status != CUARENA_OK)
        return status;
    guest_t *guest = cuai_host_alloc(sizeof *guest);
    if (guest == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a memory's record");
    guest->ops = ops;
    guest->user = config->ops_user;
    cuai_lock_init(&guest->lock);
    fill_table(&ops, &out->ops);
    out->user = guest;
    return CUARENA_OK;
}
