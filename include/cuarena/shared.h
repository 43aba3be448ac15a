/*
 * Arenas that a process shares: one for each device and memory.
 *
 *   cuarena_shared_acquire(&config, &arena, NULL);      the first one makes it
 *   ...
 *   cuarena_shared_release(&arena);                     the last one ends it
 *
 * Whoever comes first makes the arena, and its configuration stands. Those who come later hold the
 * same arena; options that they want otherwise are ignored, and they are told which.
 *
 * Two configurations mean the same arena if they have the same memory and, for memory of a device,
 * the same device (or the same context, where they name one). Arenas with memory=bytes or custom
 * cannot be shared. The option `name` makes no difference.
 *
 * Threads: any thread may call anything. Making and ending an arena takes as long as cuarena_create
 * and cuarena_destroy do; calls about the same device and memory wait meanwhile, others do not. In
 * a process that was forked, shared arenas are as other arenas are there (arena.h).
 */
#ifndef CUARENA_SHARED_H
#define CUARENA_SHARED_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What cuarena_shared_acquire and _replace found. */
typedef struct cuarena_shared_report {
    size_t struct_size;
    int32_t created;  /* 1: this call made the arena */
    int32_t differs;  /* how many options are in force with another value */
    uint64_t holders; /* how many hold the arena now, with the caller */
    char text[256];   /* "limit: '4GiB' in force, '8GiB' asked; ..." of as many
                       * of those as there is room for */
} cuarena_shared_report_t;
CUARENA_API void cuarena_shared_report_init(cuarena_shared_report_t *report);

/*
 * Holds the arena of the configuration's device and memory, which is made if there is none. Each
 * acquire needs a release. `report` may be NULL; each difference is also logged as a warning.
 *
 * Errors: those of cuarena_create; BAD_ARGUMENT for memory=bytes and custom.
 */
CUARENA_API cuarena_status_t cuarena_shared_acquire(const cuarena_config_t *config,
                                                    cuarena_t **arena_out,
                                                    cuarena_shared_report_t *report);
/* Holds the arena of the configuration's device and memory as it is: no option but memory, device
 * and context is looked at. It needs a release too. STALE if there is none. */
CUARENA_API cuarena_status_t cuarena_shared_find(const cuarena_config_t *config,
                                                 cuarena_t **arena_out);
/*
 * Ends one acquire or find, and clears the handle; NULL and a cleared handle are OK. The last
 * holder's release is a cuarena_destroy, with its errors: BUSY while blocks live, and then the
 * caller still holds the arena. STALE, with a warning in the log, for an arena that is not shared,
 * or was released by all its holders already.
 *
 * cuarena_destroy and cuarena_destroy_forced of a shared arena are BUSY.
 */
CUARENA_API cuarena_status_t cuarena_shared_release(cuarena_t **arena);
/*
 * Replaces the arena that the caller alone holds by one with another configuration, of the same
 * device and memory. With a handle that is NULL the caller holds none, and gets the new one.
 *
 * BUSY if others hold the arena (the message says how many, and the log which options they keep
 * from being changed) or if blocks live in it; the caller still holds it. BAD_ARGUMENT if the
 * configuration is of another device or memory. STALE as for cuarena_shared_release. The old arena
 * is ended before the new one is made, since they may want the same bytes: if the new one cannot be
 * made, there is none, and the handle is cleared.
 */
CUARENA_API cuarena_status_t cuarena_shared_replace(cuarena_t **arena,
                                                    const cuarena_config_t *config,
                                                    cuarena_shared_report_t *report);

/*
 * Trims the shared arenas of a list of devices to what lives in them, as cuarena_trim with 0 does.
 * The list is that of ONNX Runtime's run option memory.enable_memory_arena_shrinkage, which asks
 * for it at the end of a run.
 *
 *   cpu:0    the shared arena of pageable memory
 *   gpu:ID   that of memory=device on the device with this ordinal
 *
 * Items have ; between them and no blanks, as in "cpu:0;gpu:0"; an empty list is OK. Arenas that
 * were made for a context, and those of pinned and managed memory, have no item; use
 * cuarena_shared_find and cuarena_trim for them. `given_back_out` (may be NULL) gets the bytes that
 * all of them gave back. The caller need not hold the arenas; calls that would end or replace one
 * of them meanwhile wait.
 *
 * BAD_ARGUMENT, before anything is trimmed, for a word that is neither cpu nor gpu, for what is no
 * number of a device and for a device without a shared arena; the message names the item. Otherwise
 * the first error of cuarena_trim, after all were tried. An arena that another thread ends
 * meanwhile is passed over. Within a callback of an arena that this call trims, its last release
 * and its replacement are BUSY.
 */
CUARENA_API cuarena_status_t cuarena_shared_shrink(const char *devices, uint64_t *given_back_out);

/* ---- Options from keys of several scopes ------------------------------- */

/*
 * How programs that run ONNX Runtime name the options of one arena among keys of other things.
 * FACTORY is the name of the execution provider's factory.
 */
#define CUARENA_SCOPE_BARE 0        /* arena.KEY: of a replacement */
#define CUARENA_SCOPE_ENVIRONMENT 1 /* ep_factory.FACTORY.arena.KEY */
#define CUARENA_SCOPE_SESSION 2     /* ep.FACTORY.arena.KEY, in lower case */

/*
 * Sets the options of one scope among `count` keys, and passes over all other keys. It sets all of
 * them or, on an error, none. Factories are told apart by case, but for sessions, whose keys have
 * the name in lower case (ASCII letters). `factory` is not looked at for CUARENA_SCOPE_BARE;
 * `taken_out` (may be NULL) gets how many keys were of the scope.
 *
 * The environment goes before a session, because its arena is made first, when the library is
 * registered: a session acquires that arena, and is told which options it cannot have.
 *
 * BAD_ARGUMENT as of cuarena_config_set, with the whole key named.
 */
CUARENA_API cuarena_status_t cuarena_config_from_scope(cuarena_config_t *config, int32_t scope,
                                                       const char *factory, const char *const *keys,
                                                       const char *const *values, size_t count,
                                                       size_t *taken_out);

#ifdef __cplusplus
}
#endif

#endif
