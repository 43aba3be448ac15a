/*
 * What the sources of the extension share: how errors become exceptions, streams of other packages
 * become handles, and who owns arenas and blocks.
 *
 * Calls of the library run without the GIL, since any of them may wait: for a stream, for growth in
 * another thread, or for a compaction whose callback wants the GIL.
 */
#ifndef CUARENA_NATIVE_H
#define CUARENA_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cuarena.h>

/* A parameter that the type of a function has and this one does not need. */
#define NATIVE_UNUSED(name) name __attribute__((unused))

/* ---- errors.c ------------------------------------------------------------ */

/* Raises the exception that stands for the last error of this thread, which a call of the library
 * has just reported as `status`. Returns NULL. */
PyObject *native_raise(cuarena_status_t status);
/* Raises the exception of a status with a message of the package's own. Returns NULL. */
PyObject *native_raise_text(cuarena_status_t status, const char *message);
/* Sets the function of Python that makes exceptions: _errors.make. */
PyObject *native_set_error_factory(PyObject *module, PyObject *factory);
/* Drops it when the module ends. */
void native_clear_error_factory(void);

/* ---- number.c ------------------------------------------------------------ */

/* Raises InvalidArgumentError, which names `what`, the number and what is expected. */
void native_raise_range(PyObject *number, const char *what, const char *expected);
/* A number of 0 to 2**64 - 1 of any type with __index__. Returns false with InvalidArgumentError,
 * which names `what`, the number and what is expected, or with TypeError if it is no number. */
bool native_size(PyObject *from, const char *what, const char *expected, size_t *size_out);
/* A tuple of two ints. Returns false with TypeError, which names `what`, the value and the members
 * that are expected, as "(major, minor)". */
bool native_pair(PyObject *from, const char *what, const char *members, int pair_out[2]);

/* ---- stream.c ------------------------------------------------------------ */

/*
 * The handle of a stream: None is no stream; an int is a cudaStream_t; any other object must have
 * __cuda_stream__, or what PyTorch (cuda_stream) or CuPy (ptr) have instead. Returns false, with an
 * exception, for anything else.
 */
bool native_stream(PyObject *from, cuarena_stream_t *stream_out);

/* ---- owned.c ------------------------------------------------------------- */

/* An arena that its Python object and each of its blocks own together: the last one ends it. */
typedef struct owned_arena {
    cuarena_t *arena; /* NULL: it was closed */
    atomic_size_t owners;
    size_t calls;       /* that are inside the library; the GIL guards it, and */
    bool closing;       /* whether it is being closed */
    int32_t memory;     /* CUARENA_MEMORY_... */
    int32_t device;     /* its ordinal; -1: none */
    bool host_readable; /* the CPU reaches the bytes */
    bool watched;       /* frees look for writes where no block is */
    /* Guarded by the GIL; NULL: nobody. The Python object of the arena owns them. */
    PyObject *oom_handler, *moves_callback;
    struct lost_session *lost; /* captures that nobody can release any more */
} owned_arena_t;

/* Makes an arena with one owner of a text of options, and of pairs of texts, each an option and its
 * value, in a tuple; NULL with an exception. */
owned_arena_t *native_open(const char *options, PyObject *pairs);
void native_arena_keep(owned_arena_t *home);
/* Needs no GIL. The last owner waits for the streams that used the arena's blocks. */
void native_arena_drop(owned_arena_t *home);

/* A call of the library on the arena is about to begin: false, with an exception, if it was closed.
 * Each one that began wants an end. Both hold the GIL. */
bool native_call_begin(owned_arena_t *home);
void native_call_end(owned_arena_t *home);
#define NATIVE_WITHOUT_GIL(call)                                                                   \
    do {                                                                                           \
        PyThreadState *thread = PyEval_SaveThread();                                               \
        call;                                                                                      \
        PyEval_RestoreThread(thread);                                                              \
    } while (0)
/* Makes one call that began, without the GIL, and ends it. */
#define NATIVE_CALL(home, status, call)                                                            \
    do {                                                                                           \
        NATIVE_WITHOUT_GIL((status) = (call));                                                     \
        native_call_end(home);                                                                     \
    } while (0)
/* None, or an exception where the call failed. */
PyObject *native_done(cuarena_status_t status);

/* Around a call that frees, in the same thread (errors.c): what the last error was, and whether the
 * call found that somebody had written where no block is. Then it has raised an exception, although
 * the call is OK. */
cuarena_error_info_t native_before(const owned_arena_t *home);
bool native_raise_finding(const owned_arena_t *home, const cuarena_error_info_t *before);

/* Releases the sessions that nobody can release any more, whose graphs are over (capture.c).
 * Without the GIL. */
void native_release_lost(owned_arena_t *home);
/* Forgets them where the arena has ended. */
void native_forget_lost(owned_arena_t *home);

/* A block that its Python object and each consumer of its DLPack capsules own together: the last
 * one frees it on its stream or, where the arena was told to forget that, on none. */
typedef struct owned_block {
    owned_arena_t *home;
    cuarena_block_t block; /* 0: it was freed */
    cuarena_stream_t stream;
    uint64_t bytes; /* as asked for */
    atomic_size_t owners;
} owned_block_t;

/* As native_call_begin, for a block that must not have been freed. */
bool native_block_begin(owned_block_t *owned);
void native_block_keep(owned_block_t *owned);
/* Needs no GIL. */
void native_block_drop(owned_block_t *owned);

/* ---- order.c ------------------------------------------------------------- */

/* Makes the stream `to` wait, on the device, for the work of `from` so far. Nothing is to be done
 * where one of them is no stream, or both are the same. Without the GIL. */
cuarena_status_t native_order(owned_arena_t *home, cuarena_stream_t from, cuarena_stream_t to);

/* ---- Types --------------------------------------------------------------- */

typedef struct arena_object {
    PyObject ob_base;
    owned_arena_t *home; /* NULL before __init__ */
} arena_object_t;

typedef struct block_object {
    PyObject ob_base;
    owned_block_t *owned;
    PyObject *arena; /* of which it is */
    void *address;   /* NULL: it may move, or is empty */
    bool movable;
} block_object_t;

extern PyTypeObject *native_arena_type;
extern PyTypeObject *native_block_type;
/* More methods of arenas, each list ended by an empty one. */
extern PyMethodDef native_arena_calls[];   /* calls.c */
extern PyMethodDef native_arena_figures[]; /* figures.c */
/* Functions of the module, likewise. */
extern PyMethodDef native_driver_functions[]; /* figures.c */

/* Methods of blocks: dlpack.c. */
extern const char native_dlpack_doc[];
PyObject *native_block_dlpack(PyObject *object, PyObject *args, PyObject *kwargs);
PyObject *native_block_dlpack_device(PyObject *object, PyObject *unused);

/* Begins a session on a stream: capture.c. */
PyObject *native_capture(PyObject *arena, PyObject *from);

/* Compaction and callbacks of Python: callbacks.c. */
PyObject *native_compact(PyObject *self, PyObject *args);
PyObject *native_set_oom_handler(PyObject *self, PyObject *handler);
PyObject *native_set_relocation_callback(PyObject *self, PyObject *callback);

/* Each makes its type and adds it to the module; false with an exception. */
bool native_add_arena(PyObject *module);
bool native_add_block(PyObject *module);
bool native_add_capture(PyObject *module);
bool native_add_cupy(PyObject *module);

/* Makes the Python object of a block, which then owns it; NULL with an exception, and the block is
 * freed. */
PyObject *native_new_block(arena_object_t *arena, cuarena_block_t block, cuarena_stream_t stream,
                           uint64_t bytes, bool movable);

#endif
