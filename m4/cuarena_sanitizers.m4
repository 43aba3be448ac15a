# SYNOPSIS
#
#   CUARENA_ARG_SANITIZERS
#   CUARENA_CHECK_SANITIZERS
#
# DESCRIPTION
#
#   --enable-sanitizers=LIST builds everything with -fsanitize=LIST, for
#   example address,undefined or thread. Without a list: address,undefined.
#   Sets SANITIZER_CFLAGS, for the compiler and the linker. Everything that a
#   sanitizer finds ends the program. A list that the compiler cannot build is
#   an error.

AC_DEFUN([CUARENA_ARG_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
        [build with -fsanitize=LIST @<:@address,undefined@:>@])],
    [AS_IF([test "x$enableval" = xyes],
        [enable_sanitizers=address,undefined])],
    [enable_sanitizers=no])
])

AC_DEFUN([CUARENA_CHECK_SANITIZERS], [
SANITIZER_CFLAGS=
AS_IF([test "x$enable_sanitizers" != xno],
    [SANITIZER_CFLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    AC_MSG_CHECKING([whether $CC builds with $SANITIZER_CFLAGS])
    cuarena_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
        AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: $CC cannot build that])])
    CFLAGS=$cuarena_saved_CFLAGS])
AC_SUBST([SANITIZER_CFLAGS])
])

# SYNOPSIS
#
#   CUARENA_ARG_FUZZING
#   CUARENA_CHECK_FUZZING
#
# DESCRIPTION
#
#   --enable-fuzzing builds the fuzz targets on libFuzzer, which takes clang.
#   Without it they are built on a driver of our own that replays the files it
#   is given. Sets FUZZING_CFLAGS for all code and FUZZING_LDFLAGS for the
#   targets. It is an error if the compiler cannot do it.

AC_DEFUN([CUARENA_ARG_FUZZING], [
AC_ARG_ENABLE([fuzzing],
    [AS_HELP_STRING([--enable-fuzzing],
        [build the fuzz targets on libFuzzer (clang)])],
    [], [enable_fuzzing=no])
])

AC_DEFUN([CUARENA_CHECK_FUZZING], [
FUZZING_CFLAGS=
FUZZING_LDFLAGS=
AS_IF([test "x$enable_fuzzing" = xyes],
    [FUZZING_CFLAGS=-fsanitize=fuzzer-no-link
    FUZZING_LDFLAGS=-fsanitize=fuzzer
    AC_MSG_CHECKING([whether $CC builds with $FUZZING_LDFLAGS])
    cuarena_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $FUZZING_LDFLAGS"
    AC_LINK_IFELSE([AC_LANG_SOURCE(
        [[#include <stddef.h>
          #include <stdint.h>
          int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
          int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
          { return data == NULL && size != 0; }]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
        AC_MSG_ERROR([--enable-fuzzing: $CC has no libFuzzer; try CC=clang])])
    CFLAGS=$cuarena_saved_CFLAGS])
AC_SUBST([FUZZING_CFLAGS])
AC_SUBST([FUZZING_LDFLAGS])
])
