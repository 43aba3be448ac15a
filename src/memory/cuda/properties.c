/*
 * Which handles an arena of device memory gets: their properties, the devices that reach them, and
 * their size.
 *
 * The driver may refuse a property that the device says it has, for want of rights or of a service.
 * So one handle is made to find out, and properties that are only to be tried are given up until a
 * handle can be made.
 */
#include <inttypes.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/cuda/vmm.h"

/*
 * On an H200 a GiB costs, grown and given back, 26.7 and 22.1 ms in handles of 2 MiB, 6.8 and 6.5
 * in handles of 8 MiB, 1.8 and 2.2 in handles of 32 MiB, 0.5 and 1.1 in handles of 128 MiB
 * (bench/results/vmm.json). A pool reserves all its bytes at once. An arena that grows begins with
 * the smallest, so that it reserves little more than it needs, and takes larger ones as it has more
 * (cuai_handle_bytes): what it reserves above its peak is a share of it, and so are its calls.
 */
#define MOST_TO_GROW (32 * CUAI_MIB)
#define MOST_OF_POOL (128 * CUAI_MIB)
/* An arena of a known size has about so many handles at least, so that rounding costs little. To
 * serve what needs nearly all of its limit, one that grows has more. */
#define LEAST_OF_POOL 64
#define LEAST_TO_GROW 1024

/* One of fd, rdma and fabric. */
typedef struct wish {
    const char *key;
    int32_t asked; /* CUARENA_PROPERTY_... */
    bool can;      /* the device says that it can */
    bool on;       /* handles are to have it */
} wish_t;

enum {
    FABRIC,
    RDMA,
    FD,
    WISHES
}; /* in the order in which they are given up */

static cuarena_status_t cannot(const cuai_place_t *place, const char *key)
{
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "%s: 'require', but device %d (%s) cannot; accepted: off, "
                     "try",
                     key, place->device, place->facts.name);
}

/* ---- Handles ----------------------------------------------------------- */

static void make_wishes(const cuai_place_t *place, const cuarena_config_t *config,
                        wish_t wishes[WISHES])
{
    const cuai_facts_t *facts = &place->facts;
    wishes[FABRIC] = (wish_t){"fabric", config->fabric, facts->fabric, false};
    wishes[RDMA] = (wish_t){"rdma", config->rdma, facts->rdma, false};
    wishes[FD] = (wish_t){"fd", config->fd, facts->fd, false};
    for (int i = 0; i < WISHES; i++)
        wishes[i].on = wishes[i].asked != CUARENA_PROPERTY_OFF && wishes[i].can;
}

static cuarena_status_t check_wishes(const cuai_place_t *place, const wish_t wishes[WISHES])
{
    for (int i = 0; i < WISHES; i++)
        if (wishes[i].asked == CUARENA_PROPERTY_REQUIRE && !wishes[i].on)
            return cannot(place, wishes[i].key);
    return CUARENA_OK;
}

static cuai_cu_allocation_t allocation_of(const cuai_place_t *place, const wish_t wishes[WISHES])
{
    const int fd = CUAI_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const int fabric = CUAI_CU_MEM_HANDLE_TYPE_FABRIC;
    return (cuai_cu_allocation_t){
        .type = CUAI_CU_MEM_ALLOCATION_TYPE_PINNED,
        .handle_types = (wishes[FD].on ? fd : 0) | (wishes[FABRIC].on ? fabric : 0),
        .location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, place->device},
        .rdma = wishes[RDMA].on,
    };
}

static cuarena_status_t least_handle(cuai_place_t *place, const cuai_cu_allocation_t *wanted,
                                     uint64_t *bytes_out)
{
    size_t bytes = 0;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)
            ->cuMemGetAllocationGranularity(&bytes, wanted, CUAI_CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemGetAllocationGranularity",
                               "handles of device %d", place->device);
    if (!cuai_is_power_of_two(bytes))
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "device %d has handles of %zu bytes; accepted: a "
                         "power of two, or backing=malloc",
                         place->device, bytes);
    *bytes_out = bytes;
    return CUARENA_OK;
}

/* Whether the driver makes such handles. */
static cuarena_status_t try_handle(cuai_place_t *place, const cuai_cu_allocation_t *wanted,
                                   uint64_t bytes)
{
    cuai_cu_handle_t handle;
    CUAI_ASSERT(cuai_is_power_of_two(bytes));
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemCreate(&handle, bytes, wanted, 0);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemCreate",
                               "a handle of %" PRIu64 " bytes to see what device %d can", bytes,
                               place->device);
    cuai_place_note(place, cuai_cu(place->cuda)->cuMemRelease(handle), "cuMemRelease");
    return CUARENA_OK;
}

/* The next wish that may be given up; WISHES: none. */
static int next_to_give_up(const wish_t wishes[WISHES])
{
    int at = 0;
    while (at < WISHES && !(wishes[at].on && wishes[at].asked == CUARENA_PROPERTY_TRY))
        at++;
    return at;
}

/* The driver refuses what is required: some wish is on, and cannot be given up. */
static cuarena_status_t refused(const cuai_place_t *place, const wish_t wishes[WISHES])
{
    int at = 0;
    while (!wishes[at].on)
        at++;
    CUAI_ASSERT(at < WISHES && wishes[at].asked == CUARENA_PROPERTY_REQUIRE);
    return cannot(place, wishes[at].key);
}

/* Gives wishes up until the driver makes a handle, which may refuse a property at either call.
 * Called within a visit of the place. */
static cuarena_status_t fit_wishes(cuai_vmm_t *vmm, wish_t wishes[WISHES], uint64_t *least_out)
{
    cuai_place_t *place = vmm->store.place;
    cuai_kept_error_t before = cuai_error_kept();
    for (;;) {
        vmm->wanted = allocation_of(place, wishes);
        cuarena_status_t status = least_handle(place, &vmm->wanted, least_out);
        bool plain = vmm->wanted.handle_types == 0 && !vmm->wanted.rdma;
        if (status == CUARENA_OK && !plain)
            status = try_handle(place, &vmm->wanted, *least_out);
        if (status != CUARENA_DRIVER || plain)
            return status;
        int at = next_to_give_up(wishes);
        if (at == WISHES)
            return refused(place, wishes);
        cuai_log(CUARENA_LOG_INFO, "device %d: '%s' is refused, left out", place->device,
                 wishes[at].key);
        wishes[at].on = false;
        cuai_error_restore(&before);
    }
}

/* ---- Devices that reach them ------------------------------------------- */

static void add_access(cuai_vmm_t *vmm, int ordinal)
{
    CUAI_ASSERT(vmm->access_count < CUAI_VMM_DEVICES);
    vmm->access[vmm->access_count++] = (cuai_cu_access_t){
        .location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, ordinal},
        .flags = CUAI_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    vmm->store.streams.reach |= UINT64_C(1) << (ordinal & 63);
}

static cuarena_status_t add_peer(cuai_vmm_t *vmm, int ordinal, bool required)
{
    cuai_place_t *place = vmm->store.place;
    int can = 0;
    CUAI_ASSERT(ordinal != place->device && vmm->access_count != 0);
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuDeviceCanAccessPeer(&can, ordinal, place->device);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuDeviceCanAccessPeer", "device %d to device %d",
                               ordinal, place->device);
    can = can && vmm->access_count < CUAI_VMM_DEVICES;
    if (can)
        add_access(vmm, ordinal);
    else if (required)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "peers: 'require', but device %d cannot reach device "
                         "%d; accepted: off, try",
                         ordinal, place->device);
    return CUARENA_OK;
}

static cuarena_status_t choose_devices(cuai_vmm_t *vmm, int32_t peers)
{
    const cuai_place_t *place = vmm->store.place;
    cuarena_status_t status = CUARENA_OK;
    CUAI_ASSERT(vmm->access_count == 0);
    add_access(vmm, place->device);
    if (peers == CUARENA_PROPERTY_OFF)
        return status;
    for (int ordinal = 0; ordinal < place->cuda->device_count && status == CUARENA_OK; ordinal++)
        if (ordinal != place->device)
            status = add_peer(vmm, ordinal, peers == CUARENA_PROPERTY_REQUIRE);
    return status;
}

/* ---- Their size -------------------------------------------------------- */

/* How large the arena will be, as far as its configuration says. */
static uint64_t expected_bytes(const cuai_place_t *place, const cuarena_config_t *config)
{
    const cuarena_amount_t *amount =
        config->grow == CUARENA_GROW_NONE ? &config->pool : &config->limit;
    uint64_t all = place->facts.total_bytes;
    return amount->unit == CUARENA_AMOUNT_BYTES ? cuai_min(amount->value, all) : all;
}

static uint64_t round_down_to_power(uint64_t bytes)
{
    return bytes == 0 ? 1 : UINT64_C(1) << cuai_log2_floor(bytes);
}

static cuarena_status_t choose_size(cuai_vmm_t *vmm, const cuarena_config_t *config, uint64_t least)
{
    const cuai_place_t *place = vmm->store.place;
    CUAI_ASSERT(cuai_is_power_of_two(least));
    uint64_t asked = config->handle_bytes;
    if (asked != 0 && asked < least)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "handle: %" PRIu64 "; accepted: from %" PRIu64
                         " on, the least of device %d",
                         asked, least, place->device);
    const bool pool = config->grow == CUARENA_GROW_NONE;
    const uint64_t count = pool ? LEAST_OF_POOL : LEAST_TO_GROW;
    const uint64_t most = pool ? MOST_OF_POOL : MOST_TO_GROW;
    if (asked == 0)
        asked = round_down_to_power(expected_bytes(place, config) / count);
    if (config->handle_bytes == 0)
        asked = cuai_max(least, cuai_min(asked, most));
    const bool follows = config->handle_bytes == 0 && !pool;
    vmm->least_bytes = cuai_max(least, config->alignment);
    vmm->most_bytes = cuai_max(asked, config->alignment);
    vmm->page_bytes = follows ? vmm->least_bytes : vmm->most_bytes;
    CUAI_ASSERT(cuai_is_power_of_two(vmm->most_bytes) && vmm->least_bytes <= vmm->most_bytes);
    bool unlimited =
        config->limit.unit != CUARENA_AMOUNT_BYTES || config->limit.value == UINT64_MAX;
    bool open_ended = config->address_bytes == 0 && unlimited && config->grow != CUARENA_GROW_NONE;
    vmm->least_reserve = open_ended ? place->facts.total_bytes : 0;
    return CUARENA_OK;
}

/* ---- All of it --------------------------------------------------------- */

cuarena_status_t cuai_vmm_choose(cuai_vmm_t *vmm, const cuarena_config_t *config,
                                 cuarena_properties_t *facts)
{
    cuai_place_t *place = vmm->store.place;
    wish_t wishes[WISHES];
    uint64_t least = 0;
    cuai_visit_t visit;
    make_wishes(place, config, wishes);
    cuarena_status_t status = check_wishes(place, wishes);
    if (status == CUARENA_OK)
        status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = fit_wishes(vmm, wishes, &least);
    if (status == CUARENA_OK)
        status = choose_devices(vmm, config->peers);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        status = choose_size(vmm, config, least);
    CUAI_ASSERT(status != CUARENA_OK || vmm->access_count != 0);
    facts->fd = wishes[FD].on;
    facts->rdma = wishes[RDMA].on;
    facts->fabric = wishes[FABRIC].on;
    facts->peers = (int32_t)vmm->access_count - 1;
    return status;
}
