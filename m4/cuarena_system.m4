# SYNOPSIS
#
#   CUARENA_CHECK_THREADS
#
# DESCRIPTION
#
#   Find what makes POSIX threads compile and link: nothing at all, -pthread or
#   -lpthread. Sets PTHREAD_CFLAGS and PTHREAD_LIBS, the latter also for
#   Libs.private of cuarena.pc. It is an error if nothing does.

AC_DEFUN([CUARENA_CHECK_THREADS], [
AC_CACHE_CHECK([what POSIX threads need], [cuarena_cv_threads],
    [cuarena_cv_threads=unknown
    cuarena_saved_CFLAGS=$CFLAGS
    cuarena_saved_LIBS=$LIBS
    for option in -pthread -lpthread none; do
        AS_CASE([$option],
            [none], [],
            [-l*], [LIBS="$option $cuarena_saved_LIBS"],
            [CFLAGS="-Werror $option $cuarena_saved_CFLAGS"])
        AC_LINK_IFELSE([AC_LANG_PROGRAM(
            [[#include <pthread.h>
              static void *run(void *arg) { return arg; }]],
            [[pthread_t thread;
              return pthread_create(&thread, NULL, run, NULL) ||
                     pthread_join(thread, NULL);]])],
            [cuarena_cv_threads=$option])
        CFLAGS=$cuarena_saved_CFLAGS
        LIBS=$cuarena_saved_LIBS
        test "x$cuarena_cv_threads" = xunknown || break
    done])
PTHREAD_CFLAGS=
PTHREAD_LIBS=
AS_CASE([$cuarena_cv_threads],
    [-pthread], [PTHREAD_CFLAGS=-pthread PTHREAD_LIBS=-pthread],
    [-lpthread], [PTHREAD_LIBS=-lpthread],
    [unknown], [AC_MSG_ERROR([POSIX threads are needed and were not found])])
AC_SUBST([PTHREAD_CFLAGS])
AC_SUBST([PTHREAD_LIBS])
])

# SYNOPSIS
#
#   CUARENA_CHECK_DLOPEN
#
# DESCRIPTION
#
#   Set DLOPEN_LIBS to the library that holds dlopen, empty where that is the C
#   library. The driver of the GPU is opened with it at run time.

AC_DEFUN([CUARENA_CHECK_DLOPEN], [
cuarena_saved_LIBS=$LIBS
DLOPEN_LIBS=
AC_SEARCH_LIBS([dlopen], [dl],
    [AS_CASE([$ac_cv_search_dlopen], [-l*], [DLOPEN_LIBS=$ac_cv_search_dlopen])],
    [AC_MSG_ERROR([dlopen is needed and was not found])])
LIBS=$cuarena_saved_LIBS
AC_SUBST([DLOPEN_LIBS])
])
