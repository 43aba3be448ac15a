# SYNOPSIS
#
#   CUARENA_CHECK_VISIBILITY
#
# DESCRIPTION
#
#   Put -fvisibility=hidden into VISIBILITY_CFLAGS if the compiler knows it.
#   What is exported says so with CUARENA_API.

AC_DEFUN([CUARENA_CHECK_VISIBILITY], [
AC_CACHE_CHECK([whether $CC knows -fvisibility=hidden],
    [cuarena_cv_visibility],
    [cuarena_saved_CFLAGS=$CFLAGS
    CFLAGS="-Werror -fvisibility=hidden $CFLAGS"
    AC_COMPILE_IFELSE(
        [AC_LANG_PROGRAM(
            [[__attribute__((visibility("default"))) extern int shown;]], [])],
        [cuarena_cv_visibility=yes], [cuarena_cv_visibility=no])
    CFLAGS=$cuarena_saved_CFLAGS])
VISIBILITY_CFLAGS=
AS_IF([test "x$cuarena_cv_visibility" = xyes],
    [VISIBILITY_CFLAGS=-fvisibility=hidden])
AC_SUBST([VISIBILITY_CFLAGS])
])

# SYNOPSIS
#
#   CUARENA_CHECK_VERSION_SCRIPT
#
# DESCRIPTION
#
#   Set have_version_script to yes if the linker takes --version-script and
#   hides what the script does not name. Where it does not, -fvisibility=hidden
#   alone keeps internal names in.

AC_DEFUN([CUARENA_CHECK_VERSION_SCRIPT], [
AC_CACHE_CHECK([whether the linker takes --version-script],
    [cuarena_cv_version_script],
    [AS_ECHO(["CONFTEST_1 { global: main; local: *; };"]) > conftest.map
    cuarena_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,--version-script,conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [cuarena_cv_version_script=yes], [cuarena_cv_version_script=no])
    LDFLAGS=$cuarena_saved_LDFLAGS
    rm -f conftest.map])
have_version_script=$cuarena_cv_version_script
])
