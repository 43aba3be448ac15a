/*
 * The C++ header without exceptions and run-time types, and with the thread's own stream as NULL,
 * in the same program as code that was compiled otherwise.
 */
#include "expect.hpp"

#ifdef __cpp_exceptions
#error "this file is about code without exceptions"
#endif

void other_variant_tells_statuses();
void other_variant_aborts();

/* Every try_ form that fails tells why, and nothing ends the program. */
void other_variant_tells_statuses()
{
    EXPECT_EQ(cuarena::arena::try_create("pool=no").code(), cuarena::status::bad_argument);
    cuarena::result<cuarena::arena> made = cuarena::arena::try_create("pool=1MiB");
    EXPECT_EQ(made.code(), cuarena::status::ok);
    cuarena::arena arena = made.value();
    EXPECT_EQ(arena.try_alloc(2 << 20).code(), cuarena::status::out_of_memory);
    EXPECT_EQ(arena.try_make_block(2 << 20).code(), cuarena::status::out_of_memory);
    auto values = arena.try_make_unique<int[]>(100);
    EXPECT_EQ(values.code(), cuarena::status::ok);
    EXPECT_EQ((*values)[99], 0);
    EXPECT_EQ(arena.try_compact().code(), cuarena::status::ok);
    EXPECT_EQ(arena.try_destroy(), cuarena::status::busy);
    values->reset();
    EXPECT_VALID(arena);
    EXPECT_EQ(arena.try_destroy(), cuarena::status::ok);
}

/* What would throw writes its message and aborts: never returns. */
void other_variant_aborts()
{
    cuarena::arena arena("pool=1MiB");
    (void)arena.alloc(2 << 20);
}
