#include "support/kept_kinds.h"

#define MLX_CPU CUARENA_PRESET_MLX_CPU
#define MLX_CUDA CUARENA_PRESET_MLX_CUDA
#define CACHES (KIND_GROWS | KIND_DEDICATES | KIND_CACHES)
/* Where segments are lengthened and punched, and where they go back whole. */
#define IN_PLACE (KIND_READABLE | KIND_GIVES_BACK | CACHES)
#define WHOLE (KIND_READABLE | KIND_GIVES_WHOLE | CACHES)

#if defined(CUARENA_TEST_CUDA)

#define PAGEABLE CUARENA_MEMORY_PAGEABLE
#define DEVICE CUARENA_MEMORY_DEVICE
#define MANAGED CUARENA_MEMORY_MANAGED
#define PINNED CUARENA_MEMORY_PINNED
#define VMM CUARENA_BACKING_VMM
#define MALLOC CUARENA_BACKING_MALLOC
#define ASYNC CUARENA_BACKING_ASYNC
#define CUPY CUARENA_PRESET_CUPY_POOL
#define SEGMENTS (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_WHOLE)

const arena_kind_t kept_kinds[KEPT_KIND_COUNT] = {
    {"mlx-cpu-pageable", MLX_CPU, PAGEABLE, IN_PLACE, 0, 0},
    {"mlx-cpu-vmm", MLX_CPU, DEVICE, IN_PLACE | KIND_DEVICE, VMM, 0},
    {"mlx-cpu-malloc", MLX_CPU, DEVICE, WHOLE | KIND_DEVICE, MALLOC, 0},
    {"mlx-cpu-async", MLX_CPU, DEVICE, WHOLE | KIND_DEVICE, ASYNC, 0},
    {"mlx-cpu-managed", MLX_CPU, MANAGED, WHOLE, 0, 0},
    {"mlx-cpu-pinned", MLX_CPU, PINNED, WHOLE, 0, 0},
    {"mlx-cuda-pageable", MLX_CUDA, PAGEABLE, IN_PLACE, 0, 0},
    {"mlx-cuda-vmm", MLX_CUDA, DEVICE, IN_PLACE | KIND_DEVICE, VMM, 0},
    {"mlx-cuda-malloc", MLX_CUDA, DEVICE, WHOLE | KIND_DEVICE, MALLOC, 0},
    {"mlx-cuda-async", MLX_CUDA, DEVICE, WHOLE | KIND_DEVICE, ASYNC, 0},
    {"mlx-cuda-managed", MLX_CUDA, MANAGED, WHOLE, 0, 0},
    {"mlx-cuda-pinned", MLX_CUDA, PINNED, WHOLE, 0, 0},
    {"cupy-pageable", CUPY, PAGEABLE, SEGMENTS, 0, 0},
    {"cupy-vmm", CUPY, DEVICE, SEGMENTS | KIND_DEVICE, VMM, 0},
    {"cupy-malloc", CUPY, DEVICE, SEGMENTS | KIND_DEVICE, MALLOC, 0},
    {"cupy-async", CUPY, DEVICE, SEGMENTS | KIND_DEVICE, ASYNC, 0},
    {"cupy-managed", CUPY, MANAGED, SEGMENTS, 0, 0},
    {"cupy-pinned", CUPY, PINNED, SEGMENTS, 0, 0},
    {"driver-pool", CUARENA_PRESET_DRIVER_POOL, DEVICE, SEGMENTS | KIND_DEVICE | KIND_EACH, ASYNC,
     0},
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
