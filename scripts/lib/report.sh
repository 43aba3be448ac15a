# shellcheck shell=bash
# Run the stages of scripts/check and report each in one line. Sourced, not run.
#
# A stage is a function stage_NAME. Its output goes to build/logs/NAME.log. It
# passes by returning 0, skips by `skip REASON', which returns 77, and fails
# otherwise; 77 from elsewhere (libFuzzer has it for a finding) is a failure.

passed=0
failed=0
skipped=0

# skip REASON: the last thing that a skipped stage says.
skip() {
    echo "skip: $*"
    return 77
}

# run_stage NAME SECONDS: the stage, ended if it takes longer.
run_stage() {
    local name=$1 limit=$2 log=$root/build/logs/$1.log
    local started=$SECONDS running status reason took

    timeout --kill-after=20 "$limit" "$root/scripts/check" --stage "$name" \
        >"$log" 2>&1 </dev/null &
    running=$!
    trap 'kill $running 2>/dev/null; exit 130' INT TERM
    wait $running && status=0 || status=$?
    trap - INT TERM

    reason=$(tail -n 1 "$log" | sed -n 's/^skip: //p')
    [ "$status" -ne 77 ] || [ -n "$reason" ] || status=1
    [ "$status" -ne 124 ] || echo "ended after $limit s" >>"$log"
    took="($((SECONDS - started)) s)"
    case $status in
    0)
        passed=$((passed + 1))
        echo "pass $name $took"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "skip $name $took: $reason"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $name $took, log: ${log#"$root"/}"
        tail -n 40 "$log" | sed 's/^/    /'
        ;;
    esac
}

# The closing line, and the exit status of it all.
report_total() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
