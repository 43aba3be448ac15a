/*
 * What the tests of the C++ header share. A test is a function that calls these; what does not hold
 * is told with its place, and ends the program.
 */
#ifndef CUARENA_TESTS_CXX_EXPECT_HPP
#define CUARENA_TESTS_CXX_EXPECT_HPP

#include <cuarena.hpp>

#include <cstdlib>
#include <iostream>

inline std::ostream &operator<<(std::ostream &out, cuarena::status code)
{
    return out << cuarena::name(code);
}

template <typename A, typename B>
void expect_equal(const A &got, const B &wanted, const char *what, int line)
{
    if (got == wanted)
        return;
    std::cout << "line " << line << ": " << what << " is " << got << ", not " << wanted
              << std::endl;
    std::exit(1);
}

#define EXPECT_EQ(got, wanted) expect_equal(got, wanted, #got, __LINE__)
#define EXPECT(what) expect_equal(!!(what), true, #what, __LINE__)
#define EXPECT_NOT_REACHED() expect_equal(false, true, "an exception before this", __LINE__)

inline void expect_valid(const cuarena::arena &arena, int line)
{
    char text[256] = "";
    if (cuarena_validate(arena.get(), text, sizeof text) == CUARENA_OK)
        return;
    std::cout << "line " << line << ": " << text << std::endl;
    std::exit(1);
}

#define EXPECT_VALID(arena) expect_valid(arena, __LINE__)

#endif
