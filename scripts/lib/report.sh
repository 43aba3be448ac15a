# shellcheck shell=bash
# Run the stages of scripts/check and report each in one line. Sourced, not run.
#
# A stage is a function stage_NAME. Its output goes to build/logs/NAME.log. It
# passes by returning 0, skips by `skip REASON', which returns 77, and fails
# otherwise; 77 from elsewhere (libFuzzer has it for a finding) is a failure.
#
# The last line of its output says more where it begins so: "skip: ", why; and
# "note: ", what is told of a stage that passed.
#
# Stages may run beside each other, in shells of their own: what became of each
# is a line of build/logs/results, RESULT SECONDS CPU NAME.

results=$root/build/logs/results

# Who runs a stage makes the folder of its name there, which one alone can.
claims=$root/build/logs/claims

# skip REASON: the last thing that a skipped stage says.
skip() {
    echo "skip: $*"
    return 77
}

# cpu_seconds FILE: seconds of processor time, of what `times' wrote there: on
# the second line, of the children of a shell.
cpu_seconds() {
    sed -n '2s/[ms]/ /gp' "$1" | awk '{ print int($1 * 60 + $2 + $3 * 60 + $4) }'
}

# result_of STATUS REASON: pass, skip or fail.
result_of() {
    case $1 in
    0) echo pass ;;
    77) [ -n "$2" ] && echo skip || echo fail ;;
    *) echo fail ;;
    esac
}

# run_stage NAME SECONDS: the stage, ended if it takes longer.
run_stage() {
    local name=$1 limit=$2 log=$root/build/logs/$1.log
    local began=$SECONDS running status reason result took
    # In a shell of its own, whose children are those of the stage alone.
    (
        trap 'kill %1 2>/dev/null' TERM
        timeout --kill-after=20 "$limit" "$root/scripts/check" --stage "$name" \
            >"$log" 2>&1 </dev/null &
        wait $! && status=0 || status=$?
        times >"$log.cpu"
        exit "$status"
    ) &
    running=$!
    trap 'kill $running 2>/dev/null; exit 130' INT TERM
    wait $running && status=0 || status=$?
    trap - INT TERM

    [ "$status" -ne 124 ] || echo "ended after $limit s" >>"$log"
    reason=$(tail -n 1 "$log" | sed -n 's/^\(skip\|note\): //p')
    result=$(result_of "$status" "$reason")
    took=$((SECONDS - began))
    echo "$result $took $(cpu_seconds "$log.cpu") $name" >>"$results"
    say_result "$result" "$name" "($took s, $(cpu_seconds "$log.cpu") s of processors)" "$reason"
}

# run_stages SECONDS NAME...: in their order. With `gcc', so with all of them, two run
# at a time, for one alone leaves processors idle: those of `apart', and beside them
# the others, which share folders, one after the other and then what is left of these.
run_stages() {
    local limit=$1 name own=() sharing=()
    shift
    rm -rf "$claims" && mkdir -p "$claims"
    if [[ " $* " != *" gcc "* ]]; then
        run_each "$limit" "$@"
        return
    fi
    for name; do
        if [[ " ${apart[*]} " == *" $name "* ]]; then
            own+=("$name")
        else
            sharing+=("$name")
        fi
    done
    # Both begin with it; if it fails, they say so.
    bootstrap_if_needed >"$root/build/logs/bootstrap.log" 2>&1 || true
    run_each "$limit" "${own[@]}" &
    run_each "$limit" "${sharing[@]}" "${own[@]}"
    wait
}

# run_each SECONDS NAME...: those that nobody runs or has run.
run_each() {
    local limit=$1 name
    shift
    for name; do
        ! mkdir "$claims/$name" 2>/dev/null || run_stage "$name" "$limit"
    done
}

# say_result RESULT NAME TIME REASON: at once, for another may be saying its own.
say_result() {
    local log=$root/build/logs/$2.log
    case $1 in
    pass) echo "pass $2 $3${4:+: $4}" ;;
    skip) echo "skip $2 $3: $4" ;;
    fail) printf '%s\n' "FAIL $2 $3, log: ${log#"$root"/}
$(tail -n 40 "$log" | sed 's/^/    /')" ;;
    esac
}

count_of() {
    grep -c "^$1 " "$results"
}

# The time it all took, the stages that took most of it, the closing line, and
# the exit status.
report_total() {
    echo "$((SECONDS / 60)) min $((SECONDS % 60)) s; the slowest: $(
        sort -k2,2nr "$results" | head -n 6 |
            awk '{ printf "%s%s %s s", sep, $4, $2; sep = ", " }'
    )"
    echo "$(count_of pass) passed, $(count_of fail) failed, $(count_of skip) skipped"
    [ "$(count_of fail)" -eq 0 ] && [ "$(count_of pass)" -gt 0 ]
}
