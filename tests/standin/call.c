#define _GNU_SOURCE
#include "call.h"

#include "capture.h"
#include "context.h"
#include "entry.h"
#include "fault.h"
#include "options.h"
#include "user_object.h"
#include "work.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Thread_local sd_thread_t sd_thread;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static bool forked; /* after cuInit */
static uint32_t last_thread;
static uint64_t sync_count;
static uint64_t call_counts[SD_ENTRY_COUNT];

/* ---- The lock ---------------------------------------------------------- */

void sd_lock(void)
{
    pthread_mutex_lock(&mutex);
    sd_options_read();
}

void sd_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void sd_pause(void)
{
    const struct timespec moment = {0, 50000};
    const char *call = sd_thread.call;
    pthread_mutex_unlock(&mutex);
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&mutex);
    sd_thread.call = call;
}

/* The child has this one thread, which holds the lock. */
static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    pthread_mutex_unlock(&mutex);
    forked = initialised;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- Brackets ---------------------------------------------------------- */

static void break_rule(unsigned rule, standin_kind_t kind, const char *what)
{
    for (unsigned i = 0; i < sd_thread.bracket_count; i++) {
        sd_bracket_t *bracket = &sd_thread.brackets[i];
        if ((bracket->rules & rule) == 0)
            continue;
        bracket->broken++;
        sd_report(kind, "%s in: %s", what, bracket->what);
    }
}

void standin_bracket_begin(unsigned rules, const char *what)
{
    if (sd_thread.bracket_count == SD_BRACKETS_MAX)
        sd_die("more than %d brackets", SD_BRACKETS_MAX);
    sd_bracket_t *bracket = &sd_thread.brackets[sd_thread.bracket_count++];
    *bracket = (sd_bracket_t){
        .rules = rules, .what = what, .context = sd_context_current(), .depth = sd_thread.depth};
}

static void check_context(sd_bracket_t *bracket)
{
    if ((bracket->rules & STANDIN_SAME_CONTEXT) == 0 ||
        (bracket->context == sd_context_current() && bracket->depth == sd_thread.depth))
        return;
    bracket->broken++;
    sd_lock();
    sd_report(STANDIN_CONTEXT_CHANGED,
              "%s left context %p current, %u on the stack; it found %p, %u", bracket->what,
              (void *)sd_context_current(), sd_thread.depth, (void *)bracket->context,
              bracket->depth);
    sd_unlock();
}

size_t standin_bracket_end(void)
{
    if (sd_thread.bracket_count == 0)
        sd_die("a bracket ends that did not begin");
    sd_bracket_t *bracket = &sd_thread.brackets[--sd_thread.bracket_count];
    check_context(bracket);
    return bracket->broken;
}

void sd_sync_count(void)
{
    sync_count++;
    break_rule(STANDIN_NO_SYNC, STANDIN_SYNC, "a wait for the device");
}

/* ---- Calls ------------------------------------------------------------- */

static void count_call(sd_entry_id_t entry)
{
    unsigned needs = sd_entries[entry].needs;
    call_counts[entry]++;
    break_rule(STANDIN_NO_CALLS, STANDIN_CALL, "a driver call");
    if ((needs & (SD_PURE | SD_QUERY)) == 0)
        break_rule(STANDIN_NO_DEVICE_CALLS, STANDIN_CALL, "a driver call");
}

static bool is_lacking(unsigned needs)
{
    return ((needs & SD_VMM) != 0 && sd_lacks("vmm")) ||
           ((needs & SD_POOLS) != 0 && sd_lacks("pools")) ||
           ((needs & SD_MANAGED) != 0 && sd_lacks("managed"));
}

static CUresult check_state(unsigned needs)
{
    bool device = (needs & SD_CONTEXT) != 0;
    if ((needs & (SD_INIT | SD_CONTEXT)) != 0 && !initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (sd_thread.in_host_function && (needs & SD_PURE) == 0) {
        sd_report(STANDIN_MISUSE, "called from a host function");
        return CUDA_ERROR_NOT_PERMITTED;
    }
    if (is_lacking(needs))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (device && sd_context_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (device && !sd_context_current()->object.alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (device && sd_context_current()->lost != CUDA_SUCCESS)
        return sd_context_current()->lost;
    if ((needs & SD_UNSAFE) != 0)
        return sd_capture_forbids_unsafe();
    return CUDA_SUCCESS;
}

static CUresult take_fault(const sd_entry_t *entry)
{
    CUresult fault = sd_fault_take(entry->name, (entry->needs & SD_PURE) == 0);
    if (sd_error_sticks(fault) && sd_context_current() != NULL)
        sd_context_lose(sd_context_current(), fault);
    return fault;
}

static void be_slow(const char *name)
{
    uint64_t delay = sd_fault_delay(name);
    sd_fault_hold(name);
    if (delay == 0)
        return;
    sd_unlock();
    struct timespec rest = {(time_t)(delay / 1000000), (long)(delay % 1000000) * 1000};
    nanosleep(&rest, NULL);
    sd_lock();
}

CUresult sd_call_begin(sd_entry_id_t id)
{
    const sd_entry_t *entry = &sd_entries[id];
    sd_lock();
    if (sd_thread.id == 0)
        sd_thread.id = ++last_thread;
    sd_thread.call = entry->name;
    count_call(id);
    if (forked && (entry->needs & SD_PURE) == 0) {
        sd_report(STANDIN_MISUSE, "called in a forked child");
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    be_slow(entry->name);
    CUresult result = take_fault(entry);
    if (result == CUDA_SUCCESS)
        result = check_state(entry->needs);
    if (result == CUDA_SUCCESS)
        sd_work_amble();
    return result;
}

CUresult sd_call_end(CUresult result)
{
    sd_keeps_poll();
    sd_thread.call = NULL;
    sd_unlock();
    return result;
}

CUstream sd_per_thread(CUstream stream)
{
    return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

static CUresult init(unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (sd_options.device_count == 0)
        return CUDA_ERROR_NO_DEVICE;
    initialised = true;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuInit, cuInit, (unsigned flags), init(flags))

/* ---- Counts ------------------------------------------------------------ */

uint64_t standin_calls(const char *entry)
{
    uint64_t count = 0;
    sd_lock();
    for (size_t i = 0; i < SD_ENTRY_COUNT; i++) {
        if (entry == NULL || strcmp(sd_entries[i].name, entry) == 0)
            count += call_counts[i];
    }
    sd_unlock();
    return count;
}

uint64_t standin_syncs(void)
{
    sd_lock();
    uint64_t count = sync_count;
    sd_unlock();
    return count;
}

void standin_counts_clear(void)
{
    sd_lock();
    memset(call_counts, 0, sizeof(call_counts));
    sync_count = 0;
    sd_unlock();
}

int standin_version(void)
{
    return STANDIN_VERSION;
}

int standin_configure(const char *key, const char *value)
{
    bool any_time = strcmp(key, "SEED") == 0 || strcmp(key, "PACE") == 0 ||
                    strcmp(key, "SWALLOW") == 0 || strcmp(key, "PATIENCE") == 0;
    sd_lock();
    bool ok = (any_time || !initialised) && sd_options_set(key, value);
    sd_unlock();
    return ok ? 0 : -1;
}

uint64_t standin_seed(void)
{
    sd_lock();
    uint64_t seed = sd_options.seed;
    sd_unlock();
    return seed;
}
