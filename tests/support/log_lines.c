#include "log_lines.h"

#include "expect.h"

#include <cuarena/base.h>
#include <stdio.h>
#include <string.h>

log_lines_t logged;

void keep_line(void *user, int32_t level, const char *line)
{
    (void)user;
    ck_assert_int_lt(logged.count, (int)COUNT_OF(logged.list));
    ck_assert_ptr_null(strchr(line, '\n'));
    log_line_t *kept = &logged.list[logged.count++];
    kept->level = level;
    (void)snprintf(kept->text, sizeof kept->text, "%s", line);
}

void keep_report_line(void *user, const char *line)
{
    keep_line(user, 0, line);
}

void log_listen(int32_t level)
{
    logged.count = 0;
    cuarena_log_set_callback(keep_line, NULL);
    expect_ok(cuarena_log_set_level(level));
}

void log_listen_no_more(void)
{
    cuarena_log_set_callback(NULL, NULL);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
}

const char *log_text(int32_t level, const char *words)
{
    static char text[8192];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < logged.count; i++) {
        const log_line_t *kept = &logged.list[i];
        if ((level != 0 && kept->level != level) || strstr(kept->text, words) == NULL)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", kept->text);
        ck_assert_uint_lt(used, sizeof text);
    }
    return text;
}
