#!/usr/bin/env bash
# The `cuarena' command beside a running program: top and snapshot; and snapshots of replays.
. "$(dirname "$0")/support.sh"
watched=${WATCHED:-tests/tool/watched}
[ -x "$watched" ] || watched=tests/tool/.libs/watched
[ -x "$watched" ] || {
    echo "skipped: the program that is watched was not built"
    exit 77
}

# begin SOCKET COUNT: a program with so many arenas, which listens there; its
# standard input is descriptor 7.
begin() {
    mkfifo "$folder/in" "$folder/ready"
    "$watched" "$1" "$2" <"$folder/in" >"$folder/ready" &
    program=$!
    exec 7>"$folder/in"
    read -r _ <"$folder/ready"
    rm "$folder/in" "$folder/ready"
}

# end: the program of the last begin ends.
end() {
    exec 7>&-
    wait "$program"
    verdict "the program ends" 0 "$?"
}

test_arguments() {
    local socket=$folder/socket
    bad "top: no socket" "no socket is named" top
    bad "top: nobody listens" "No such file or directory, expected the socket of a program's" \
        top "$socket"
    bad "snapshot: no socket" "snapshot has 0 sockets, expected one" snapshot
    bad "snapshot: nobody listens" "No such file" snapshot "$socket"
    bad "snapshot: long path" "a path of 200 bytes, expected 107" \
        snapshot "$(printf '%0200d' 0)"
    bad "snapshot: unknown format" "--format is 'xml', expected json or pytorch" \
        snapshot --format xml "$socket"
    bad "snapshot: no arena 0" "--arena is '0', expected a whole number from 1" \
        snapshot --arena 0 "$socket"
    bad "snapshot: a number beyond 64 bits" \
        "--arena is '18446744073709551617', expected a whole number from 1 to 18446744073709551615" \
        snapshot --arena 18446744073709551617 "$socket"
    bad "top: option of snapshot" "unknown option '--arena'" top --arena 1 "$socket"
    bad "replay: letter of snapshot" "unknown option '-o'" replay -o x "$folder/plain.csv"
}

test_top() {
    local socket=$folder/socket
    begin "$socket" 2
    served "top" top --once "$socket"
    verdict "top: heads" \
        "arena name reserved live free largest broken up allocs/s streams" \
        "$(head -n 1 "$folder/out" | tr -s ' ')"
    verdict "top: rows" \
        "$program/1 watched 1024.0 KiB 293.2 KiB 730.8 KiB 633.0 KiB 13.4 % - 0" \
        "$(sed -n 2p "$folder/out" | tr -s ' ')"
    verdict "top: an arena a row" 3 "$(wc -l <"$folder/out")"
    served "top of two sockets, one gone" top --once --json "$socket" "$folder/gone"
    verdict "top: faults" 1 "$(grep -c '"faults": \["[^"]*No such file' "$folder/out")"
    verdict "top: JSON" 2 "$(grep -o '"reserved_bytes": 1048576, "live_bytes": 300288' \
        "$folder/out" | wc -l)"
    end
    bad "top: the program has ended" "No such file" top "$socket"
}

# A second look tells allocations a second; then nobody reads, and it ends.
test_top_goes_on() {
    local socket=$folder/socket
    begin "$socket" 1
    "$cuarena" top --json "$socket" 2>/dev/null | head -n 2 >"$folder/looks"
    verdict "top: a rate at the second look" 1 \
        "$(sed -n 2p "$folder/looks" | grep -c '"allocs_per_s": 0.0')"
    end
}

test_snapshot() {
    local socket=$folder/socket
    begin "$socket" 1
    served "snapshot" snapshot "$socket"
    verdict "snapshot: version and arena" 1 "$(head -n 2 "$folder/out" |
        tr -d '\n' | grep -c '^{"version":1,.*"name":"watched"')"
    served "snapshot into a file" snapshot -o "$folder/one.json" "$socket"
    verdict "snapshot: the same" "$(grep -c '^{"id"' "$folder/one.json")" 3
    verdict "snapshot: its owner's" 600 "$(stat -c %a "$folder/one.json")"
    served "snapshot for PyTorch" snapshot --output "$folder/one.pickle" "$socket"
    verdict "snapshot: a pickle" "80 02 7d" \
        "$(od -An -tx1 -N3 "$folder/one.pickle" | sed 's/^ //')"
    served "snapshot in a format" snapshot --format json -o "$folder/two.pickle" "$socket"
    verdict "snapshot: JSON" '{"version":1' "$(head -c 12 "$folder/two.pickle")"
    bad "snapshot: no such arena" "no arena has the number 77" snapshot --arena 77 "$socket"
    bad "snapshot: no such folder" "No such file or directory" \
        snapshot -o "$folder/none/x" "$socket"
    end
}

test_snapshot_of_several() {
    local socket=$folder/socket
    begin "$socket" 3
    bad "snapshot: of which arena" "the program has 3 arenas, expected --arena 1, 2 or 3" \
        snapshot "$socket"
    served "snapshot of the second" snapshot --arena 2 "$socket"
    verdict "snapshot: the second" 1 "$(grep -c '^"arena":{"number":2,' "$folder/out")"
    end
    begin "$socket" 0
    bad "snapshot: no arena" "the program has no arena" snapshot "$socket"
    end
}

# At the peak of 1792 bytes, or at the first refusal.
test_snapshot_of_a_replay() {
    local file=$folder/100%.json
    served "replay: snapshot" replay --snapshot "$file" "$folder/plain.csv"
    verdict "replay: at the peak" 1 "$(grep -c '"live_bytes":1792,' "$file")"
    verdict "replay: none was refused" 1 "$(grep -c '^"last_refusal":null' "$file")"
    call replay --snapshot "$file" --pool 1280 "$folder/plain.csv"
    verdict "replay: at the refusal" "1 1" \
        "$status $(grep -c '^"last_refusal":{"status":"CUARENA_OUT_OF_MEMORY"' "$file")"
    served "replay: for PyTorch" replay --snapshot "$folder/a.pickle" "$folder/plain.csv"
    verdict "replay: a pickle" "80 02 7d" \
        "$(od -An -tx1 -N3 "$folder/a.pickle" | sed 's/^ //')"
    bad "replay: two traces" "--snapshot with 2 traces, expected one" \
        replay --snapshot "$file" "$folder/plain.csv" "$folder/plain.csv"
    bad "replay: no such folder" "No such file or directory" \
        replay --snapshot "$folder/none/x" "$folder/plain.csv"
}

run test_arguments test_top test_top_goes_on test_snapshot test_snapshot_of_several \
    test_snapshot_of_a_replay
