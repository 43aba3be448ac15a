/* See kinds.h. */
#include "support/kinds.h"

#include <cuarena.h>

/* How bytes go back: from within segments, or by whole segments. */
#define INNER (KIND_READABLE | KIND_DEDICATES | KIND_GIVES_BACK)
#define WHOLE (KIND_READABLE | KIND_DEDICATES | KIND_GIVES_WHOLE)
#define GROWS(traits) ((traits) | KIND_GROWS)
#define EXACT(traits) ((traits) | KIND_GROWS | KIND_EXACT)
#define CACHES(traits) ((traits) | KIND_GROWS | KIND_CACHES)

#define POOL CUARENA_PRESET_POOL
#define GROW CUARENA_PRESET_GROW
#define BFC CUARENA_PRESET_BFC
#define CUPY CUARENA_PRESET_CUPY_POOL
#define MLX_CPU CUARENA_PRESET_MLX_CPU
#define MLX_CUDA CUARENA_PRESET_MLX_CUDA

/* clang-format off */
/* A preset on memories of the host, with the traits of such an arena; those of one on the caller's
 * bytes, which nothing can be added to or goes back from. */
#define ON_HOST(name, preset, traits)                                                              \
    {name "-pageable", preset, CUARENA_MEMORY_PAGEABLE, traits, 0, 0},                             \
    {name "-none", preset, CUARENA_MEMORY_NONE, (traits) & ~KIND_READABLE, 0, 0}
#define ON_CUSTOM(name, preset, traits)                                                            \
    {name "-custom", preset, CUARENA_MEMORY_CUSTOM, traits, 0, 0}
#define ON_BYTES(name, preset, traits)                                                             \
    {name "-bytes", preset, CUARENA_MEMORY_BYTES, KIND_READABLE | (traits), 0, 0}

/* A preset on each memory that a device has, with traits where segments are lengthened and punched,
 * and where they are whole. */
#define ON_DEVICE(name, preset, in_place, whole)                                                   \
    {name "-vmm", preset, CUARENA_MEMORY_DEVICE, (in_place) | KIND_DEVICE, CUARENA_BACKING_VMM, 0},\
    {name "-malloc", preset, CUARENA_MEMORY_DEVICE, (whole) | KIND_DEVICE,                         \
     CUARENA_BACKING_MALLOC, 0},                                                                   \
    {name "-async", preset, CUARENA_MEMORY_DEVICE, (whole) | KIND_DEVICE,                          \
     CUARENA_BACKING_ASYNC, 0},                                                                    \
    {name "-managed", preset, CUARENA_MEMORY_MANAGED, whole, 0, 0},                                \
    {name "-pinned", preset, CUARENA_MEMORY_PINNED, whole, 0, 0}
#define ON_BYTES_OF(name, traits, bytes_kind)                                                      \
    {name, POOL, CUARENA_MEMORY_BYTES, KIND_READABLE | (traits), 0, bytes_kind}

const arena_kind_t arena_kinds[HOST_KIND_COUNT + DEVICE_KIND_COUNT + 6] = {
    ON_HOST("pool", POOL, INNER | KIND_RESIZES),
    ON_BYTES("pool", POOL, 0),
    ON_CUSTOM("pool", POOL, INNER | KIND_RESIZES),
    ON_HOST("grow", GROW, GROWS(INNER)),
    ON_BYTES("grow", GROW, KIND_GROWS),
    ON_CUSTOM("grow", GROW, GROWS(INNER)),
    ON_HOST("bfc", BFC, GROWS(INNER)),
    ON_BYTES("bfc", BFC, KIND_GROWS),
    ON_CUSTOM("bfc", BFC, GROWS(INNER)),
    ON_HOST("bfc-exact", BFC, EXACT(INNER)),
    ON_BYTES("bfc-exact", BFC, KIND_GROWS | KIND_EXACT),
    ON_CUSTOM("bfc-exact", BFC, EXACT(INNER)),
    ON_HOST("cupy", CUPY, GROWS(WHOLE)),
    ON_CUSTOM("cupy", CUPY, GROWS(WHOLE)),
    ON_HOST("mlx-cpu", MLX_CPU, CACHES(INNER)),
    ON_CUSTOM("mlx-cpu", MLX_CPU, CACHES(INNER)),
    ON_HOST("mlx-cuda", MLX_CUDA, CACHES(INNER)),
    ON_CUSTOM("mlx-cuda", MLX_CUDA, CACHES(INNER)),

    ON_DEVICE("pool", POOL, INNER | KIND_RESIZES, WHOLE),
    ON_BYTES_OF("pool-bytes", KIND_DEVICE, CUARENA_BYTES_DEVICE),
    ON_BYTES_OF("pool-managed-bytes", 0, CUARENA_BYTES_MANAGED),
    ON_BYTES_OF("pool-pinned-bytes", 0, CUARENA_BYTES_PINNED),
    ON_DEVICE("grow", GROW, GROWS(INNER), GROWS(WHOLE)),
    ON_DEVICE("bfc", BFC, GROWS(INNER), GROWS(WHOLE)),
    ON_DEVICE("bfc-exact", BFC, EXACT(INNER), EXACT(WHOLE)),
    ON_DEVICE("mlx-cpu", MLX_CPU, CACHES(INNER), CACHES(WHOLE)),
    ON_DEVICE("mlx-cuda", MLX_CUDA, CACHES(INNER), CACHES(WHOLE)),
    ON_DEVICE("cupy", CUPY, GROWS(WHOLE), GROWS(WHOLE)),
    {"driver-pool", CUARENA_PRESET_DRIVER_POOL, CUARENA_MEMORY_DEVICE,
     GROWS(WHOLE) | KIND_DEVICE | KIND_EACH, CUARENA_BACKING_ASYNC, 0},

    {"simulated", POOL, CUARENA_MEMORY_CUSTOM, KIND_SIMULATED, 0, 0},
    {"simulated-host", POOL, CUARENA_MEMORY_CUSTOM, KIND_SIMULATED | KIND_READABLE, 0, 0},
    {"cupy-simulated", CUPY, CUARENA_MEMORY_CUSTOM,
     (GROWS(WHOLE) & ~KIND_READABLE) | KIND_SIMULATED, 0, 0},
    {"cupy-default", CUPY, CUARENA_MEMORY_DEVICE, GROWS(WHOLE) | KIND_DEVICE, 0, 0},
    {"bfc-custom-plain", BFC, CUARENA_MEMORY_CUSTOM, GROWS(WHOLE) | KIND_PLAIN, 0, 0},
    {"grow-custom-plain", GROW, CUARENA_MEMORY_CUSTOM, GROWS(INNER) | KIND_PLAIN, 0, 0},
};
/* clang-format on */
