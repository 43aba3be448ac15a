#!/usr/bin/env bash
# Tests and measures cuarena.torch on a GPU, in one call: logs, results as JSON
# and a line for each part.
#
#   run_torch_gpu.sh [PART...]
#
#   tests     pytest of the module (about a minute)
#   compare   eight workloads beside PyTorch's allocators, in turns
#   caps      the smallest cap under which each workload finishes
#   compile   torch.compile, fewer runs
#   ddp       two GPUs; skipped with one
#   (no part: tests compare caps)
#
# LIMIT    seconds for all parts together; default: 560
# RUNS     of each allocator; default: 5
# OUT      folder of logs and results; default: ./out
# PYTHON   default: python3; it has torch and, for `tests', pytest
# NATIVE   an extension that was compiled elsewhere; else cc makes it
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
: "${LIMIT:=560}" "${RUNS:=5}" "${OUT:=out}" "${PYTHON:=python3}" "${NATIVE:=}"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(tests compare caps)
mkdir -p "$OUT"
end=$((SECONDS + LIMIT))
failed=0

# How many seconds are left for this part, given those that want as much behind it.
share() {
    echo $(((end - SECONDS) / $1))
}

# part NAME COMMAND...
part() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" >"$OUT/torch-$name.log" 2>&1 || status=$?
    tail -n "${SHOW:-80}" "$OUT/torch-$name.log"
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
    local failed_tests ids=$OUT/tests.txt shared=(-q -rfEs -W ignore -p no:cacheprovider
        --tb=short --rootdir python)
    $PYTHON -m pytest "${shared[@]}" python/tests/test_torch_calls.py || failed_tests=1
    $PYTHON -m pytest "${shared[@]}" --collect-only python/tests/test_torch.py |
        sed -n 's/^[a-z_/]*\(test_torch.py::.*\)/python\/tests\/\1/p' >"$ids"
    # The words in single quotes are for the shells that are started.
    # shellcheck disable=SC2016
    grep -v sleeps "$ids" | xargs -P 5 -n 5 sh -c '
        log=$0/tests-$$.log
        "$@" >"$log" 2>&1 || status=$?
        cat "$log"
        exit "${status:-0}"' "$OUT" "$PYTHON" -m pytest "${shared[@]}" || failed_tests=1
    grep sleeps "$ids" | xargs "$PYTHON" -m pytest "${shared[@]}" || failed_tests=1
    return "${failed_tests:-0}"
}

compare() {
    local name=$1
    shift
    part "$name" timeout --kill-after=10 $((end - SECONDS + 20)) \
        "$PYTHON" python/bench/compare.py --out "$OUT/torch-$name.json" "$@"
}

python/tests/stage_package "$OUT/stage" "$NATIVE" >"$OUT/torch-stage.log" 2>&1 || {
    tail "$OUT/torch-stage.log"
    echo "== stage: FAIL"
    exit 1
}
export PYTHONPATH=$PWD/$OUT/stage PYTHONUNBUFFERED=1 CUARENA_TEST_SECONDS=120
case $OUT in /*) PYTHONPATH=$OUT/stage ;; esac
$PYTHON -c 'import torch, cuarena.torch
print("torch", torch.__version__, "CUDA", torch.version.cuda, torch.cuda.get_device_name(0))'

left=${#parts[@]}
for name in "${parts[@]}"; do
    seconds=$(share "$left")
    case $name in
    tests) part tests run_tests ;;
    compare) compare compare --runs "$RUNS" --limit "$seconds" ;;
    caps) compare caps --caps --steps 10 --limit "$seconds" ;;
    compile) compare compile --runs "$RUNS" --limit "$seconds" compiled reduce_overhead ;;
    ddp)
        if [ "$($PYTHON -c 'import torch; print(torch.cuda.device_count())')" -lt 2 ]; then
            echo "== ddp: skipped, one GPU"
        else
            compare ddp --runs "$RUNS" --limit "$seconds" ddp
        fi
        ;;
    *) echo "no part '$name'" && failed=1 ;;
    esac
    left=$((left - 1))
done
rm -rf "$OUT/stage"
if [ "$failed" -eq 0 ]; then
    echo "== all parts pass"
else
    echo "== FAILED"
fi
exit "$failed"
