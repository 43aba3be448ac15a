/* What the driver is asked about pointers: of a block it would tell what it knows of the segment.
 */
#include "layer/layer.h"

#include <stdio.h>
#include <string.h>

#define NEXT CUAI_LAYER_NEXT

cuai_cu_result_t cuai_layer_address_range(unsigned long long *base_out, size_t *bytes_out,
                                          unsigned long long pointer)
{
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, true);
    if (owner.device == NULL)
        return NEXT(cuMemGetAddressRange_v2, (base_out, bytes_out, pointer));
    if (!owner.owned.live)
        return CUAI_CUDA_ERROR_NOT_FOUND;
    if (base_out != NULL)
        *base_out = owner.owned.address;
    if (bytes_out != NULL)
        *bytes_out = (size_t)owner.owned.requested;
    return CUAI_CUDA_SUCCESS;
}

/* What differs for a block, all of 8 bytes; false: the driver's answer is right. */
static bool answer(const cuai_layer_owner_t *owner, int attribute, uint64_t *value)
{
    CUAI_ASSERT(owner->device != NULL && owner->owned.live);
    switch (attribute) {
    case CUAI_CU_POINTER_ATTRIBUTE_CONTEXT:
        *value = (uintptr_t)atomic_load(&owner->device->context);
        return true;
    case CUAI_CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *value = owner->owned.block;
        return true;
    case CUAI_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *value = owner->owned.address;
        return true;
    case CUAI_CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *value = owner->owned.requested;
        return true;
    case CUAI_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *value = (uintptr_t)owner->device->pool;
        return true;
    default:
        return false;
    }
}

cuai_cu_result_t cuai_layer_attribute(void *value_out, int attribute, unsigned long long pointer)
{
    uint64_t value;
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, true);
    if (owner.device == NULL || value_out == NULL)
        return NEXT(cuPointerGetAttribute, (value_out, attribute, pointer));
    if (!owner.owned.live)
        return CUAI_CUDA_ERROR_INVALID_VALUE;
    if (!answer(&owner, attribute, &value))
        return NEXT(cuPointerGetAttribute, (value_out, attribute, pointer));
    memcpy(value_out, &value, sizeof value);
    return CUAI_CUDA_SUCCESS;
}

/* No address of the driver's: of one it answers that nothing is there, where a free address of a
 * segment is something. */
#define NOWHERE 1

cuai_cu_result_t cuai_layer_attributes(unsigned count, int *attributes, void **values,
                                       unsigned long long pointer)
{
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, true);
    bool is_free = owner.device != NULL && !owner.owned.live;
    cuai_cu_result_t result =
        NEXT(cuPointerGetAttributes, (count, attributes, values, is_free ? NOWHERE : pointer));
    if (result != CUAI_CUDA_SUCCESS || owner.device == NULL || is_free)
        return result;
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        if (answer(&owner, attributes[i], &value))
            memcpy(values[i], &value, sizeof value);
    }
    return result;
}

cuai_cu_result_t cuai_layer_ipc_handle(void *handle_out, unsigned long long pointer)
{
    static atomic_bool told;
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, false);
    if (owner.device == NULL)
        return NEXT(cuIpcGetMemHandle, (handle_out, pointer));
    if (!atomic_exchange(&told, true))
        (void)fprintf(stderr, "cuarena: cuIpcGetMemHandle of a block of an arena is refused; with "
                              "CUARENA_ALLOCATOR=async cuMemAlloc is left to the driver\n");
    return CUAI_CUDA_ERROR_INVALID_VALUE;
}

/* The handle behind a block has bytes of others too, and does not begin where the block does. */
cuai_cu_result_t cuai_layer_retain_handle(unsigned long long *handle_out, void *pointer)
{
    cuai_layer_owner_t owner = cuai_layer_owner((uintptr_t)pointer, false);
    if (owner.device == NULL)
        return NEXT(cuMemRetainAllocationHandle, (handle_out, pointer));
    return CUAI_CUDA_ERROR_INVALID_VALUE;
}
