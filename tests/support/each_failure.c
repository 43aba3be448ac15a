#include "support/each_failure.h"

#include "checks.h"

#include "base/host_test.h"
#include "support/driver_library.h"
#include "support/expect.h"

int each_call_fails(life_t life, cuai_cu_result_t result,
                    bool (*may_be)(cuarena_status_t status, cuai_cu_result_t result))
{
    standin = driver_standin();
    expect_ok(life());
    uint64_t live = cuai_host_live();
    uint64_t failed = 1;
    int told = 0;
    for (uint64_t nth = 1; failed != 0; nth++) {
        standin->standin_fail_clear();
        standin->standin_fail_any(nth, result, 0);
        cuarena_status_t status = life();
        failed = standin->standin_failed();
        standin->standin_fail_clear();
        expect_u64(cuai_host_live(), live);
        bool ok = status == CUARENA_OK;
        ck_assert_msg(ok || (failed != 0 && may_be(status, result)),
                      "call %d failing with %d: got %s", (int)nth, (int)result,
                      cuarena_status_name(status));
        told += !ok;
    }
    return told;
}

void each_allocation_fails(life_t life)
{
    expect_ok(life());
    uint64_t live = cuai_host_live();
    bool refused = true;
    int told = 0;
    for (uint64_t nth = 1; refused; nth++) {
        cuai_host_fail_at(nth);
        cuarena_status_t status = life();
        refused = cuai_host_calls() >= nth;
        cuai_host_fail_at(0);
        expect_u64(cuai_host_live(), live);
        told += status != CUARENA_OK;
        if (!refused || status != CUARENA_OK)
            expect_status(status, refused ? CUARENA_OUT_OF_MEMORY : CUARENA_OK);
    }
    ck_assert_int_ge(told, 1);
}
