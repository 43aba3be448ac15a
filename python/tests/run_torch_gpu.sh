#!/usr/bin/env bash
# Test and measure cuarena.torch on the GPU of this machine, in the folder that
# scripts/python-bundle makes:
#
#   torch.sh [--quick] [PART [NAME...]]
#
#   tests     pytest of the module
#   compare   workloads beside PyTorch's allocators, in turns of a few steps
#   caps      the smallest cap under which each workload finishes
#   compile   torch.compile, in turns of a few steps
#   ddp       two GPUs, in turns; skipped with one
#   ipc       tensors passed to another process
#   (no part: all of them, each within its share of the time)
#
# NAMEs are workloads of a part, where not all are wanted: compare gpt2 bert.
# With --quick, one run of few steps, to see that it runs. Each part writes one
# record, OUT/torch_PART.json (with names, OUT/torch_PART-NAME.json of the first
# of them), anew whenever something ends, and a log; it prints a line for each.
#
# LIMIT    seconds for all parts together; default: 540
# RUNS     of each allocator; default: 5
# OUT      folder of logs and records; default: ./out
# PYTHON   default: python3; it has torch and, for `tests', pytest
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${CUARENA_REQUIRE_GPU:=1}"
: "${LIMIT:=540}" "${RUNS:=5}" "${OUT:=out}" "${PYTHON:=python3}"
export CUARENA_REQUIRE_GPU PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CUARENA_TEST_SECONDS=120
export CUARENA_COMMAND="torch.sh $*"
options=() quick=
[ "${1:-}" != --quick ] || {
    quick=1 options=(--steps 4 --warm 2) RUNS=1
    shift
}
parts=("${1:-}") names=("${@:2}")
[ -n "${parts[0]}" ] || parts=(tests compare caps compile ddp ipc)
mkdir -p "$OUT"
out=$(cd "$OUT" && pwd)
end=$((SECONDS + LIMIT))
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# part NAME COMMAND...: what it prints goes to a log, too.
part() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" 2>&1 | tee "$out/torch_$name.log" || status=$?
    if [ "$status" -eq 0 ]; then
        echo "== $name: pass, $((SECONDS - begin)) s"
    else
        echo "== $name: FAIL ($status), $((SECONDS - begin)) s"
        failed=1
    fi
}

# The tests, several at once, but for the one that looks how much the device has.
# Each is a few seconds of starting PyTorch.
# shellcheck disable=SC2317 # part calls it
run_tests() {
    local failed_tests ids=$work/tests.txt
    local shared=(-q -rfEs -W ignore -p no:cacheprovider --tb=short --rootdir "$here")
    cd "$here" || return
    $PYTHON -m pytest "${shared[@]}" tests/test_torch_calls.py || failed_tests=1
    $PYTHON -m pytest "${shared[@]}" --collect-only tests/test_torch.py | grep :: >"$ids"
    [ -z "$quick" ] || sed -i '1~5!d' "$ids"
    # The words in single quotes are for the shells that are started.
    # shellcheck disable=SC2016
    grep -v sleeps "$ids" | xargs -P 5 -n 5 sh -c '
        log=$0/tests-$$.log
        "$@" >"$log" 2>&1 || status=$?
        cat "$log"
        exit "${status:-0}"' "$work" "$PYTHON" -m pytest "${shared[@]}" || failed_tests=1
    [ -n "$quick" ] ||
        grep sleeps "$ids" | xargs "$PYTHON" -m pytest "${shared[@]}" || failed_tests=1
    return "${failed_tests:-0}"
}

tests() {
    part tests run_tests
    "$PYTHON" "$here/benchmarks/record.py" "$out/torch_tests.json" torch-tests "$out/torch_tests.log"
    tail -n 1 "$out/torch_tests.json"
}

# compare PART SECONDS OPTION...
compare() {
    local name=$1${names[0]:+-${names[0]}} seconds=$2
    part "$name" timeout --kill-after=10 $((seconds + 30)) "$PYTHON" "$here/benchmarks/compare.py" \
        --part "$1" --runs "$RUNS" --limit "$seconds" --out "$out/torch_$name.json" \
        "${@:3}" "${options[@]}" "${names[@]}"
}

"$PYTHON" -m pip install --quiet --no-index --no-deps --target "$work/site" \
    "$here"/cuarena-*.whl || exit
export PYTHONPATH=$work/site TORCHINDUCTOR_CACHE_DIR=$work/inductor TRITON_CACHE_DIR=$work/triton
"$PYTHON" -c 'import torch, cuarena.torch
print("torch", torch.__version__, "CUDA", torch.version.cuda, torch.cuda.get_device_name(0))' ||
    exit

left=${#parts[@]}
for name in "${parts[@]}"; do
    seconds=$(((end - SECONDS) / left))
    case $name in
    tests) tests ;;
    compare | compile | ipc) compare "$name" "$seconds" ;;
    caps) compare caps "$seconds" --steps 10 --warm 0 ;;
    ddp)
        if [ "$("$PYTHON" -c 'import torch; print(torch.cuda.device_count())')" -lt 2 ]; then
            echo "== ddp: skipped, one GPU"
        else
            compare ddp "$seconds"
        fi
        ;;
    *) echo "no part '$name'" && failed=1 ;;
    esac
    left=$((left - 1))
done
if [ "$failed" -eq 0 ]; then
    echo "== all parts pass"
else
    echo "== FAILED"
fi
exit "$failed"
