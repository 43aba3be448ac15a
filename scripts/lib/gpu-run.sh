#!/usr/bin/env bash
# Run what is in this folder (scripts/gpu-bundle made it) on the GPU of this
# machine: one line for each program, one summary, and a failure if anything
# failed.
#
#   run.sh [PART...] [OPTION...] [FOLDER]
#
#   --info        what runs here
#   --suites      the test programs
#   --examples    the examples; two are compiled here if there is an nvcc
#   --frameworks  beside PyTorch and CuPy, where Python has them
#   --layer       programs that know nothing of arenas, served and recorded
#   --sanitizer   the test programs that want a device, under compute-sanitizer
#   --nvtx        the same under memcheck, which is told of each block by NVTX;
#                 and programs with a mistake, which it must find. The last
#                 lines of the part, and results/nvtx.txt, have what it found
#                 in each program, and in all
#   --benches     the benchmarks
#   (no part: all of them)
#
#   --quick       benchmarks with few samples, to see that they run; no
#                 sanitizer unless it is asked for
#   --only WORD   programs with WORD in their name only; can be repeated
#   --jobs N      so many programs without a device at once; default: processors
#   --device-jobs N   ... of those with one, under the sanitizer; default: as
#                     many
#   --limit N     seconds that a program may take; default: 600
#
# FOLDER gets logs and results; default: ./out. A program that says that it
# cannot run here (77) is shown as skipped. Programs that want a device fail
# without one; set CUARENA_REQUIRE_GPU=0 to have them skipped.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${CUARENA_REQUIRE_GPU:=1}"
: "${CK_DEFAULT_TIMEOUT:=120}"
export CUARENA_REQUIRE_GPU CK_DEFAULT_TIMEOUT srcdir=$here
# For programs in Rust, which know no srcdir.
export CUARENA_TRACES=$here/traces CUARENA_SCENARIOS=$here/scenarios

parts=()
only=()
quick=
out=out
jobs=$(nproc 2>/dev/null || echo 2)
device_jobs=
limit=600

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
}

while [ $# -gt 0 ]; do
    case $1 in
    --info | --suites | --examples | --frameworks | --layer | --sanitizer | --nvtx | --benches)
        parts+=("${1#--}")
        ;;
    --quick) quick=yes ;;
    --only | --jobs | --device-jobs | --limit)
        [ $# -gt 1 ] || {
            echo "run.sh: $1 wants a value" >&2
            exit 2
        }
        case $1 in
        --only) only+=("$2") ;;
        --jobs) jobs=$2 ;;
        --device-jobs) device_jobs=$2 ;;
        --limit) limit=$2 ;;
        esac
        shift
        ;;
    -h | --help) usage && exit ;;
    -*)
        echo "run.sh: no option '$1'; --help tells which there are" >&2
        exit 2
        ;;
    *) out=$1 ;;
    esac
    shift
done
if [ ${#parts[@]} -eq 0 ]; then
    parts=(info suites examples frameworks layer sanitizer nvtx benches)
    [ -z "$quick" ] || parts=(info suites examples frameworks layer benches)
fi
mkdir -p "$out/logs" "$out/verdicts" "$out/results"
out=$(cd "$out" && pwd)
rm -f "$out"/verdicts/*

#### Running programs ####

wanted() {
    local word
    [ ${#only[@]} -gt 0 ] || return 0
    for word in "${only[@]}"; do
        [[ $1 != *"$word"* ]] || return 0
    done
    return 1
}

# Says what became of a program, and keeps it for the summary.
verdict() {
    local what=$1 name=$2 detail=$3
    echo "$what $name" >"$out/verdicts/$name"
    echo "$what $name $detail"
}

# How often a program may begin anew when the checker lost it the device;
# part_sanitizer says why.
losses=0

# lost STATUS LOG: whether a program failed by nothing else before it lost the
# device, and the checker had found nothing.
lost() {
    [ "$1" -ne 0 ] && ! grep -qE 'ERROR SUMMARY: [1-9]' "$2" &&
        grep -m 1 -E ':[FE]:' "$2" | grep -q CUDA_ERROR_LAUNCH_FAILED
}

# Not empty: a program whose answers are others with a tool, so that some of its
# tests may fail; part_nvtx says which.
others=

# clean LOG: whether the checker looked, and found nothing in any process.
clean() {
    grep -q 'ERROR SUMMARY: 0 errors' "$1" && ! grep -qE 'ERROR SUMMARY: [1-9]' "$1"
}

# run NAME COMMAND...: until it ends or its time is over.
run() {
    local name=$1 status=0 log=$out/logs/$1.log started=$SECONDS took reason
    local again=0
    shift
    timeout --kill-after=20 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    while [ "$again" -lt "$losses" ] && lost "$status" "$log"; do
        again=$((again + 1)) status=0
        mv "$log" "${log%.log}.lost$again.log"
        timeout --kill-after=20 "$limit" "$@" >"$log" 2>&1 </dev/null ||
            status=$?
    done
    took="($((SECONDS - started)) s)"
    [ "$again" -eq 0 ] || took+=", lost by the checker before: $again"
    if [ "$losses" -gt 0 ] && lost "$status" "$log"; then
        verdict skip "$name" "$took: the checker loses the device"
        return
    fi
    # What a sanitizer finds in a process that a test started is in the log only.
    if grep -qE 'ERROR SUMMARY: [1-9]' "$log"; then
        verdict FAIL "$name" "$took: $(grep -cE '^=+ +(Invalid|Uninit|Barrier|Program|Error|Race)' \
            "$log") findings"
        return
    fi
    if [ -n "$others" ] && [ "$status" -eq 1 ] && clean "$log"; then
        status=0 took+=", $(grep -cE ':[FE]:' "$log") answers are others with a tool"
    fi
    case $status in
    0) verdict pass "$name" "$took" ;;
    77)
        reason=$(grep -m 1 '^skip' "$log" || true)
        verdict skip "$name" "$took ${reason#skipped}"
        ;;
    124 | 137) verdict FAIL "$name" "$took: not done after $limit s" ;;
    *) verdict FAIL "$name" "$took: exit status $status" ;;
    esac
}

# later MOST NAME COMMAND...: beside the others, when fewer than MOST run.
later() {
    local most=$1
    shift
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do
        wait -n || true
    done
    run "$@" &
}

#### Parts ####

part_info() {
    {
        date -u '+%Y-%m-%d %H:%M:%S UTC'
        [ ! -f "$here/revision" ] || echo "revision $(cat "$here/revision")"
        uname -srm
        sed -n 's/^model name[^:]*: */processor /p' /proc/cpuinfo | head -n 1
        echo "processors $(nproc)"
        nvidia-smi --query-gpu=name,driver_version,memory.total \
            --format=csv,noheader 2>/dev/null
        "$here/bin/cuarena" info
    } >"$out/logs/info.log" 2>&1
    cat "$out/logs/info.log"
}

# Starting the driver for each test would take most of the time, so a program's
# tests run in one process, unless processes are what they are about.
fork_of() {
    case $1 in
    check_driver | check_device_export | check_layer_environment) echo yes ;;
    *) echo no ;;
    esac
}

# Those without a device run beside those with one, which take turns: some
# look at how much memory is free.
part_suites() {
    local program name
    {
        for program in "$here"/suites/host/*; do
            ! wanted "${program##*/}" || later "$jobs" "${program##*/}" "$program"
        done
        wait
    } &
    for program in "$here"/suites/device/*; do
        name=${program##*/}
        ! wanted "$name" || CK_FORK=${CK_FORK:-$(fork_of "$name")} \
            run "$name" "$program"
    done
    for program in "$here"/suites/rust/*; do
        [ ! -e "$program" ] || ! wanted "${program##*/}" ||
            run "${program##*/}" "$program"
    done
    wait
}

# compile NAME ARGUMENT...: examples/NAME against what is in this folder.
compile() {
    local name=$1
    shift
    wanted "$name" || return 0
    if [ -z "$nvcc" ]; then
        verdict skip "$name" "(0 s): no nvcc"
    elif "$nvcc" -I"$here/include" "$here/examples/$name" "$@" \
        "$here/lib/libcuarena.a" -lcuda -o "$out/${name%.*}" \
        >"$out/logs/compile-$name.log" 2>&1; then
        run "${name%.*}" "$out/${name%.*}"
    else
        verdict FAIL "$name" "does not compile"
    fi
}

part_examples() {
    local program nvcc
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
    for program in "$here"/examples/*; do
        case $program in *.c | *.cu) continue ;; esac
        ! wanted "${program##*/}" || run "${program##*/}" "$program"
    done
    compile 12_device.c
    compile 13_kernel.cu -std=c++17
}

part_frameworks() {
    local program
    command -v python3 >/dev/null || {
        verdict skip frameworks "(0 s): no python3"
        return
    }
    for program in "$here"/frameworks/*.py; do
        ! wanted "${program##*/}" ||
            run "${program##*/}" python3 "$program" "$here/lib/libcuarena.so"
    done
}

find_sanitizer() {
    command -v compute-sanitizer ||
        ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true
}

# Errors that the driver returns are the tests' own business. Checkers are
# slow, so sizes are those of a slow machine. Blocks are moved whole, whatever
# of them was written: to initcheck all of an arena is written from the start.
# A checker opens the driver itself, and hangs where a process with an arena
# forks, so tests of these are left out; so are those that want most of the
# device, as several programs run at once.
#
# initcheck of version 2025.3.1, with driver 580.159, can lose the device of a
# program that maps handles (backing=vmm): a copy answers
# CUDA_ERROR_LAUNCH_FAILED, and the kernel's log has Xid 31, a copy engine that
# writes to a page which is not mapped. It does so to a program that maps,
# copies and unmaps by the driver's calls alone, and to one that waits for the
# device before and after each call; where the program's calls were recorded,
# the address is in nothing that it had then. With memory of other kinds only,
# and under memcheck and synccheck, it was not seen. So under initcheck alone
# such a program begins anew, a few times, and its verdict says so; it is skipped
# if that does not help, since memcheck and synccheck have it as well. What
# failed stays in the logs.
#
# Nothing is told by NVTX here: to initcheck a block that has moved is new, and
# part_nvtx has memcheck.
part_sanitizer() {
    local sanitizer tool program name zero losses
    sanitizer=$(find_sanitizer)
    [ -n "$sanitizer" ] || {
        verdict skip sanitizer "no compute-sanitizer"
        return
    }
    for tool in memcheck initcheck synccheck; do
        zero='' losses=0
        [ "$tool" != initcheck ] || zero=1 losses=3
        for program in "$here"/suites/device/*; do
            name=${program##*/}
            case $name in check_standin*) continue ;; esac
            ! wanted "$name" || CUARENA_TEST_SLOW=1 CUARENA_TEST_ZERO=$zero \
                CK_FORK=${CK_FORK:-$(fork_of "$name")} CK_TIMEOUT_MULTIPLIER=20 \
                CK_EXCLUDE_TAGS="process alone" \
                later "${device_jobs:-$jobs}" "$tool-$name" "$sanitizer" \
                --nvtx no --tool "$tool" --target-processes all --report-api-errors no \
                --error-exitcode 99 "$program"
        done
    done
    wait
}

# Arenas that part_nvtx has, each with a name for its lines. Of handles and of a
# driver's pool the checker is told nothing, so their mistakes are not looked for.
told_arenas() {
    cat <<'END'
device memory=device,pool=16MiB
malloc memory=device,backing=malloc,pool=16MiB
managed memory=managed,pool=16MiB
pinned memory=pinned,pool=16MiB
grow preset=grow,memory=device,limit=64MiB
bfc preset=bfc,memory=device,limit=64MiB
mlx preset=mlx-cuda,backing=malloc,limit=64MiB
cupy preset=cupy-pool,memory=device,limit=64MiB
guards memory=device,pool=16MiB,guard=64,fill=both,quarantine=64KiB
zeroes memory=device,pool=16MiB,zero=free
END
}

untold_arenas() {
    cat <<'END'
vmm memory=device,backing=vmm,pool=16MiB
async memory=device,backing=async,pool=16MiB
driver-pool preset=driver-pool,memory=device
mlx-async preset=mlx-cuda,memory=device,limit=64MiB
END
}

# finds NAME COMMAND...: passes if the checker finds one byte out of bounds, and
# names an allocation of the size that the program's blocks have.
finds() {
    local name=$1 log=$out/logs/$1.log started=$SECONDS took status=0
    shift
    timeout --kill-after=20 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    took="($((SECONDS - started)) s)"
    if grep -q '^skipped' "$log" || [ "$status" -eq 77 ]; then
        verdict skip "$name" "$took: the arena cannot do this"
    elif ! grep -qE 'Invalid __global__ (read|write) of size 1 ' "$log"; then
        verdict FAIL "$name" "$took: the mistake was not found"
    elif ! grep -qE 'of size 4,?099 ' "$log"; then
        verdict FAIL "$name" "$took: found, but not with the block's size"
    else
        verdict pass "$name" "$took: $(grep -m 1 -oE \
            'and is .* nearest allocation.*' "$log")"
    fi
}

# What is to be found, and what is clean: by each arena.
nvtx_faults() {
    local name options mode check=("$1" --nvtx yes --tool memcheck
        --destroy-on-device-error kernel --error-exitcode 99)
    while read -r name options; do
        for mode in past freed moved; do
            ! wanted "nvtx-$mode-$name" || {
                while [ "$(jobs -rp | wc -l)" -ge "${device_jobs:-$jobs}" ]; do
                    wait -n || true
                done
                finds "nvtx-$mode-$name" "${check[@]}" "$out/faults" "$mode" \
                    "$options" &
            }
        done
    done < <(told_arenas)
    while read -r name options; do
        for mode in clean queued; do
            ! wanted "nvtx-$mode-$name" ||
                later "${device_jobs:-$jobs}" "nvtx-$mode-$name" "${check[@]}" \
                    "$out/faults" "$mode" "$options"
        done
    done < <(told_arenas && untold_arenas)
    wait
}

# Growth, compaction and running out are ranges of the domain "cuarena".
nvtx_profile() {
    local nsys log=$out/logs/nvtx-profile.log
    nsys=$(command -v nsys || true)
    wanted nvtx-profile || return 0
    [ -n "$nsys" ] || {
        verdict skip nvtx-profile "no nsys"
        return
    }
    "$nsys" profile --trace=nvtx,cuda --force-overwrite=true \
        --output="$out/results/nvtx" "$out/faults" clean \
        preset=grow,memory=device,limit=64MiB >"$log" 2>&1 &&
        "$nsys" stats --report nvtx_sum "$out/results/nvtx.nsys-rep" >>"$log" 2>&1
    if grep -q 'cuarena:grow' "$log" && grep -q 'cuarena:run out' "$log" &&
        grep -q 'cuarena:compact' "$log"; then
        verdict pass nvtx-profile "grow, run out, compact"
    else
        verdict FAIL nvtx-profile "ranges are missing"
    fi
}

# find_runtime NVCC: the CUDA runtime's library.
find_runtime() {
    local bin file
    bin=$(dirname "$(readlink -f "$1")")
    for file in "$bin"/../lib64/libcudart.so* "$bin"/../lib/libcudart.so* \
        "$bin"/../targets/*/lib/libcudart.so* \
        $(ldconfig -p 2>/dev/null | sed -n 's/.*libcudart\.so.* => //p'); do
        [ ! -e "$file" ] || {
            echo "$file"
            return
        }
    done
}

# runtime_of NAME: nothing for programs that begin it otherwise than before all
# tests: whose tests are processes of their own, or are about who makes the
# driver's context, or who opens the driver.
runtime_of() {
    case $1 in
    check_driver | check_device_export | check_layer* | check_place) ;;
    *) echo "$runtime" ;;
    esac
}

# Each suite. The checker takes no regions before the CUDA runtime has begun, so
# the programs begin it. Tests that use bytes which are no block's, to see what the
# library makes of it, tell nothing. Of programs that are not in the list told
# (nvtx_tests of tests/Makefile.inc says why) answers may be others with a tool, so
# that only what the checker found counts.
nvtx_suites() {
    local program name others
    for program in "$here"/suites/device/*; do
        name=${program##*/} others=
        case $name in check_standin*) continue ;; esac
        grep -qx "$name" "$here/nvtx/told" || others=yes
        ! wanted "nvtx-$name" || CUARENA_TEST_SLOW=1 \
            CUARENA_TEST_RUNTIME=$(runtime_of "$name") \
            CK_FORK=${CK_FORK:-$(fork_of "$name")} CK_TIMEOUT_MULTIPLIER=20 \
            CK_EXCLUDE_TAGS="process alone" \
            later "${device_jobs:-$jobs}" "nvtx-$name" "$1" --nvtx yes \
            --tool memcheck --target-processes all --report-api-errors no \
            --error-exitcode 99 "$program"
    done
    wait
}

# What the checker found: a line for each program with the processes it looked
# into, errors, and lines that say that it did not take what it was told; and all.
# A program that it says nothing of is a failure.
nvtx_summary() {
    local log name
    for log in "$out"/logs/nvtx-check_*.log; do
        name=${log##*/} name=${name%.log}
        [ -f "$out/verdicts/$name" ] || continue
        grep -q 'ERROR SUMMARY' "$log" ||
            verdict FAIL "$name" "the checker says nothing of it" >&2
        awk -v name="${name#nvtx-}" '
            /ERROR SUMMARY: / { processes++; sub(/.*ERROR SUMMARY: /, ""); errors += $1 }
            /^=+ .*([Ww]arning|not ready)/ { refused++ }
            END { printf "%-32s %9d %7d %9d\n", name, processes, errors, refused }' "$log"
    done | awk '
        BEGIN { printf "%-32s %9s %7s %9s\n", "memcheck, told by NVTX", "processes", "errors",
            "warnings" }
        { print; programs++; processes += $2; errors += $3; warnings += $4 }
        END { printf "%-32s %9d %7d %9d\n", programs + 0 " programs", processes, errors, warnings }'
}

part_nvtx() {
    local sanitizer nvcc runtime
    sanitizer=$(find_sanitizer)
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
    if [ -z "$sanitizer" ] || [ -z "$nvcc" ]; then
        verdict skip nvtx "no compute-sanitizer, or no nvcc"
        return
    fi
    if "$nvcc" -std=c++17 -lineinfo -I"$here/include" "$here/nvtx/faults.cu" \
        "$here/lib/libcuarena.a" -lcuda -o "$out/faults" \
        >"$out/logs/compile-faults.log" 2>&1; then
        nvtx_faults "$sanitizer"
        nvtx_profile
    else
        verdict FAIL nvtx-faults "does not compile"
        cp "$out/logs/compile-faults.log" "$out/logs/nvtx-faults.log"
    fi
    runtime=${CUARENA_TEST_RUNTIME:-$(find_runtime "$nvcc")}
    if [ -z "$runtime" ]; then
        verdict skip nvtx-suites "no libcudart: the checker would take nothing"
        return
    fi
    nvtx_suites "$sanitizer"
    nvtx_summary | tee "$out/results/nvtx.txt"
}

# shellcheck source=gpu-layer.sh
. "$here/layer/part.sh"

part_benches() {
    local program name arguments
    CUARENA_BENCH_DRIVER=$(nvidia-smi --query-gpu=driver_version \
        --format=csv,noheader 2>/dev/null | head -n 1)
    export CUARENA_BENCH_DRIVER
    for program in "$here"/bench/*; do
        name=${program##*/bench_}
        wanted "bench_$name" || continue
        case $name in rust | workers) continue ;; esac
        arguments=(${quick:+--quick} --json "$out/results/$name.json")
        case $name in
        alone | snapshot) arguments=() ;;
        trace) arguments=("$out/trace.csv") ;;
        replay) arguments=("$here"/traces/*.csv.gz) ;;
        threads) arguments=("$here"/traces/gpt2_train.csv.gz) ;;
        threads_cuda) arguments+=("$here"/traces/gpt2_train.csv.gz) ;;
        esac
        [ "$name" != traces_cuda ] || arguments+=("$here"/traces/*.csv.gz)
        [ "$name" != stealing ] ||
            arguments+=("$here"/traces/multistream.csv.gz)
        [ "$name" != threads_cuda ] || add_torch
        run "bench_$name" "$program" "${arguments[@]}"
        sed 's/^/    /' "$out/logs/bench_$name.log"
    done
    bench_rust
    bench_workers
}

# PyTorch's allocator beside the others, where Python has it and it compiles.
add_torch() {
    local library
    ! library=$(python3 "$here/torch/torch_library" "$out") ||
        arguments+=("$library")
}

# By criterion, whose reports are below criterion/. It measures a few hundred
# things, each for less than a second.
bench_rust() {
    local limit=900
    [ -x "$here/bench/bench_rust" ] && wanted bench_rust || return 0
    CRITERION_HOME=$out/criterion CUARENA_BENCH_JSON=$out/results/rust.json \
        run bench_rust "$here/bench/bench_rust" --bench ${quick:+--quick}
    grep -E '^[a-z].*/|time:' "$out/logs/bench_rust.log" | sed 's/^/    /'
}

# Programs of rayon and tokio.
bench_workers() {
    [ -x "$here/bench/bench_workers" ] && wanted bench_workers || return 0
    CUARENA_BENCH_WORKERS_JSON=$out/results/workers.json \
        run bench_workers "$here/bench/bench_workers" --bench ${quick:+--quick}
    sed 's/^/    /' "$out/logs/bench_workers.log"
}

#### All of it ####

started=$SECONDS
for part in "${parts[@]}"; do
    echo
    echo "== $part"
    "part_$part"
done

count() {
    cat "$out"/verdicts/* 2>/dev/null | grep -c "^$1 "
}

echo
cat "$out"/verdicts/* 2>/dev/null | sed -n 's/^FAIL //p' |
    while read -r name; do
        echo "---- $name"
        tail -n 30 "$out/logs/$name.log" 2>/dev/null | sed 's/^/    /'
    done
echo "$(count pass) passed, $(count FAIL) failed, $(count skip) skipped" \
    "in $((SECONDS - started)) s; logs: $out/logs"
[ "$(count FAIL)" -eq 0 ] && {
    [ "$(count pass)" -gt 0 ] || [ "${parts[*]}" = info ]
}
