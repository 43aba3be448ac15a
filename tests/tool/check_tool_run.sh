#!/usr/bin/env bash
# `cuarena run': programs that call the driver, on the stand-in. And one that is linked with the
# layer, which needs no such command.
. "$(dirname "$0")/support.sh"

cuarena=$(realpath "$(command -v "$cuarena")")
here=$(dirname "$cuarena")
loads=${LOADS:-$here/../tests/tool/loads}
links=${LINKS:-$here/../tests/tool/links}
if [ ! -e "$here/layer/.libs/libcuda.so.1" ] || [ ! -x "$loads" ] || [ ! -x "$links" ]; then
    echo 'skipped: the library for programs, or these, were not built'
    exit 77
fi
export CUARENA_STANDIN_STRICT=1 TMPDIR=$folder
unset CUARENA_CONF CUARENA_ALLOCATOR CUARENA_REPORT CUARENA_RECORD

# told NAME TEXT: the last call's stderr is one line with TEXT in it.
told() {
    local got
    got=$(cat "$folder/err")
    [[ $got != *"$2"* || $got == *$'\n'* ]] || got=$2
    verdict "$1" "$2" "$got"
}

# right NAME ARGUMENT...: the program ran, and what it read was right.
right() {
    local name=$1
    shift
    call "$@"
    verdict "$name" "status 0: right" "status $status: $(cat "$folder/out")"
}

test_served() {
    local name
    for name in libcuda.so libcuda.so.1; do
        right "by $name" run --report "$loads" "$name"
        told "by $name: from an arena" "device 0: 101 allocations (0 of graphs), 101 frees, peak 1.0 MiB"
        right "by $name, asked for addresses" run --report "$loads" "$name" asked
        told "by $name, asked: from an arena" "device 0: 101 allocations"
    done
    right "without a report" run "$loads"
    verdict "nothing is said" "" "$(cat "$folder/err")"
    right "a child of the program" run --report sh -c "'$loads'; true"
    told "is served too" "device 0: 101 allocations"
}

test_options() {
    right "an option" run --report -o preset=bfc "$loads"
    told "bfc takes chunks" "1.0 MiB live, 2.0 MiB reserved"
    CUARENA_CONF=alignment=2MiB right "an option beside those of the environment" \
        run --report -o keep=none "$loads"
    told "both hold" "peak 2.0 MiB live, 2.0 MiB reserved"
    CUARENA_CONF=nonsense=1 right "what the environment has may be wrong" run "$loads"
    told "then it says so" "device 0 is left to the driver: 'nonsense' is no option"
    right "a memory that is none of a device's" run -o memory=pageable "$loads"
    told "it is named" "device 0 is left to the driver: memory: pageable, device and what the preset"
    right "allocations of streams alone" run --report --async "$loads"
    told "the others are the driver's" "100 allocations (0 of graphs), 100 frees"
    CUARENA_ALLOCATOR=off right "turned off" run --report "$loads"
    told "says so" "nothing was served: it is off"
}

test_recorded() {
    right "recorded" run --record "$folder/program.csv" "$loads"
    verdict "events" "101 101" "$(grep -c '^a,' "$folder/program.csv") $(grep -c '^f,' \
        "$folder/program.csv")"
    served "it can be replayed" replay --streams --json "$folder/program.csv"
    verdict "what it comes to" "202 101 2 " "$(values events allocs streams)"
    right "recorded as gzip" run --record "$folder/program.csv.gz" "$loads"
    served "it can be replayed too" replay --json "$folder/program.csv.gz"
    right "with the number of the process" run --record "$folder/of-%p.csv" "$loads"
    verdict "one file" 1 "$(find "$folder" -name 'of-[0-9]*.csv' | wc -l)"
    right "a file that cannot be had" run --record "$folder/none/program.csv" "$loads"
    told "is told" "nothing is recorded: trace '$folder/none/program.csv' cannot be opened"
    (cd "$folder" && "$cuarena" run --record here.csv sh -c "cd /; '$loads'") \
        >/dev/null
    verdict "a name is of the folder where it was given" 101 "$(grep -c '^a,' "$folder/here.csv")"
}

test_programs() {
    call run sh -c 'exit 7'
    verdict "the program's status" 7 "$status"
    told "which opened no driver" "sh did not open the driver as libcuda.so or libcuda.so.1: nothing was served"
    call run sh -c "kill -TERM \$\$"
    verdict "the signal that ended it" 143 "$status"
    call run "$folder/none"
    verdict "no such program" 127 "$status"
    call run "$folder"
    verdict "what is none" 126 "$status"
    verdict "nothing is left" "" "$(find "$folder" -name 'cuarena-run-*')"
}

test_bad() {
    bad "no program" "run: no program" run
    bad "no such option" "run: '--serve', expected an option" run --serve true
    bad "a bad option" "--option is 'pool=x': CUARENA_BAD_ARGUMENT" run -o pool=x true
    CUARENA_CUDA_LIBRARY=$folder/none.so bad "no driver" "there is no driver: " run true
    CUARENA_RUN_LIBRARIES=$folder bad "no library" "expected a folder with libcuda.so.1" run true
    call run --help
    verdict "help" 0 "$status"
}

# What scripts do that call the driver. An interpreter without a sanitizer loads no library with one.
test_python() {
    [[ ${CFLAGS:-} != *-fsanitize=* ]] || return 0
    python3 -c 'import ctypes' 2>/dev/null || return 0
    cat >"$folder/program.py" <<'END'
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
at, stream, context = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
for _ in range(10):
    assert cuda.cuMemAllocAsync(ctypes.byref(at), ctypes.c_size_t(4096), stream) == 0
    assert cuda.cuMemFreeAsync(at, stream) == 0
assert cuda.cuStreamDestroy_v2(stream) == 0
print("right")
END
    right "a script" run --report python3 "$folder/program.py"
    told "is served" "device 0: 10 allocations"
}

test_linked() {
    CUARENA_REPORT=1 "$links" >"$folder/out" 2>"$folder/err"
    verdict "linked with the layer" right "$(cat "$folder/out")"
    told "from an arena" "device 0: 101 allocations"
    CUARENA_ALLOCATOR=off CUARENA_REPORT=1 "$links" >"$folder/out" 2>"$folder/err"
    verdict "linked, and turned off" right "$(cat "$folder/out")"
    told "says so" "nothing was served: it is off"
}

run test_served test_options test_recorded test_programs test_bad test_python test_linked
