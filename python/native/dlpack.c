/* Blocks as tensors of other packages, without a copy: DLPack and __cuda_array_interface__. The
 * structs are those of DLPack 1.0, https://dmlc.github.io/dlpack. */
#include "native.h"

/* ---- What DLPack declares ------------------------------------------------------ */

enum {
    DL_CPU = 1,
    DL_CUDA = 2,
    DL_CUDA_HOST = 3,
    DL_CUDA_MANAGED = 13
};
enum {
    DL_UINT = 1
};

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type;
        int32_t id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code;
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* NULL: compact */
    uint64_t byte_offset;
} dl_tensor_t;

typedef struct dl_managed {
    dl_tensor_t tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed_t;

typedef struct dl_versioned {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor_t tensor;
} dl_versioned_t;

/* ---- Tensors that own a block ------------------------------------------------------ */

typedef struct exported {
    union {
        dl_managed_t plain;
        dl_versioned_t versioned;
    } as;
    int64_t shape;
    owned_block_t *owned;
    cuarena_stream_t stream; /* of the consumer */
} exported_t;

static void end(exported_t *exported)
{
    owned_block_t *owned = exported->owned;
    if (owned->block)
        cuarena_block_unpin_on(owned->home->arena, owned->block, exported->stream);
    native_block_drop(owned);
    free(exported);
}

static void end_plain(dl_managed_t *self)
{
    end(self->context);
}

static void end_versioned(dl_versioned_t *self)
{
    end(self->context);
}

static int32_t device_type(const owned_arena_t *home)
{
    switch (home->memory) {
    case CUARENA_MEMORY_DEVICE:
        return DL_CUDA;
    case CUARENA_MEMORY_PINNED:
        return DL_CUDA_HOST;
    case CUARENA_MEMORY_MANAGED:
        return DL_CUDA_MANAGED;
    default:
        return DL_CPU;
    }
}

static int32_t device_id(const owned_arena_t *home)
{
    return home->device < 0 ? 0 : home->device;
}

static void fill(dl_tensor_t *tensor, exported_t *exported, void *address)
{
    tensor->data = address;
    tensor->device.type = device_type(exported->owned->home);
    tensor->device.id = device_id(exported->owned->home);
    tensor->ndim = 1;
    tensor->dtype.code = DL_UINT;
    tensor->dtype.bits = 8;
    tensor->dtype.lanes = 1;
    tensor->shape = &exported->shape;
}

/* Pins the block for a consumer whose stream waits for what was queued on the block's own. */
static cuarena_status_t pin(owned_block_t *owned, cuarena_stream_t stream, void **address_out)
{
    cuarena_t *arena = owned->home->arena;
    cuarena_status_t status = cuarena_block_pin_on(arena, owned->block, stream, address_out);
    if (status == CUARENA_OK) {
        status = native_order(owned->home, owned->stream, stream);
        if (status != CUARENA_OK)
            cuarena_block_unpin(arena, owned->block);
    }
    return status;
}

/* Owns the block before it is pinned, so that no other thread frees it meanwhile. */
static exported_t *export_block(owned_block_t *owned, cuarena_stream_t stream, void **address_out)
{
    exported_t *exported = calloc(1, sizeof *exported);
    cuarena_status_t status;

    if (!exported) {
        native_call_end(owned->home);
        PyErr_NoMemory();
        return NULL;
    }
    native_block_keep(owned);
    NATIVE_CALL(owned->home, status, pin(owned, stream, address_out));
    if (status != CUARENA_OK) {
        native_block_drop(owned);
        free(exported);
        native_raise(status);
        return NULL;
    }
    exported->owned = owned;
    exported->stream = stream;
    exported->shape = (int64_t)owned->bytes;
    return exported;
}

/* ---- Capsules ------------------------------------------------------------------------ */

static const char plain_name[] = "dltensor";
static const char versioned_name[] = "dltensor_versioned";

/* A consumer renames a capsule that it took; one with its own name nobody took. */
static void end_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_IsValid(capsule, plain_name) ? plain_name : versioned_name;
    exported_t *exported;

    if (!PyCapsule_IsValid(capsule, name))
        return;
    exported = PyCapsule_GetPointer(capsule, name); /* begins with the tensor */
    NATIVE_WITHOUT_GIL(end(exported));
}

static PyObject *capsule_of(exported_t *exported, void *address, bool versioned)
{
    dl_versioned_t *with = &exported->as.versioned;
    dl_managed_t *without = &exported->as.plain;
    PyObject *capsule;

    if (versioned) {
        with->version.major = 1;
        with->context = exported;
        with->deleter = end_versioned;
        fill(&with->tensor, exported, address);
    } else {
        without->context = exported;
        without->deleter = end_plain;
        fill(&without->tensor, exported, address);
    }
    capsule = PyCapsule_New(&exported->as, versioned ? versioned_name : plain_name, end_capsule);
    if (!capsule)
        end(exported);
    return capsule;
}

/* Whether a consumer's stream is -1. Never an exception: what is no number is looked at later. */
static bool is_unordered(PyObject *from)
{
    PyObject *number = PyIndex_Check(from) ? PyNumber_Index(from) : NULL;
    int overflow = 0;
    bool unordered = number && PyLong_AsLongAndOverflow(number, &overflow) == -1 && !overflow;

    if (!number)
        PyErr_Clear();
    Py_XDECREF(number);
    return unordered;
}

/* The stream of a consumer: on a device None is the legacy default stream, and -1 asks for no
 * order. Memory of the host has none. */
static bool consumer(PyObject *from, const owned_block_t *owned, cuarena_stream_t *stream_out)
{
    *stream_out = CUARENA_NO_STREAM;
    if (owned->home->device < 0)
        return true;
    if (!from || from == Py_None) {
        *stream_out = owned->stream == CUARENA_NO_STREAM ? CUARENA_NO_STREAM : NULL;
        return true;
    }
    if (is_unordered(from)) {
        *stream_out = owned->stream;
        return true;
    }
    return native_stream(from, stream_out);
}

/* Whether (type, id) is this device, or None. */
static int is_here(PyObject *device, const owned_arena_t *home)
{
    int wanted[2];
    if (!device || device == Py_None)
        return 1;
    if (!native_pair(device, "dl_device", "(device_type, device_id)", wanted))
        return -1;
    return wanted[0] == device_type(home) && wanted[1] == device_id(home);
}

/* Whether the consumer takes the capsule with a version: 1, 0, or -1 with an exception. */
static int wants_version(PyObject *max_version)
{
    int most[2];
    if (!max_version || max_version == Py_None)
        return 0;
    if (!native_pair(max_version, "max_version", "(major, minor)", most))
        return -1;
    return most[0] >= 1;
}

static bool can_export(const owned_block_t *owned, PyObject *device, PyObject *copy)
{
    int here = is_here(device, owned->home);
    if (here < 0)
        return false;
    if (!here || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "a block is exported where it is, without a copy");
        return false;
    }
    if (owned->home->memory == CUARENA_MEMORY_NONE) {
        PyErr_SetString(PyExc_BufferError, "an arena with memory=none has no bytes");
        return false;
    }
    return true;
}

const char native_dlpack_doc[] =
    "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
    "The block as a tensor of bytes, without a copy.\n\n"
    "It stays where it is, and lives, until the consumer ends the tensor. The\n"
    "consumer's stream waits for the block's own; the arena knows it from then on,\n"
    "see `Arena.release_stream`.";

PyObject *native_block_dlpack(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *from = NULL, *version = NULL, *device = NULL, *copy = NULL;
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_stream_t stream;
    exported_t *exported;
    void *address = NULL;
    int versioned;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &from, &version,
                                     &device, &copy))
        return NULL;
    versioned = wants_version(version);
    if (versioned < 0 || !can_export(owned, device, copy) || !consumer(from, owned, &stream) ||
        !native_block_begin(owned))
        return NULL;
    exported = export_block(owned, stream, &address);
    return exported ? capsule_of(exported, address, versioned) : NULL;
}

PyObject *native_block_dlpack_device(PyObject *object, PyObject *NATIVE_UNUSED(unused))
{
    const owned_arena_t *home = ((block_object_t *)object)->owned->home;
    return Py_BuildValue("(ii)", (int)device_type(home), (int)device_id(home));
}
