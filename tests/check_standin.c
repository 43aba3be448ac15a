/*
 * The stand-in driver: that each fault which it is to see is seen, and that
 * programs which do nothing wrong are clean whatever the seed.
 */
#include "support/driver_under_test.h"
#include "support/expect.h"

START_TEST(test_copy_there_and_back)
{
    char text[] = "there and back";
    char back[sizeof(text)] = "";
    CUdeviceptr at;
    driver_ok(driver.cuMemAlloc(&at, sizeof(text)));
    driver_ok(driver.cuMemcpyHtoD(at, text, sizeof(text)));
    driver_ok(driver.cuMemcpyDtoH(back, at, sizeof(text)));
    expect_text(back, text);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

static void setup(void)
{
    driver_start();
    driver_take_context(0);
}

static void teardown(void)
{
    driver_drop_context(0);
    ck_assert_uint_eq(driver_standin()->standin_check_leaks(), 0);
    ck_assert_uint_eq(driver_reports(STANDIN_ANY), 0);
}

int main(void)
{
    int missing = driver_missing();
    if (missing != 0)
        return missing;
    Suite *suite = suite_create("standin");
    TCase *tcase =
        suite_add_list(suite, "standin", TEST_LIST(test_copy_there_and_back));
    tcase_add_checked_fixture(tcase, setup, teardown);
    return suite_main(suite);
}
