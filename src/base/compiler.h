/*
 * What the compiler is told: hints, attributes, the internal assertion.
 */
#ifndef CUAI_BASE_COMPILER_H
#define CUAI_BASE_COMPILER_H

#if defined(__GNUC__)
#define CUAI_LIKELY(x) __builtin_expect(!!(x), 1)
#define CUAI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CUAI_NOINLINE __attribute__((noinline, cold))
#define CUAI_OUTLINE __attribute__((noinline)) /* not cold, unlike CUAI_NOINLINE */
#define CUAI_INLINE inline __attribute__((always_inline))
#define CUAI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define CUAI_NORETURN __attribute__((noreturn))
/* Of a type: bytes that are written as this type may be read as another. */
#define CUAI_MAY_ALIAS __attribute__((may_alias))
#else
#define CUAI_LIKELY(x) (x)
#define CUAI_UNLIKELY(x) (x)
#define CUAI_NOINLINE
#define CUAI_OUTLINE
#define CUAI_INLINE inline
#define CUAI_PRINTF(text, first)
#define CUAI_NORETURN
#define CUAI_MAY_ALIAS
#endif

/* Says what failed to stderr and aborts. */
void cuai_assert_failed(const char *condition, const char *file,
                        int line) CUAI_NORETURN CUAI_NOINLINE;

/* If the condition does not hold the library has a bug. Without CUARENA_DEBUG it is compiled but
 * never evaluated. */
#if defined(CUARENA_DEBUG)
#define CUAI_ASSERT(condition)                                                                     \
    (CUAI_LIKELY(condition) ? (void)0 : cuai_assert_failed(#condition, __FILE__, __LINE__))
#else
#define CUAI_ASSERT(condition) ((void)sizeof(!!(condition)))
#endif

#endif
