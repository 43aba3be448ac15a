#include "report.h"

#include <inttypes.h>

#include "table.h"

const char *report_option(const cuarena_config_t *config, const char *key)
{
    static _Thread_local char text[128];
    if (cuarena_config_get(config, key, text, sizeof text) != CUARENA_OK)
        (void)snprintf(text, sizeof text, "?");
    return text;
}

/* ---- JSON -------------------------------------------------------------- */

static void add_setting(json_t *object, const measure_ask_t *ask, const trace_t *trace)
{
    const cuarena_config_t *config = &ask->setup.config;
    json_add_text(object, "trace", trace->path);
    json_add_text(object, "preset", report_option(config, "preset"));
    json_add_text(object, "memory", report_option(config, "memory"));
    json_add_text(object, "policy", report_option(config, "placement"));
    json_add_count(object, "streams", ask->setup.streams ? trace->stream_count : 0);
}

void report_smallest(json_t *object, const char *bytes, const char *ratio,
                     const smallest_t *smallest)
{
    if (smallest->found) {
        json_add_count(object, bytes, smallest->bytes);
        json_add_number(object, ratio, smallest->ratio);
    } else {
        json_add_null(object, bytes);
        json_add_null(object, ratio);
    }
}

/* Reserved bytes at their highest, over the peak; 0 if there is none. */
static double reserved_ratio(const measure_t *m)
{
    uint64_t peak = m->peak_live_bytes;
    return peak > 0 ? (double)m->tally.reserved_peak_bytes / (double)peak : 0;
}

/* What was taken of the memory, and what was waited for. */
static void add_memory(json_t *object, const measure_t *m)
{
    json_add_count(object, "reserved_peak_bytes", m->tally.reserved_peak_bytes);
    if (m->peak_live_bytes > 0)
        json_add_number(object, "reserved_ratio", reserved_ratio(m));
    else
        json_add_null(object, "reserved_ratio");
    json_add_count(object, "segments", m->tally.segments);
    json_add_count(object, "segments_at_peak", m->segments_at_peak);
    json_add_count(object, "memory_calls", m->tally.memory_calls);
    json_add_count(object, "driver_calls", m->tally.driver_calls);
    json_add_count(object, "steals", m->tally.steals);
    json_add_count(object, "stream_waits", m->tally.stream_waits);
    json_add_count(object, "host_waits", m->tally.host_waits);
}

static void add_or_null(json_t *object, const char *key, bool there, uint64_t value)
{
    if (there)
        json_add_count(object, key, value);
    else
        json_add_null(object, key);
}

static void add_cache(json_t *object, const player_tally_t *tally)
{
    add_or_null(object, "hits", tally->caches, tally->hits);
    add_or_null(object, "misses", tally->caches, tally->misses);
    add_or_null(object, "cached_peak_bytes", tally->caches, tally->cached_peak_bytes);
}

static void add_counts(json_t *object, const measure_t *m)
{
    json_add_count(object, "events", m->events);
    json_add_count(object, "allocs", m->allocs);
    json_add_count(object, "frees", m->frees);
    json_add_count(object, "peak_live_bytes", m->peak_live_bytes);
    json_add_count(object, "pool_bytes", m->tally.capacity_bytes);
    report_smallest(object, "min_pool_bytes", "min_pool_ratio", &m->min_pool);
    report_smallest(object, "min_limit_bytes", "min_limit_ratio", &m->min_limit);
    json_add_count(object, "failed", m->failed);
    json_add_count(object, "compactions", m->tally.compactions);
    json_add_count(object, "moves", m->tally.moves);
    json_add_count(object, "bytes_moved", m->tally.bytes_moved);
    json_add_count(object, "largest_free_bytes_at_peak", m->largest_free_bytes_at_peak);
    add_memory(object, m);
    add_cache(object, &m->tally);
}

static void add_times(json_t *object, const measure_t *m)
{
    json_add_number(object, "ns_per_op_mean", m->ns_mean);
    json_add_count(object, "ns_per_op_p50", m->ns_p50);
    json_add_count(object, "ns_per_op_p99", m->ns_p99);
    json_add_count(object, "ns_per_op_p999", m->ns_p999);
    json_add_count(object, "ns_per_op_max", m->ns_max);
}

bool report_json(const measure_ask_t *ask, const trace_t *trace, const measure_t *measure,
                 FILE *out)
{
    json_t *object = json_object();
    add_setting(object, ask, trace);
    add_counts(object, measure);
    add_times(object, measure);
    return json_print_line(object, out);
}

/* ---- The table --------------------------------------------------------- */

static bool caches(const measure_ask_t *ask)
{
    return ask->setup.config.keep == CUARENA_KEEP_CACHE;
}

static void add_titles(table_t *table, const measure_ask_t *ask)
{
    static const char *const always[] = {"trace", "events", "failed",
                                         "peak",  "pool",   "largest free"};
    static const char *const times[] = {"mean ns", "p50", "p99", "p99.9", "max"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        table_add(table, "%s", always[i]);
    if (ask->min_pool)
        table_add(table, "smallest/peak");
    if (ask->min_limit)
        table_add(table, "limit/peak");
    if (player_grows(&ask->setup)) {
        table_add(table, "reserved/peak");
        table_add(table, "segments");
        table_add(table, "memory calls");
        table_add(table, "driver calls");
    }
    if (caches(ask)) {
        table_add(table, "hits");
        table_add(table, "misses");
        table_add(table, "most cached");
    }
    if (ask->setup.streams) {
        table_add(table, "streams");
        table_add(table, "steals");
        table_add(table, "stream waits");
        table_add(table, "host waits");
    }
    if (ask->setup.compact) {
        table_add(table, "compactions");
        table_add(table, "moves");
        table_add(table, "moved");
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        table_add(table, "%s", times[i]);
    table->columns = table->count;
}

static void add_ratio(table_t *table, const smallest_t *smallest)
{
    if (smallest->found)
        table_add(table, "%.3f", smallest->ratio);
    else
        table_add(table, "-");
}

static void add_row(table_t *table, const measure_ask_t *ask, const trace_t *trace,
                    const measure_t *m)
{
    table_add(table, "%s", trace_title(trace));
    table_add(table, "%" PRIu64, m->events);
    table_add(table, "%" PRIu64, m->failed);
    table_add_bytes(table, m->peak_live_bytes);
    table_add_bytes(table, m->tally.capacity_bytes);
    table_add_bytes(table, m->largest_free_bytes_at_peak);
    if (ask->min_pool)
        add_ratio(table, &m->min_pool);
    if (ask->min_limit)
        add_ratio(table, &m->min_limit);
    if (player_grows(&ask->setup)) {
        table_add(table, "%.3f", reserved_ratio(m));
        table_add(table, "%" PRIu64, m->tally.segments);
        table_add(table, "%" PRIu64, m->tally.memory_calls);
        table_add(table, "%" PRIu64, m->tally.driver_calls);
    }
    if (caches(ask)) {
        table_add(table, "%" PRIu64, m->tally.hits);
        table_add(table, "%" PRIu64, m->tally.misses);
        table_add_bytes(table, m->tally.cached_peak_bytes);
    }
    if (ask->setup.streams) {
        table_add(table, "%" PRIu32, trace->stream_count);
        table_add(table, "%" PRIu64, m->tally.steals);
        table_add(table, "%" PRIu64, m->tally.stream_waits);
        table_add(table, "%" PRIu64, m->tally.host_waits);
    }
    if (ask->setup.compact) {
        table_add(table, "%" PRIu64, m->tally.compactions);
        table_add(table, "%" PRIu64, m->tally.moves);
        table_add_bytes(table, m->tally.bytes_moved);
    }
    table_add(table, "%.1f", m->ns_mean);
    table_add(table, "%" PRIu32, m->ns_p50);
    table_add(table, "%" PRIu32, m->ns_p99);
    table_add(table, "%" PRIu32, m->ns_p999);
    table_add(table, "%" PRIu32, m->ns_max);
}

void report_table(const measure_ask_t *ask, const trace_t *traces, const measure_t *measures,
                  size_t count, FILE *out)
{
    static const char *const keys[] = {"preset", "memory", "placement"};
    const cuarena_config_t *config = &ask->setup.config;
    table_t table = {.columns = 0};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        fprintf(out, "%s %s, ", keys[i], report_option(config, keys[i]));
    fprintf(out, "%s\n", ask->setup.blocks ? "blocks" : "pointers");
    add_titles(&table, ask);
    for (size_t i = 0; i < count; i++)
        add_row(&table, ask, &traces[i], &measures[i]);
    table_print(&table, out);
}
