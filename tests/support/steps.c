#include "steps.h"

#include "checks.h"
#include "expect.h"

#include <stdio.h>
#include <string.h>

const char *steps_of(cuarena_t *arena)
{
    static char text[256];
    cuarena_step_stats_t steps[CUARENA_STEP_COUNT];
    size_t count = 0, used = 0;
    text[0] = '\0';
    expect_ok(cuarena_step_stats(arena, steps, CUARENA_STEP_COUNT, &count));
    expect_u64(count, CUARENA_STEP_COUNT);
    for (size_t i = 0; i < count; i++)
        if (steps[i].tried != 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %d/%d",
                                     used == 0 ? "" : ", ", steps[i].name, (int)steps[i].tried,
                                     (int)steps[i].served);
    return text;
}

static char heard[512];

static void keep_step(void *user, int32_t level, const char *line)
{
    static const char of_bytes[] = " bytes: ";
    const char *step = strstr(line, of_bytes);
    size_t used = strlen(heard);
    (void)user;
    if (level != CUARENA_LOG_DEBUG || strstr(line, "no room for") == NULL)
        return;
    ck_assert_msg(step != NULL, "no step in: %s", line);
    snprintf(heard + used, sizeof heard - used, "%s%s", used == 0 ? "" : ", ",
             step + strlen(of_bytes));
}

void steps_listen(void)
{
    heard[0] = '\0';
    expect_ok(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    cuarena_log_set_callback(keep_step, NULL);
}

const char *steps_heard(void)
{
    cuarena_log_set_callback(NULL, NULL);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
    return heard;
}
