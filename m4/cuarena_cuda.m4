# SYNOPSIS
#
#   CUARENA_ARG_CUDA
#   CUARENA_CHECK_CUDA
#
# DESCRIPTION
#
#   Find a CUDA Toolkit, for the checks and examples that want one. Nothing
#   here changes the library: it never links to CUDA and needs none of its
#   headers.
#
#     --with-cuda=check   take one if it is there (default)
#     --with-cuda         take one, or fail
#     --with-cuda=DIR     take the one in DIR, or fail
#     --without-cuda      look for none
#
#   Looked at, in this order: DIR alone if it was given; else CUDA_HOME, the
#   folder above the nvcc on PATH, and /usr/local/cuda. NVCC, if set, stays.
#
#   Sets have_cuda (yes or no) and have_cuda_summary, and substitutes
#   CUDA_CPPFLAGS (to find cuda.h) and NVCC (empty if there is none).

AC_DEFUN([CUARENA_ARG_CUDA], [
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR],
        [use the CUDA Toolkit in DIR for checks and examples: a folder, yes, no or check @<:@check@:>@])],
    [], [with_cuda=check])
AC_ARG_VAR([NVCC], [CUDA compiler, for checks and examples])
])

AC_DEFUN([CUARENA_CHECK_CUDA], [
have_cuda=no
CUDA_CPPFLAGS=
AS_CASE([$with_cuda],
    [no], [have_cuda_summary="no (not asked for)"],
    [check|yes], [CUARENA_FIND_CUDA(["$CUDA_HOME" "$(CUARENA_ABOVE_NVCC)" /usr/local/cuda /usr])],
    [CUARENA_FIND_CUDA(["$with_cuda"])])
AS_IF([test "x$with_cuda" != xno && test "x$have_cuda" = xno],
    [have_cuda_summary="no (cuda.h not found)"
    AS_IF([test "x$with_cuda" != xcheck],
        [AC_MSG_ERROR([--with-cuda=$with_cuda: no CUDA Toolkit found (cuda.h)])])])
AC_SUBST([CUDA_CPPFLAGS])
])

# SYNOPSIS
#
#   CUARENA_ABOVE_NVCC
#
# DESCRIPTION
#
#   A shell command that prints the folder above the one of the nvcc on PATH.

AC_DEFUN([CUARENA_ABOVE_NVCC],
    [nvcc=`command -v nvcc` && dirname "`dirname "$nvcc"`"])

# SYNOPSIS
#
#   CUARENA_FIND_CUDA(FOLDERS)
#
# DESCRIPTION
#
#   Take the first of FOLDERS whose cuda.h compiles. CPPFLAGS is restored.

AC_DEFUN([CUARENA_FIND_CUDA], [
AC_MSG_CHECKING([for a CUDA Toolkit])
cuarena_saved_CPPFLAGS=$CPPFLAGS
for cuda_dir in $1; do
    test -n "$cuda_dir" && test -f "$cuda_dir/include/cuda.h" || continue
    CPPFLAGS="-I$cuda_dir/include $cuarena_saved_CPPFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cuda.h>]],
        [[return CUDA_VERSION < 12000 ? 1 : 0;]])],
        [have_cuda=yes
        have_cuda_summary=$cuda_dir
        AS_IF([test "x$cuda_dir" != x/usr],
            [CUDA_CPPFLAGS="-isystem $cuda_dir/include"])
        test -n "$NVCC" || test ! -x "$cuda_dir/bin/nvcc" ||
            NVCC=$cuda_dir/bin/nvcc
        break])
done
CPPFLAGS=$cuarena_saved_CPPFLAGS
AS_IF([test "x$have_cuda" = xyes], [AC_MSG_RESULT([$have_cuda_summary])],
    [AC_MSG_RESULT([no])])
])
