#include "support/cuda_expect.h"

#include "support/expect.h"

bool standin_is_here(void)
{
    standin = driver_standin();
    return standin != NULL;
}

void add_standin_test(TCase *tcase, const TTest *test, size_t rows)
{
    if (driver_is_standin_for(test->name))
        tcase_add_loop_test(tcase, test, 0, (int)rows);
}

void standin_quiet(bool quiet)
{
    if (!standin_is_here())
        return;
    standin->standin_report_print(!quiet);
    if (!quiet)
        standin->standin_reports_clear();
}

uint64_t standin_used(void)
{
    return standin_is_here() ? standin->standin_device_used(0) : 0;
}

void expect_used(uint64_t bytes)
{
    if (standin_is_here())
        expect_u64(standin->standin_device_used(0), bytes);
}

void expect_no_report(void)
{
    if (standin_is_here() && standin->standin_report_count(0) != 0)
        ck_abort_msg("the stand-in reports: %s", standin->standin_report_text(0));
}

void expect_nothing_left(void)
{
    static const char *const kinds[] = {
        "allocation", "reservation", "handle", "mapping",    "pool",
        "event",      "stream",      "module", "descriptor",
    };
    if (!standin_is_here())
        return;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (standin->standin_live(kinds[i]) != 0)
            ck_abort_msg("%zu left of kind %s", standin->standin_live(kinds[i]), kinds[i]);
    expect_no_report();
}
