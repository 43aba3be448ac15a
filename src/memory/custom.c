/* Memory by the caller's own functions: their table is checked here, and what they answer in
 * memory/counted.c. */
#include <inttypes.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/sized.h"
#include "memory/kinds.h"

/* The size that cuarena_memory_ops_t had in the first release. */
#define OPS_FIRST sizeof(cuarena_memory_ops_t)

#define KNOWN_PROPERTIES                                                                           \
    (CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES | CUARENA_MEMORY_COMES_ZEROED)

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
    const int streams = (ops->identify != NULL) + (ops->record_event != NULL) +
                        (ops->query_event != NULL) + (ops->wait_event != NULL) +
                        (ops->end_event != NULL);
    if (streams != 0 && streams != 5)
        return "has some of identify, record_event, query_event, wait_event and end_event, all or "
               "none is accepted";
    if ((ops->get_on == NULL) != (ops->give_on == NULL))
        return "has one of get_on and give_on, both or neither is accepted";
    if ((ops->set_bytes == NULL) != (ops->read_bytes == NULL))
        return "has one of set_bytes and read_bytes, both or neither is accepted";
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

cuarena_status_t cuai_custom_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    out->user = config->ops_user;
    return copy_table(config, &out->ops);
}
