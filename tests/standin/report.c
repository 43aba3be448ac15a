#include "report.h"

#include "call.h"
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this many are counted but not kept. */
#define KEPT_MAX 4096
#define TEXT_MAX 512

typedef struct report {
    standin_kind_t kind;
    char text[TEXT_MAX];
} report_t;

static struct {
    report_t *list;
    size_t count;
    size_t by_kind[STANDIN_KINDS];
    bool disabled[STANDIN_KINDS];
    bool shut; /* not printed */
} reports = {.disabled = {[STANDIN_FREED_WAITED] = true}};

static const char *const kind_names[STANDIN_KINDS] = {
    "any",     "overlap",         "foreign memory", "freed memory", "no access",
    "no peer", "out of bounds",   "missing wait",   "freed in use", "freed, waited",
    "leak",    "context changed", "unasked sync",   "unasked call", "dead handle",
    "misuse",  "deadlock",        "astray",
};

static void keep(standin_kind_t kind, const char *text)
{
    reports.by_kind[STANDIN_ANY]++;
    reports.by_kind[kind]++;
    if (reports.count == KEPT_MAX)
        return;
    report_t *list = realloc(reports.list, (reports.count + 1) * sizeof(*list));
    if (list == NULL)
        return;
    reports.list = list;
    report_t *report = &list[reports.count++];
    report->kind = kind;
    snprintf(report->text, sizeof(report->text), "%s", text);
}

SD_PRINTF(2, 0)
static void add(standin_kind_t kind, const char *format, va_list values)
{
    char what[TEXT_MAX / 2];
    char text[TEXT_MAX];
    if (reports.disabled[kind])
        return;
    vsnprintf(what, sizeof(what), format, values);
    snprintf(text, sizeof(text), "%s: %s: %s", kind_names[kind],
             sd_thread.call != NULL ? sd_thread.call : "outside", what);
    keep(kind, text);
    if (!reports.shut && !sd_options.quiet) {
        fprintf(stderr, "standin: %s (seed %llu)\n", text, (unsigned long long)sd_options.seed);
    }
}

void sd_report(standin_kind_t kind, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add(kind, format, values);
    va_end(values);
}

void sd_crash(standin_kind_t kind, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    reports.shut = sd_options.quiet = false;
    reports.disabled[kind] = false;
    add(kind, format, values);
    va_end(values);
    abort();
}

void sd_die(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("standin: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    _Exit(STANDIN_EXIT);
}

size_t sd_report_count(standin_kind_t kind)
{
    return kind < STANDIN_KINDS ? reports.by_kind[kind] : 0;
}

/* ---- Control ----------------------------------------------------------- */

size_t standin_report_count(standin_kind_t kind)
{
    sd_lock();
    size_t count = sd_report_count(kind);
    sd_unlock();
    return count;
}

standin_kind_t standin_report_kind(size_t index)
{
    sd_lock();
    standin_kind_t kind = index < reports.count ? reports.list[index].kind : STANDIN_ANY;
    sd_unlock();
    return kind;
}

const char *standin_report_text(size_t index)
{
    sd_lock();
    const char *text = index < reports.count ? reports.list[index].text : "";
    sd_unlock();
    return text;
}

void standin_reports_clear(void)
{
    sd_lock();
    free(reports.list);
    reports.list = NULL;
    reports.count = 0;
    memset(reports.by_kind, 0, sizeof(reports.by_kind));
    sd_unlock();
}

void standin_report_enable(standin_kind_t kind, int enable)
{
    sd_lock();
    if (kind < STANDIN_KINDS)
        reports.disabled[kind] = enable == 0;
    sd_unlock();
}

void standin_report_print(int print)
{
    sd_lock();
    reports.shut = print == 0;
    sd_unlock();
}
