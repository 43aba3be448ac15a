#!/usr/bin/env bash
# Test and measure the package on the GPU of this machine, with the frameworks
# that its Python has. scripts/python-bundle makes the folder that this runs in:
#
#   run.sh [--quick] [OUT [PART...]]
#
#   --quick  benchmarks with few samples, to see that they run
#   OUT      gets run.log, with all output, and the records of the benchmarks,
#            cupy_pairs.json, cupy_analytics.json and frameworks.json;
#            default: ./out
#   PART     of tests, cupy_own, examples, pairs, analytics and others;
#            default: all
#
# One line for each part, as `pass NAME' or `FAIL NAME', or why it is skipped;
# the last line counts them. Each part is ended after four minutes. It takes the
# wheels beside it, and no network. torch.sh tests and measures cuarena.torch.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${PYTHON:=python3}"
: "${CUARENA_REQUIRE_GPU:=1}"
export CUARENA_REQUIRE_GPU PYTHONDONTWRITEBYTECODE=1
quick=
[ "${1:-}" != --quick ] || {
    quick=--quick
    shift
}
out=${1:-out}
wanted=" ${*:2} "
[ $# -gt 1 ] || wanted=" tests cupy_own examples pairs analytics others "
mkdir -p "$out"
out=$(cd "$out" && pwd)
: >"$out/run.log"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# part NAME COMMAND...: its log, and one line.
part() {
    local name=$1 status=0 began=$SECONDS log=$work/$1.log
    shift
    timeout --kill-after=10 240 "$@" >"$log" 2>&1 </dev/null || status=$?
    { echo "== $name" && cat "$log"; } >>"$out/run.log"
    case $status in
    0)
        passed=$((passed + 1))
        echo "pass $name ($((SECONDS - began)) s)"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "skip $name: $(grep -m 1 '^skipped' "$log")"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $name ($((SECONDS - began)) s, exit status $status)"
        tail -n 40 "$log" | sed 's/^/    /'
        ;;
    esac
}

# show NAME PATTERN: lines of a log.
show() {
    grep -E "$2" "$work/$1.log" | sed 's/^/    /'
}

part install "$PYTHON" -m pip install --quiet --no-index --no-deps --target "$work/site" \
    "$here"/*.whl
[ "$failed" -eq 0 ] || exit 1
export PYTHONPATH=$work/site
"$PYTHON" -c 'import cuarena; print(cuarena.device_info()); print(cuarena.driver_info())'

wants() {
    [[ $wanted == *" $1 "* ]]
}

if wants tests; then
    part tests "$PYTHON" -m pytest -q -p no:cacheprovider --rootdir "$here/tests" \
        --ignore "$here/tests/test_torch.py" "$here/tests"
    show tests '^(SKIPPED|FAILED|ERROR|[0-9]+ passed|.* in [0-9.]+s)'
fi
if wants cupy_own; then
    part cupy_own "$PYTHON" "$here/tests/cupy_own.py" "$here/cupy_tests"
    show cupy_own '^(SKIPPED|FAILED|ERROR|.* in [0-9.]+s)'
fi
if wants examples; then
    for example in "$here"/examples/*.py; do
        part "example_$(basename "$example" .py)" "$PYTHON" "$example"
    done
fi
if wants pairs; then
    CUARENA_COMMAND="run.sh OUT pairs" part pairs "$PYTHON" "$here/benchmarks/pairs.py" ${quick:+--quick} \
        --json "$out/cupy_pairs.json"
    show pairs '^(us|pass|FAIL)'
fi
if wants analytics; then
    few=()
    [ -z "$quick" ] || few=(--steps 10 --runs 1)
    CUARENA_COMMAND="run.sh OUT analytics" part analytics "$PYTHON" "$here/benchmarks/analytics.py" "${few[@]}" \
        --json "$out/cupy_analytics.json" "$here/cupy_analytics.csv.gz"
    show analytics '.'
fi
if wants others; then
    CUARENA_COMMAND="run.sh OUT others" part others "$PYTHON" "$here/benchmarks/others.py" \
        ${quick:+--quick} --json "$out/frameworks.json"
    show others '^us'
fi

echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s; all output: $out/run.log"
[ "$failed" -eq 0 ]
