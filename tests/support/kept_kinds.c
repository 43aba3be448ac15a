#include "support/kept_kinds.h"

#define MLX_CPU CUARENA_PRESET_MLX_CPU
#define MLX_CUDA CUARENA_PRESET_MLX_CUDA
#define CACHES (KIND_GROWS | KIND_DEDICATES | KIND_CACHES)
/* Where segments are lengthened and punched, and where they go back whole. */
#define IN_PLACE (KIND_READABLE | KIND_GIVES_BACK | CACHES)
#define WHOLE (KIND_READABLE | KIND_GIVES_WHOLE | CACHES)

#if defined(CUARENA_TEST_CUDA)

#include "support/cuda_kinds.h"

#define CUPY CUARENA_PRESET_CUPY_POOL
#define SEGMENTS (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_WHOLE)

const arena_kind_t kept_kinds[KEPT_KIND_COUNT] = {
    {"mlx-cpu-pageable", MLX_CPU, CUARENA_MEMORY_PAGEABLE, IN_PLACE, 0, 0},
    CUDA_KINDS_OF("mlx-cpu", MLX_CPU, IN_PLACE, WHOLE),
    {"mlx-cuda-pageable", MLX_CUDA, CUARENA_MEMORY_PAGEABLE, IN_PLACE, 0, 0},
    CUDA_KINDS_OF("mlx-cuda", MLX_CUDA, IN_PLACE, WHOLE),
    {"cupy-pageable", CUPY, CUARENA_MEMORY_PAGEABLE, SEGMENTS, 0, 0},
    CUDA_KINDS_OF("cupy", CUPY, SEGMENTS, SEGMENTS),
    {"driver-pool", CUARENA_PRESET_DRIVER_POOL, CUARENA_MEMORY_DEVICE,
     SEGMENTS | KIND_DEVICE | KIND_EACH, CUARENA_BACKING_ASYNC, 0},
};

#else

/* The rows of cupy-pool are among arena_kinds. */
const arena_kind_t kept_kinds[KEPT_KIND_COUNT] = {
    {"mlx-cpu-pageable", MLX_CPU, CUARENA_MEMORY_PAGEABLE, IN_PLACE, 0, 0},
    {"mlx-cpu-none", MLX_CPU, CUARENA_MEMORY_NONE, IN_PLACE & ~KIND_READABLE, 0, 0},
    {"mlx-cpu-custom", MLX_CPU, CUARENA_MEMORY_CUSTOM, IN_PLACE, 0, 0},
    {"mlx-cuda-pageable", MLX_CUDA, CUARENA_MEMORY_PAGEABLE, IN_PLACE, 0, 0},
    {"mlx-cuda-none", MLX_CUDA, CUARENA_MEMORY_NONE, IN_PLACE & ~KIND_READABLE, 0, 0},
    {"mlx-cuda-custom", MLX_CUDA, CUARENA_MEMORY_CUSTOM, IN_PLACE, 0, 0},
};

#endif
