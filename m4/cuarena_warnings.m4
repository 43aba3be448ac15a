# SYNOPSIS
#
#   CUARENA_CHECK_WARNINGS
#
# DESCRIPTION
#
#   Put every warning flag that the compiler knows into WARNING_CFLAGS, and
#   -Werror where --enable-werror was given. CFLAGS of the user is untouched.
#
#   A flag is tried with -Werror in front, because clang only warns about the
#   warnings that it does not know.

AC_DEFUN([CUARENA_CHECK_WARNINGS], [
WARNING_CFLAGS=
m4_foreach_w([flag], [
    -Wall
    -Wextra
    -Wundef
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wdouble-promotion
    -Wmissing-prototypes
    -Wmissing-declarations
    -Wmissing-variable-declarations
    -Wstrict-prototypes
    -Wold-style-definition
    -Wvla
    -Wimplicit-fallthrough
    -Wformat=2
    -Wpointer-arith
    -Wcast-align
    -Wwrite-strings
    -Wduplicated-cond
    -Wlogical-op
    -Wcomma
    -Wunreachable-code-aggressive
], [CUARENA_TRY_WARNING(flag)])
AS_IF([test "x$enable_werror" = xyes],
    [WARNING_CFLAGS="$WARNING_CFLAGS -Werror"])
AC_SUBST([WARNING_CFLAGS])
])

# SYNOPSIS
#
#   CUARENA_TRY_WARNING(FLAG)
#
# DESCRIPTION
#
#   Append FLAG to WARNING_CFLAGS if the compiler knows it.

AC_DEFUN([CUARENA_TRY_WARNING], [
AS_VAR_PUSHDEF([known], [cuarena_cv_cc_$1])
AC_CACHE_CHECK([whether $CC knows $1], [known],
    [cuarena_saved_CFLAGS=$CFLAGS
    CFLAGS="-Werror $1 $CFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AS_VAR_SET([known], [yes])], [AS_VAR_SET([known], [no])])
    CFLAGS=$cuarena_saved_CFLAGS])
AS_VAR_IF([known], [yes],
    [WARNING_CFLAGS="${WARNING_CFLAGS:+$WARNING_CFLAGS }$1"])
AS_VAR_POPDEF([known])
])
