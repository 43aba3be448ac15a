#include "standin_fixture.h"
#include "checks.h"

#include <stdio.h>
#include <stdlib.h>

CUcontext context;

static void start(const char *devices)
{
    standin = driver_standin();
    ck_assert_int_eq(standin->standin_configure("DEVICES", devices), 0);
    standin->standin_report_print(0);
    driver_start();
    context = driver_take_context(0);
}

void one_device(void)
{
    start("1");
}

void lost_device(void)
{
    standin = driver_standin();
    standin->standin_configure("STRICT", "0");
    one_device();
}

void two_devices(void)
{
    start("2");
}

void nothing_left(void)
{
    expect_clean();
    driver_drop_context(0);
    standin->standin_check_leaks();
    expect_clean();
}

CUdeviceptr new_memory(size_t bytes)
{
    CUdeviceptr address = 0;
    driver_ok(driver.cuMemAlloc(&address, bytes));
    return address;
}

void expect_report(standin_kind_t kind)
{
    size_t all = standin->standin_report_count(STANDIN_ANY);
    size_t count = standin->standin_report_count(kind);
    if (count == 0 || count != all) {
        ck_abort_msg("expected reports of kind %d alone, got %zu of them and "
                     "%zu in all; the first: %s",
                     (int)kind, count, all, standin->standin_report_text(0));
    }
    standin->standin_reports_clear();
}

void expect_clean(void)
{
    if (standin->standin_report_count(STANDIN_ANY) != 0) {
        ck_abort_msg("expected no report, got %zu; the first: %s",
                     standin->standin_report_count(STANDIN_ANY), standin->standin_report_text(0));
    }
}

int standin_main(Suite *suite)
{
    driver_kind_t kind = driver_kind();
    if (kind == DRIVER_NONE)
        return driver_result(kind, EXIT_SUCCESS);
    if (kind == DRIVER_REAL) {
        puts("skipped: this is about the stand-in, and here is a real driver");
        return 77;
    }
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
