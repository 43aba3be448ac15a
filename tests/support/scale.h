/* How long tests run: CUARENA_TEST_SCALE=short (default) or long, less under
 * a sanitizer. Where random ones begin: CUARENA_TEST_SEED. */
#ifndef CUARENA_TEST_SCALE_H
#define CUARENA_TEST_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCALE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SCALE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SCALE_THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SCALE_THREAD_SANITIZED 1
#endif
#endif
#ifndef SCALE_THREAD_SANITIZED
#define SCALE_THREAD_SANITIZED 0
#endif
#ifndef SCALE_SANITIZED
#define SCALE_SANITIZED 0
#endif

uint64_t scale_pick(uint64_t sanitized, uint64_t short_run, uint64_t long_run);
/* Whether a process may be forked while other threads allocate: not under a sanitizer or valgrind,
 * whose allocator the fork may find locked. */
bool scale_may_fork(void);
/* Whether an emulator runs the tests: qemu maps less, reads what cannot be read, and ends in a
 * child of several threads that begins one of its own. */
bool scale_is_emulated(void);
/* How many seconds a test may take that takes `seconds` at most on a quiet machine: at full length
 * an hour, since only one that hangs is to end. */
double scale_timeout(double seconds);
/* Printed on stdout, so that a failure can be repeated. */
uint64_t scale_seed(const char *what);

#endif
