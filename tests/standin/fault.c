#include "fault.h"

#include "call.h"
#include "context.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 64

typedef struct rule {
    char entry[64]; /* "": any */
    uint64_t left;  /* calls until it strikes; 0: it has */
    CUresult code;
    bool stays;
} rule_t;

/* How long calls of an entry point wait before they do anything. */
typedef struct delay {
    char entry[64];
    uint64_t microseconds;
    bool holds;       /* until it is let go of */
    uint64_t waiting; /* threads that are held */
} delay_t;

static rule_t rules[RULES_MAX];
static size_t rule_count;
static delay_t delays[RULES_MAX];
static size_t delay_count;
static uint64_t failed;

static bool matches(const rule_t *rule, const char *entry, bool countable)
{
    return rule->entry[0] != '\0' ? strcmp(rule->entry, entry) == 0 : countable;
}

/* One call of what the rule is about: whether the rule strikes. */
static bool strikes(rule_t *rule)
{
    if (rule->left == 0)
        return rule->stays;
    return --rule->left == 0;
}

CUresult sd_fault_take(const char *entry, bool countable)
{
    CUresult code = CUDA_SUCCESS;
    for (size_t i = 0; i < rule_count; i++) {
        if (matches(&rules[i], entry, countable) && strikes(&rules[i]))
            code = rules[i].code;
    }
    failed += code != CUDA_SUCCESS;
    return code;
}

static delay_t *find_delay(const char *entry)
{
    for (size_t i = 0; i < delay_count; i++)
        if (strcmp(delays[i].entry, entry) == 0)
            return &delays[i];
    return NULL;
}

uint64_t sd_fault_delay(const char *entry)
{
    const delay_t *delay = find_delay(entry);
    return delay != NULL ? delay->microseconds : 0;
}

void sd_fault_hold(const char *entry)
{
    delay_t *delay = find_delay(entry);
    if (delay == NULL)
        return;
    delay->waiting++;
    while (delay->holds)
        sd_pause();
    delay->waiting--;
}

bool sd_error_sticks(CUresult error)
{
    switch (error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

static bool add_rule(const char *entry, uint64_t nth, int code, bool stays)
{
    if (rule_count == RULES_MAX || nth == 0 || (entry[0] != '\0' && !sd_entry_known(entry)))
        return false;
    rule_t *rule = &rules[rule_count++];
    snprintf(rule->entry, sizeof(rule->entry), "%s", entry);
    rule->left = nth;
    rule->code = (CUresult)code;
    rule->stays = stays;
    return true;
}

/* The entry point's row, made if there is none; NULL if nothing is called so. Rows stay where they
 * are: threads wait beside them. */
static delay_t *delay_of(const char *entry)
{
    delay_t *delay = find_delay(entry);
    if (delay != NULL || delay_count == RULES_MAX || !sd_entry_known(entry))
        return delay;
    delay = &delays[delay_count++];
    snprintf(delay->entry, sizeof(delay->entry), "%s", entry);
    return delay;
}

static bool set_delay(const char *entry, uint64_t microseconds)
{
    delay_t *delay = delay_of(entry);
    if (delay != NULL)
        delay->microseconds = microseconds;
    return delay != NULL;
}

static bool parse_rule(const char *item)
{
    char entry[64];
    char nth[32];
    int code;
    if (sscanf(item, "%63[^:]:%31[^:]:%d", entry, nth, &code) != 3)
        return false;
    return add_rule(strcmp(entry, "any") == 0 ? "" : entry, strtoull(nth, NULL, 10), code,
                    strchr(nth, '+') != NULL);
}

bool sd_fault_parse(const char *list)
{
    char item[160];
    while (sd_list_next(&list, item, sizeof(item))) {
        if (!parse_rule(item))
            return false;
    }
    return true;
}

bool sd_delay_parse(const char *list)
{
    char item[160];
    char entry[64];
    unsigned long long microseconds;
    while (sd_list_next(&list, item, sizeof(item))) {
        if (sscanf(item, "%63[^:]:%llu", entry, &microseconds) != 2 ||
            !set_delay(entry, microseconds))
            return false;
    }
    return true;
}

/* ---- Control ----------------------------------------------------------- */

int standin_fail(const char *entry, uint64_t nth, int code, int from_then_on)
{
    sd_lock();
    bool ok = entry[0] != '\0' && add_rule(entry, nth, code, from_then_on != 0);
    sd_unlock();
    return ok ? 0 : -1;
}

void standin_fail_any(uint64_t nth, int code, int from_then_on)
{
    sd_lock();
    add_rule("", nth, code, from_then_on != 0);
    sd_unlock();
}

void standin_fail_clear(void)
{
    sd_lock();
    rule_count = 0;
    failed = 0;
    sd_unlock();
}

uint64_t standin_failed(void)
{
    sd_lock();
    uint64_t count = failed;
    sd_unlock();
    return count;
}

int standin_delay(const char *entry, uint64_t microseconds)
{
    sd_lock();
    bool ok = set_delay(entry, microseconds);
    sd_unlock();
    return ok ? 0 : -1;
}

int standin_hold(const char *entry, int hold)
{
    sd_lock();
    delay_t *delay = delay_of(entry);
    if (delay != NULL)
        delay->holds = hold != 0;
    sd_unlock();
    return delay != NULL ? 0 : -1;
}

uint64_t standin_held(const char *entry)
{
    sd_lock();
    const delay_t *delay = find_delay(entry);
    uint64_t waiting = delay != NULL && delay->holds ? delay->waiting : 0;
    sd_unlock();
    return waiting;
}

void standin_lose_device(int device, int code)
{
    sd_lock();
    sd_device_lose(device, (CUresult)code);
    sd_unlock();
}
