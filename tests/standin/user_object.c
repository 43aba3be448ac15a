#include "user_object.h"

#include "call.h"
#include "capture.h"
#include "clock.h"

#include <stdlib.h>

struct CUuserObject_st {
    void *user;
    CUhostFn destroy;
    unsigned references;
};

/* References that go when work is done. */
typedef struct waiting {
    sd_keeps_t keeps;
    sd_clock_t after;
    struct waiting *next;
} waiting_t;

static waiting_t *all_waiting;

static void *grown(void *list, size_t count, size_t size)
{
    list = realloc(list, (count + 1) * size);
    if (list == NULL)
        sd_die("the host is out of memory");
    return list;
}

/* ---- References -------------------------------------------------------- */

/* The program's function runs in the call that lets go: a real driver has a thread for it, on which
 * no call is legal either. */
static void let_go(CUuserObject object, unsigned count)
{
    object->references -= count;
    if (object->references > 0)
        return;
    object->destroy(object->user);
    free(object);
}

void sd_keeps_add(sd_keeps_t *keeps, CUuserObject object)
{
    keeps->objects = grown(keeps->objects, keeps->count, sizeof(*keeps->objects));
    keeps->objects[keeps->count++] = object;
}

void sd_keeps_copy(sd_keeps_t *to, const sd_keeps_t *from)
{
    for (size_t i = 0; i < from->count; i++) {
        from->objects[i]->references++;
        sd_keeps_add(to, from->objects[i]);
    }
}

void sd_keeps_drop(sd_keeps_t *keeps, const sd_clock_t *after)
{
    if (keeps->count == 0)
        return;
    waiting_t *waiting = grown(NULL, 0, sizeof(*waiting));
    *waiting = (waiting_t){.keeps = *keeps, .next = all_waiting};
    sd_clock_set(&waiting->after, after);
    all_waiting = waiting;
    *keeps = (sd_keeps_t){NULL, 0};
}

/* Who is told of the end knows that the work is done. */
static void end_waiting(waiting_t *waiting)
{
    sd_observe(&waiting->after);
    for (size_t i = 0; i < waiting->keeps.count; i++)
        let_go(waiting->keeps.objects[i], 1);
    sd_clock_free(&waiting->after);
    free(waiting->keeps.objects);
    free(waiting);
}

void sd_keeps_poll(void)
{
    waiting_t **link = &all_waiting;
    while (*link != NULL) {
        waiting_t *waiting = *link;
        if (sd_complete(&waiting->after)) {
            *link = waiting->next;
            end_waiting(waiting);
        } else {
            link = &waiting->next;
        }
    }
}

/* ---- Calls ------------------------------------------------------------- */

static CUresult create(CUuserObject *handle, void *user, CUhostFn destroy, unsigned references,
                       unsigned flags)
{
    if (handle == NULL || destroy == NULL || references == 0 || flags != 1)
        return CUDA_ERROR_INVALID_VALUE;
    CUuserObject object = grown(NULL, 0, sizeof(*object));
    *object = (struct CUuserObject_st){user, destroy, references};
    *handle = object;
    return CUDA_SUCCESS;
}

static CUresult retain(CUuserObject object, unsigned count)
{
    if (object == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    object->references += count;
    return CUDA_SUCCESS;
}

static CUresult release(CUuserObject object, unsigned count)
{
    if (object == NULL || count == 0 || count > object->references)
        return CUDA_ERROR_INVALID_VALUE;
    let_go(object, count);
    return CUDA_SUCCESS;
}

/* Flag 1: the program's references become the graph's. */
static CUresult retain_by_graph(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    if (object == NULL || count == 0 || flags > 1 || (flags == 1 && count > object->references))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags == 0)
        object->references += count;
    for (unsigned i = 0; i < count; i++)
        sd_keeps_add(sd_graph_keeps(graph), object);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuUserObjectCreate, cuUserObjectCreate,
         (CUuserObject * object, void *user, CUhostFn destroy, unsigned references, unsigned flags),
         create(object, user, destroy, references, flags))
SD_ENTRY(cuUserObjectRetain, cuUserObjectRetain, (CUuserObject object, unsigned count),
         retain(object, count))
SD_ENTRY(cuUserObjectRelease, cuUserObjectRelease, (CUuserObject object, unsigned count),
         release(object, count))
SD_ENTRY(cuGraphRetainUserObject, cuGraphRetainUserObject,
         (CUgraph graph, CUuserObject object, unsigned count, unsigned flags),
         retain_by_graph(graph, object, count, flags))
