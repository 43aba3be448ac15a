# shellcheck shell=bash
# The stages of scripts/check, in the order they run. Sourced, not run; each
# runs in the top of the tree, in a shell of its own, with `set -e'.
#
# At short length every test runs once under gcc: `cover_tests' of
# tests/Makefile.inc where coverage is counted, the others and random programs,
# with assertions on, in the build that is installed. What runs again elsewhere is
# what depends on it: `checked_tests' under another compiler and its sanitizers,
# the threaded ones under ThreadSanitizer, examples under valgrind, a few programs
# from the tarball. With --long everything runs everywhere.

all_stages=(
    format spelling shellcheck cppcheck function-lengths man
    plain-gcc plain-clang header header-nvcc cuda-abi nvtx-abi
    gcc nvtx tool report benches readme onnxruntime installcheck
    coverage clang tsan valgrind fuzz figures
    demo in-place distcheck aarch64 aarch64-tests
    model "${python_stages[@]}" "${rust_stages[@]}"
)

# Those that build in folders of their own, and use no others.
apart=(coverage clang tsan fuzz distcheck aarch64 aarch64-tests)

has() {
    command -v "$1" >/dev/null || skip "$1 not found"
}

# Our own files of C and C++: all of them, and those of the library.
c_files() {
    find include src tools tests examples bench python \
        \( -name '*.c' -o -name '*.h' -o -name '*.inl' \
        -o -name '*.hpp' -o -name '*.cc' \) 2>/dev/null | sort
}

library_files() {
    find src -name '*.c' | sort
}

#### What is written ####

stage_format() {
    have_clang_format || skip "clang-format 14 not found"
    c_files | xargs -r "$(clang_format_name)" --dry-run -Werror
}

stage_spelling() {
    local files
    has codespell
    files=$(find . \( -path ./build -o -path ./.git -o -path ./autom4te.cache \
        -o -path ./build-aux -o -path ./tests/fuzz/corpus \
        -o -path ./rust/target \) -prune -o \
        \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.cc' -o -name '*.inl' -o -name '*.md' -o -name '*.inc' \
        -o -name '*.rs' -o -name '*.py' -o -name '*.sh' -o -name '*.1' -o -name '*.am' \
        -o -name 'cuarena*.m4' -o -name configure.ac \) -print)
    # Nd is a macro of manual pages, AtLeast and CollectIn are names.
    # shellcheck disable=SC2046,SC2086
    codespell -L nd,crate,atleast,collectin $files scripts/check scripts/demo tests/scripts/* \
        $(rust_scripts)
}

stage_shellcheck() {
    local files
    has shellcheck
    # shellcheck disable=SC2046
    files=$(grep -lE -d skip '^#!(/bin/sh|/usr/bin/env bash)' bootstrap .ci/run \
        build-aux/version.sh scripts/* tests/scripts/* python/tests/*.sh $(rust_scripts))
    # shellcheck disable=SC2086
    shellcheck -x -a -P SCRIPTDIR $files
    if [ -f tools/completion/cuarena.bash ]; then
        shellcheck -s bash tools/completion/cuarena.bash
    fi
}

# As it is compiled here; with --long in every configuration.
stage_cppcheck() {
    local here=(-D__linux__ -D__x86_64__ -D__LP64__ -D__GNUC__=12)
    has cppcheck
    [ "$CUARENA_TEST_SCALE" = short ] || here=()
    # shellcheck disable=SC2046
    cppcheck --std=c11 --enable=warning,performance,portability \
        --error-exitcode=1 --inline-suppr --quiet -j "$jobs" \
        "${here[@]}" -Iinclude -Isrc $(find src tools examples -name '*.c')
}

stage_function_lengths() {
    has ctags
    scripts/function-lengths
}

stage_man() {
    has mandoc
    mandoc -T lint -W warning tools/cuarena.1
}

#### Nothing but a compiler ####

# plain COMPILER: each source of the library by itself, no generated file. The
# builds have the warnings that only optimizing brings.
plain() {
    local compiler=$1 out=build/plain-$1 source
    has "$compiler"
    rm -rf "$out"
    mkdir -p "$out"
    # The words in single quotes are for the shell that is started.
    # shellcheck disable=SC2016
    library_files | while read -r source; do
        echo "$source" "$out/${source//\//-}.o"
    done | xargs -P "$jobs" -n 2 sh -c '"$0" -std=c11 -Wall -Wextra -Wpedantic \
        -Wundef -Wshadow -Wconversion -Wsign-conversion -Wmissing-prototypes \
        -Wstrict-prototypes -Wvla -Wformat=2 -Wpointer-arith -Wcast-align \
        -Werror -Iinclude -Isrc -c "$1" -o "$2"' "$compiler"
    ar rcs "$out/libcuarena.a" "$out"/*.o
    # Those that include the driver's header want more than a compiler.
    for source in examples/*.c; do
        ! grep -q '<cuda.h>' "$source" || continue
        "$compiler" -std=c11 -Wall -Wextra -Werror -Iinclude "$source" \
            "$out/libcuarena.a" -pthread -o "$out/example"
    done
}

stage_plain_gcc() {
    plain gcc
}

stage_plain_clang() {
    plain clang
}

# The header and each of its parts, alone, twice, in every language.
stage_header() {
    local header compiler
    mkdir -p build/header
    for header in include/cuarena.h include/cuarena/*.h; do
        printf '#include "%s"\n' "${header#include/}" "${header#include/}" \
            >build/header/alone.c
        cp build/header/alone.c build/header/alone.cc
        for compiler in gcc clang; do
            command -v $compiler >/dev/null || continue
            echo "$compiler $header"
            $compiler -std=c11 -Wall -Wextra -Wpedantic -Wundef -Wconversion \
                -Wstrict-prototypes -Werror -Iinclude -fsyntax-only \
                build/header/alone.c
        done
        for compiler in g++ clang++; do
            command -v $compiler >/dev/null || continue
            echo "$compiler $header"
            $compiler -std=c++17 -Wall -Wextra -Wpedantic -Wundef -Wconversion \
                -Wold-style-cast -Werror -Iinclude -fsyntax-only \
                build/header/alone.cc
        done
    done
}

stage_header_nvcc() {
    local nvcc=${NVCC:-nvcc}
    command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
    command -v "$nvcc" >/dev/null || skip "nvcc not found"
    mkdir -p build/header
    printf '#include "cuarena.h"\n__global__ void kernel(void) {}\n' \
        >build/header/alone.cu
    "$nvcc" -std=c++17 -Werror all-warnings -Iinclude -c build/header/alone.cu \
        -o build/header/alone.o
}

#### The driver's interface ####

# Releases to compare with: wheel, version. The oldest that is accepted, and
# the ends of what is there.
cuda_releases() {
    cat <<'TABLE'
nvidia-cuda-runtime-cu12 12.0.107
nvidia-cuda-runtime-cu12 12.9.79
nvidia-cuda-runtime 13.0.48
nvidia-cuda-runtime 13.5.37
TABLE
}

# NVTX, of which compute-sanitizer takes what these declare.
nvtx_releases() {
    cat <<'TABLE'
nvidia-nvtx 13.0.39
nvidia-nvtx 13.5.25
TABLE
}

# fetch_headers RELEASES FOLDER: each release unpacked in a folder of its own there.
fetch_headers() {
    local releases=$1 folder=$2 wheel version
    mkdir -p "$folder"
    "$releases" | while read -r wheel version; do
        [ ! -f "$folder/$version/.complete" ] || continue
        rm -rf "${folder:?}/$version"
        python3 -m pip download --quiet --disable-pip-version-check --no-deps \
            --only-binary=:all: --platform manylinux1_x86_64 \
            --platform manylinux2014_x86_64 --dest "$folder/$version" \
            "$wheel==$version" </dev/null || return 1
        python3 -m zipfile -e "$folder/$version"/*.whl "$folder/$version" &&
            touch "$folder/$version/.complete" || return 1
    done
}

stage_cuda_abi() {
    local folder=$root/build/cuda-headers found
    has gcc
    has python3
    fetch_headers cuda_releases "$folder" || skip "the headers could not be had"
    found=$(find "$folder" -name cuda.h -printf '%h ')
    CC=gcc CUDA_HEADERS=$found tests/scripts/check_cuda_abi
    ! command -v clang >/dev/null ||
        CC=clang CUDA_HEADERS=$found tests/scripts/check_cuda_abi
}

stage_nvtx_abi() {
    local folder=$root/build/nvtx-headers found
    has gcc
    has python3
    fetch_headers nvtx_releases "$folder" || skip "the headers could not be had"
    found=$(find "$folder" -name nvtx3 -type d -printf '%h ')
    CC=gcc NVTX_HEADERS=$found tests/scripts/check_nvtx_abi
    ! command -v clang >/dev/null ||
        CC=clang NVTX_HEADERS=$found tests/scripts/check_nvtx_abi
}

#### Builds and tests ####

# tested_some LIST NAME ARGUMENT...: build/NAME, configured, built, and the test
# programs of a list run; with --long all tests, as short as at other times. What
# is in `of_support' is said to make where what programs share is built, which fills
# and compares most of the memory of tests, so that optimizing it pays; what is in
# `of_tests', where the rest is.
tested_some() {
    local list=$1 name=$2
    configured "${@:2}"
    make_in "$name" libcuarena.la
    make_in "$name" "${of_support[@]}" tests/libsupport.la tests/standin/libcuda.la
    make_in "$name" "${of_tests[@]}"
    if [ "$CUARENA_TEST_SCALE" = long ]; then
        CUARENA_TEST_SCALE=short make_in "$name" check VERBOSE=1 "${of_tests[@]}"
    else
        make_in "$name" check VERBOSE=1 "${of_tests[@]}" \
            check_PROGRAMS="\$($list)" TESTS="\$($list)"
    fi
}

# Debug information takes a fifth of the time of a build.
gcc_arguments=(CC=gcc CFLAGS=-O2 --enable-werror --enable-debug --prefix="$root/build/installed")

# leaving_nothing COMMAND...: fails if the command does, or leaves temporary files.
leaving_nothing() {
    local left
    left=$(mktemp -d)
    TMPDIR=$left "$@"
    rmdir "$left" 2>/dev/null || {
        echo "this left temporary files in $left: $*"
        ls -A "$left"
        return 1
    }
}

# The build that is installed. The command has a stage of its own. At short length the
# tests are not optimized: what counts instructions counts those of the library.
stage_gcc() {
    local few=() elsewhere=none
    # Those for coverage are gcc's, too. The words in single quotes are for make.
    # shellcheck disable=SC2016
    ! command -v gcovr >/dev/null || elsewhere='$(core_tests) $(slow_tests) tests/scripts/check_cuda_old'
    configured gcc "${gcc_arguments[@]}"
    make_in gcc all tests/libsupport.la tests/standin/libcuda.la
    [ "$CUARENA_TEST_SCALE" = long ] || few=(
        CFLAGS=-O0
        check_PROGRAMS="\$(filter-out $elsewhere,$(list_in gcc check_PROGRAMS))"
        TESTS="\$(filter-out $elsewhere,\$(test_programs) \$(example_programs) \$(package_tests))"
    )
    leaving_nothing make_in gcc check VERBOSE=1 "${few[@]}"
}

# The benchmarks are built, and those that take a second are run. What wants a device says that
# there is none.
stage_benches() {
    local name
    configured gcc "${gcc_arguments[@]}"
    # shellcheck disable=SC2046
    make_in gcc $(list_in gcc bench_programs) $(list_in gcc cuda_bench_programs)
    for name in alone rounds segments small; do
        "build/gcc/bench/bench_$name"
    done
    make_in gcc bench-cuda
}

# Programs once more, with a tool that is told by NVTX, and that the stand-in driver asks whether
# work may use what it uses. Each look at an arena compares its blocks with the tool's.
stage_nvtx() {
    local tool=$root/build/gcc/tests/nvtx/.libs/librecorder.so list=nvtx_tests
    [ "$CUARENA_TEST_SCALE" = long ] || list=few_nvtx_tests
    export CUARENA_TEST_SCALE=short
    configured gcc "${gcc_arguments[@]}"
    make_in gcc
    # shellcheck disable=SC2046
    make_in gcc tests/nvtx/librecorder.la tests/standin/libcuda.la $(list_in gcc $list)
    NVTX_INJECTION64_PATH=$tool CUARENA_STANDIN_STRICT=1 make_in gcc check VERBOSE=1 \
        check_PROGRAMS= TESTS="\$($list)"
}

# What the core tests and the slow ones reach. Threads may lose counts of each
# other, which does not matter to whether there is one; a branch whose count comes
# out below 0 for that is passed over. Counts that lose none take three times as long.
# The tests themselves are not counted.
stage_coverage() {
    local of_support=(CFLAGS=-O1) of_tests=(CFLAGS=-O0 LDFLAGS=--coverage)
    has gcovr
    has python3
    leaving_nothing tested_some cover_tests coverage CC=gcc --disable-static --disable-tools \
        CFLAGS="-O1 -g --coverage -fprofile-update=single"
    make_in coverage check VERBOSE=1 check_PROGRAMS= TESTS=tests/scripts/check_cuda_old
    # shellcheck disable=SC2016
    CUARENA_TEST_BESIDE=1 make_in coverage check VERBOSE=1 check_PROGRAMS= TESTS='$(beside_tests)'
    # shellcheck disable=SC2016
    NVTX_INJECTION64_PATH=$root/build/coverage/tests/nvtx/.libs/librecorder.so \
        make_in coverage check VERBOSE=1 check_PROGRAMS= TESTS='$(few_nvtx_tests)'
    gcovr -j "$jobs" -r . build/coverage/src -f src/ --gcov-ignore-parse-errors \
        --json-summary build/coverage/summary.json
    scripts/coverage-table build/coverage/summary.json
}

# clang's library has what fuzzing wants as well, so that it is built once. Of the two
# stages that build in the folder, one runs at a time.
clang_begin() {
    has clang
    clang_arguments=(CC=clang CFLAGS="-O1 -gline-tables-only" --enable-werror --enable-debug
        --disable-static CPPFLAGS=-DCUARENA_NO_FUTEX --enable-sanitizers="address,undefined")
    ! have_libfuzzer || clang_arguments+=(--enable-fuzzing)
    ! command -v flock >/dev/null || { exec 9>build/clang.lock && flock 9; }
}

# Another compiler, its sanitizers, all assertions, and a lock without futexes. Under
# sanitizers optimizing takes most of the time of a build, which tests do not earn back.
stage_clang() {
    local of_support=(FUZZING_CFLAGS=)
    local of_tests=(CFLAGS="-O0 -gline-tables-only" FUZZING_CFLAGS=)
    clang_begin
    export CK_TIMEOUT_MULTIPLIER=5 UBSAN_OPTIONS=print_stacktrace=1
    export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
    tested_some checked_tests clang "${clang_arguments[@]}"
}

# The threaded programs only, without long cases that run no threads. Addresses are
# not randomized where that can be had: older runtimes do not start on kernels that
# spread them widely.
stage_tsan() {
    local fixed=() list=thread_tests
    [ "$CUARENA_TEST_SCALE" = long ] || list=few_thread_tests
    export CK_TIMEOUT_MULTIPLIER=10 TSAN_OPTIONS=halt_on_error=1 CK_EXCLUDE_TAGS=long
    configured tsan CC=gcc CFLAGS="-O1 -g1" --enable-debug --enable-sanitizers=thread \
        --disable-tools --disable-static
    [ -n "$(list_in tsan thread_tests)" ] || skip "no test runs threads"
    make_in tsan libcuarena.la tests/libsupport.la tests/standin/libcuda.la
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        fixed=(setarch "$(uname -m)" -R)
    fi
    echo 'int main(void) { return 0; }' |
        gcc -fsanitize=thread -x c - -o build/tsan/starts
    "${fixed[@]}" build/tsan/starts || skip "ThreadSanitizer does not start here"
    "${fixed[@]}" make -C build/tsan -j"$jobs" --no-print-directory check CFLAGS="-O0 -g1" \
        check_PROGRAMS="\$($list)" TESTS="\$($list)" VERBOSE=1
}

# The examples; with --long the test programs too. What is kept until the process ends is
# pointed to behind the header of its allocation, so that only what nothing points to is lost.
stage_valgrind() {
    local program programs
    has valgrind
    export CK_FORK=no CK_TIMEOUT_MULTIPLIER=30 CUARENA_TEST_SLOW=1
    export srcdir=$root
    configured gcc "${gcc_arguments[@]}"
    programs=$(list_in gcc example_programs)
    # One has more arenas than valgrind has addresses for, one asks the system what
    # it can read, two count the calls of their own process, one ends children
    # within calls, which leaves what these have allocated, and one opens the driver
    # anew in each of its processes.
    [ "$CUARENA_TEST_SCALE" = short ] ||
        programs="$programs $(list_in gcc api_tests | tr ' ' '\n' |
            grep -vE 'check_(addresses|driver|guarantees(_cost)?|model|reentry)$')"
    # shellcheck disable=SC2086
    make_in gcc $programs
    for program in $programs; do
        echo "valgrind $program"
        (cd build/gcc && CUARENA_TEST_SCALE=short ./libtool --mode=execute \
            valgrind --quiet --fair-sched=try --leak-check=full \
                --show-leak-kinds=definite --errors-for-leak-kinds=definite \
                --error-exitcode=99 "./$program") ||
            [ $? -eq 77 ]
    done
}

stage_fuzz() {
    local program programs name seconds=5 running=()
    have_libfuzzer || skip "libFuzzer not found"
    [ "$CUARENA_TEST_SCALE" = short ] || seconds=200
    clang_begin
    configured clang "${clang_arguments[@]}"
    programs=$(list_in clang fuzz_programs)
    [ -n "$programs" ] || skip "no fuzz target"
    # shellcheck disable=SC2086
    make_in clang $programs
    for program in $programs; do
        name=${program##*/fuzz_}
        mkdir -p "build/fuzz/corpus/$name" "build/fuzz/found"
        "build/clang/$program" -max_total_time=$seconds -timeout=20 \
            -print_final_stats=1 -verbosity=0 -error_exitcode=1 \
            -artifact_prefix=build/fuzz/found/ \
            "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" &
        running+=($!)
    done
    for program in "${running[@]}"; do
        wait "$program"
    done
}

#### The command, the documents, the package ####

stage_tool() {
    configured gcc "${gcc_arguments[@]}"
    [ -n "$(list_in gcc tool_tests)" ] || skip "no test of the command"
    make_in gcc
    # shellcheck disable=SC2016
    make_in gcc check check_PROGRAMS=bench/bench_pack TESTS='$(tool_tests)' VERBOSE=1
}

# Pages of `cuarena report' in a browser without a window, and their scripts by themselves.
# What it saw is kept in build/pictures.
stage_report() {
    has python3
    configured gcc "${gcc_arguments[@]}"
    [ -n "$(list_in gcc tool_tests)" ] || skip "the command is not built"
    make_in gcc tools/cuarena
    ! command -v node >/dev/null || cat tools/page/*.js | node --check -
    have_browser || skip "chromium-headless-shell, chromium or google-chrome not found"
    mkdir -p build/pictures
    CUARENA=build/gcc/tools/cuarena srcdir=. python3 tests/tool/check_report_page.py build/pictures
}

# The tables of the documents that a tool makes are those that it makes now: of
# the records of benchmarks and, with --long, of replays.
stage_figures() {
    has python3
    python3 bench/tables --check
    python3 bench/counts --check
    python3 bench/pools --check
    python3 bench/seen --check
    python3 bench/layer --check
    python3 bench/python --check
    mkdir -p build/plots
    ! python3 -c 'import matplotlib' 2>/dev/null || python3 bench/plot bench/results build/plots
    [ "$CUARENA_TEST_SCALE" = long ] || return 0
    configured gcc "${gcc_arguments[@]}"
    [ -n "$(list_in gcc tool_tests)" ] || skip "the command is not built"
    make_in gcc tools/cuarena tests/standin/libcuda.la
    (cd build/gcc && python3 "$root/bench/growth" --check)
}

# At short length in-place does it, with the same files.
stage_demo() {
    [ "$CUARENA_TEST_SCALE" = long ] || skip "only with --long: in-place runs it"
    scripts/demo
}

# README's order: the scripts after ./configure in place, and what a build in
# place leaves: at short length what else would be built a second time is an object and
# what is generated. In a copy, so that this tree stays as it is.
stage_in_place() {
    local copy=$root/build/in-place few=()
    [ "$CUARENA_TEST_SCALE" = long ] || few=(libcuarena_driver.a tools/page_text.c)
    configured gcc "${gcc_arguments[@]}"
    chmod -R u+w "$copy" 2>/dev/null || true
    make_in gcc -s distdir distdir=../in-place
    (
        export CFLAGS=-O0
        cd "$copy"
        ./configure --quiet --disable-tools --disable-static
        make -s -j"$jobs" "${few[@]}"
        scripts/demo
        [ "$CUARENA_TEST_SCALE" = short ] || scripts/check readme
    )
}

stage_readme() {
    configured gcc "${gcc_arguments[@]}"
    make_in gcc libcuarena.la
    scripts/readme-snippet build/gcc
}

# Arenas beside ONNX Runtime, as its wheel has it.
stage_onnxruntime() {
    local folder=$root/build/onnxruntime wheels='onnxruntime==1.30.0 onnx==1.23.2'
    has python3
    has gcc
    if [ "$wheels" != "$(cat "$folder/.complete" 2>/dev/null)" ]; then
        rm -rf "$folder"
        # shellcheck disable=SC2086
        python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
            --target "$folder" $wheels </dev/null || skip "the wheels could not be had"
        echo "$wheels" >"$folder/.complete"
    fi
    configured gcc "${gcc_arguments[@]}"
    make_in gcc libcuarena.la
    CC=gcc tests/scripts/check_onnxruntime build/gcc "$folder"
    CC=gcc bench/onnxruntime build/gcc "$folder" 1 20
}

stage_installcheck() {
    configured gcc "${gcc_arguments[@]}"
    rm -rf build/installed
    make_in gcc install
    make_in gcc installcheck
}

# The tarball builds, passes, installs and uninstalls; holds every file of the
# tree; and comes out the same twice. At short length few of its tests run, and
# it builds one library, soon compiled: the programs ran already, in a tree of the
# same files. So did check_cxx, which compiles for half a minute. The tarball is made
# three times, which takes as long where it is packed well.
stage_distcheck() {
    local tarball version few=()
    has xz
    # The words in single quotes are for make.
    # shellcheck disable=SC2016
    [ "$CUARENA_TEST_SCALE" = long ] ||
        few=(check_PROGRAMS='$(smoke_tests)'
            TESTS='$(smoke_tests) $(filter-out %/check_cxx,$(script_tests))'
            DISTCHECK_CONFIGURE_FLAGS="--disable-static CFLAGS=-O0")
    [ "$CUARENA_TEST_SCALE" = long ] || export XZ_OPT=-0
    export CUARENA_TEST_SCALE=short
    version=$(build-aux/version.sh)
    tarball=libcuarena-$version.tar.xz
    configured dist
    make_in dist distcheck "${few[@]}"
    mv "build/dist/$tarball" "build/dist/first-$tarball"
    make_in dist dist
    cmp "build/dist/first-$tarball" "build/dist/$tarball"
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files ':!rust' | sort >build/dist/tracked
        tar tf "build/dist/$tarball" | sed 's,^[^/]*/,,' | sort >build/dist/packed
        echo "In the tree but not in the tarball:"
        comm -23 build/dist/tracked build/dist/packed >build/dist/left-out
        cat build/dist/left-out
        [ ! -s build/dist/left-out ]
    fi
}

#### Another processor ####

aarch64_arguments=(
    --host=aarch64-linux-gnu CFLAGS=-O2 --enable-werror --disable-tools --disable-shared
)

# The library and the examples, which run if there is an emulator.
stage_aarch64() {
    local program programs
    has aarch64-linux-gnu-gcc
    have_libc_aarch64 || skip "no C library for aarch64"
    export PKG_CONFIG_LIBDIR=$root/build/none
    configured aarch64 "${aarch64_arguments[@]}"
    programs=$(list_in aarch64 example_programs)
    make_in aarch64
    # shellcheck disable=SC2086
    make_in aarch64 $programs
    command -v qemu-aarch64 >/dev/null || return 0
    for program in $programs; do
        echo "aarch64 $program"
        (cd build/aarch64 && qemu-aarch64 -L /usr/aarch64-linux-gnu "$program") ||
            [ $? -eq 77 ]
    done
}

# The tests on an emulated processor: with --long, and where the check library
# for it can be had from the archive of the distribution.
stage_aarch64_tests() {
    local libs=$root/build/aarch64-libs
    [ "$CUARENA_TEST_SCALE" = long ] || skip "only with --long"
    has aarch64-linux-gnu-gcc
    has qemu-aarch64
    on_debian || skip "the check library for aarch64 is taken from Debian's archive"
    fetch_aarch64_check "$libs" || skip "no check library for aarch64"
    export PKG_CONFIG_SYSROOT_DIR=$libs CK_TIMEOUT_MULTIPLIER=20
    export CUARENA_TEST_SLOW=1 CUARENA_TEST_EMULATED=1
    export PKG_CONFIG_LIBDIR=$libs/usr/lib/aarch64-linux-gnu/pkgconfig
    configured aarch64-tests "${aarch64_arguments[@]}"
    # shellcheck disable=SC2016
    make_in aarch64-tests check TESTS='$(test_programs)' VERBOSE=1 \
        LOG_COMPILER="qemu-aarch64 -L /usr/aarch64-linux-gnu \
            -E LD_LIBRARY_PATH=$libs/usr/lib/aarch64-linux-gnu"
}

# fetch_aarch64_check FOLDER: unpack the packages there. The lists of the other
# architecture are kept there too: the system is left as it is.
fetch_aarch64_check() {
    local folder=$1 options
    [ ! -f "$folder/.complete" ] || return 0
    mkdir -p "$folder/lists/partial"
    options=(-o APT::Architectures::=arm64 -o Dir::State::Lists="$folder/lists"
        -o Dir::Cache="$folder/cache")
    mkdir -p "$folder/cache/archives/partial"
    (
        cd "$folder" &&
            apt-get "${options[@]}" update &&
            apt-get "${options[@]}" download \
                check:arm64 libsubunit-dev:arm64 libsubunit0:arm64 &&
            for package in *.deb; do
                dpkg -x "$package" . || exit 1
            done &&
            touch .complete
    )
}
