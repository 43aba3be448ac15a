#!/usr/bin/env bash
# The `cuarena' command: traces of what other allocators recorded.
. "$(dirname "$0")/support.sh"

python=$(command -v python3) || exit 77

# snapshot KIND PROTOCOL: writes $folder/KIND.pickle, and what it comes to as KIND.txt.
snapshot() {
    "$python" "${srcdir:-.}/tests/tool/snapshot.py" "$1" "$2" "$folder/$1.pickle" \
        "$folder/$1.txt"
}

# imported NAME ARGUMENT...: status 0, nothing on stdout; what is told is in $folder/err.
imported() {
    local name=$1
    shift
    call import "$@"
    verdict "$name" "status 0, 0 bytes" "status $status, $(wc -c <"$folder/out") bytes$(
        [ "$status" = 0 ] || cat "$folder/err")"
}

# same NAME FILE FILE: the lines are the same.
same() {
    verdict "$1" "" "$(diff "$2" "$3" | head -n 4)"
}

# paired NAME TRACE: each free has the address and size of the allocation that has its id.
paired() {
    verdict "$1" "" "$(awk -F, 'NR == 1 { next }
        $1 == "a" { size[$2] = $3; at[$2] = $6 }
        $1 == "f" && (size[$2] != $3 || at[$2] != $6) { print NR ": " $0 }' "$2")"
}

#### Snapshots of PyTorch ####

# as_expected KIND TRACE
as_expected() {
    tail -n +2 "$2" | cut -d, -f1,3- >"$folder/lines"
    same "$1: the trace is what happened" "$folder/$1.txt" "$folder/lines"
    paired "$1: frees are those of their allocations" "$2"
    served "$1: it can be replayed" replay --streams --json "$2"
}

test_snapshots() {
    local kind protocol
    for kind in whole ring expandable late; do
        for protocol in 2 3 4 5; do
            snapshot $kind $protocol
            imported "$kind, protocol $protocol" "$folder/$kind.pickle" -o "$folder/$kind.csv"
            as_expected $kind "$folder/$kind.csv"
        done
    done
    verdict "columns" "op,id,size,stream,time,address,pytorch_reserved" \
        "$(head -n 1 "$folder/whole.csv")"
    imported "what was older than the ring is told" "$folder/ring.pickle" -o "$folder/ring.csv"
    verdict "with its count" 1 "$(grep -c 'note: 61 of the allocations were made before' \
        "$folder/err")"
    imported "what was refused is told" "$folder/whole.pickle" -o "$folder/whole.csv"
    verdict "with its count" 1 "$(grep -c 'note: 10 requests that were refused' "$folder/err")"
}

test_files() {
    snapshot whole 4
    imported "gzip is written" "$folder/whole.pickle" --output "$folder/whole.csv.gz"
    gzip -dc "$folder/whole.csv.gz" >"$folder/whole.csv"
    as_expected whole "$folder/whole.csv"
    "$cuarena" import "$folder/whole.pickle" >"$folder/stdout.csv" 2>"$folder/err"
    same "standard output has the same" "$folder/whole.csv" "$folder/stdout.csv"
    gzip -c "$folder/whole.pickle" | "$cuarena" import --from pytorch - -o - \
        >"$folder/stdout.csv" 2>"$folder/err"
    same "so has standard input, as gzip" "$folder/whole.csv" "$folder/stdout.csv"
    verdict "which is named so" 1 \
        "$(grep -c 'standard input: 222 allocations, 150 frees, streams: 3' "$folder/err")"
    "$cuarena" import "$folder/whole.pickle" 2>"$folder/err" >/dev/full
    verdict "a full disk is an error" "2 1" \
        "$? $(grep -c 'standard output: No space left' "$folder/err")"
    bad "nothing is written into no folder" "$folder/none/a.csv: No such file" \
        import "$folder/whole.pickle" -o "$folder/none/a.csv"
}

test_devices() {
    snapshot devices 4
    bad "several devices" "devices 0, 2 have entries, expected --device with one" \
        import "$folder/devices.pickle"
    bad "a device without entries" "device 1 has no entries, expected --device with one of 0, 2" \
        import --device 1 "$folder/devices.pickle"
    bad "a device that is not there" "device 9 has no entries" \
        import --device 9 "$folder/devices.pickle"
    imported "one of them" --device 2 "$folder/devices.pickle" -o "$folder/devices.csv"
    as_expected devices "$folder/devices.csv"
    snapshot unrecorded 4
    bad "nothing was recorded" "no device has entries, expected one of a program that called" \
        import "$folder/unrecorded.pickle"
}

# entries NAME TEXT PYTHON: a snapshot with such entries is bad, or "": imported, which $lines tells.
entries() {
    "$python" -c 'import pickle, sys
pickle.dump(eval(sys.argv[1]), open(sys.argv[2], "wb"), protocol=4)' "$3" "$folder/odd.pickle"
    if [ -n "$2" ]; then
        bad "$1" "$folder/odd.pickle: $2" import "$folder/odd.pickle"
    else
        imported "$1" "$folder/odd.pickle" -o "$folder/odd.csv"
        lines=$(tail -n +2 "$folder/odd.csv" | paste -sd ' ')
    fi
}

test_odd_entries() {
    local a='{"action": "alloc", "addr": 4096, "size": 10, "stream": 7}' lines
    local f='{"action": "free_completed", "addr": 4096, "size": 10, "stream": 7}'
    entries "no snapshot" "the pickle has no 'device_traces'" '[1, 2]'
    entries "no list of devices" "no device has entries" '{"device_traces": 5}'
    entries "no list of entries" "no device has entries" '{"device_traces": [None, 5, ""]}'
    entries "an entry that is none" "entry 0 of device 0 has no 'action'" \
        '{"device_traces": [[None]]}'
    entries "no address" "entry 1 of device 0 has no 'addr'" \
        "{'device_traces': [[$a, {'action': 'alloc', 'size': 1}]]}"
    entries "a size below 0" "entry 0 of device 0 has no 'size'" \
        '{"device_traces": [[{"action": "alloc", "addr": 1, "size": -1}]]}'
    entries "no event" "nothing is allocated or freed in it" \
        '{"device_traces": [[{"action": "snapshot", "addr": 0, "size": 0}]]}'
    entries "no segments" "" "{'device_traces': [[$a, $f]]}"
    verdict "then nothing is reserved" \
        "a,0,10,0,0,0x1000,0 f,0,10,0,0,0x1000,0" "$lines"
    entries "a free that was not recorded" "" "{'device_traces': [[$a, $a]]}"
    verdict "comes before its address is used again" \
        "a,0,10,0,0,0x1000,0 f,0,10,0,0,0x1000,0 a,1,10,0,0,0x1000,0" "$lines"
    verdict "and is told" 1 "$(grep -c '1 frees were not recorded' "$folder/err")"
    entries "times that fall" "" "{'device_traces': [[{**$a, 'time_us': 5}, {**$f, 'time_us': 3}]]}"
    verdict "stay what they were" "a,0,10,0,5000,0x1000,0 f,0,10,0,5000,0x1000,0" "$lines"
    entries "a second free" "" "{'device_traces': [[$a, $f, $f, {'action': 'later'}]]}"
    verdict "is left out" "a,0,10,0,0,0x1000,0 f,0,10,0,0,0x1000,0" "$lines"
    verdict "and told, like what is not known" "1 1" \
        "$(grep -c '1 frees of what was free' "$folder/err") $(
            grep -c '1 other entries' "$folder/err")"
    entries "frees that were only requested" "" \
        "{'device_traces': [[$a, {**$f, 'action': 'free_requested'}]]}"
    verdict "are the frees then" "a,0,10,0,0,0x1000,0 f,0,10,0,0,0x1000,0" "$lines"
    entries "segments that do not add up" "" \
        "{'device_traces': [[{**$a, 'action': 'segment_alloc'}, $a]]}"
    verdict "say nothing of what was reserved" "a,0,10,0,0,0x1000" "$lines"
    entries "a segment that goes, but was not there" "" \
        "{'device_traces': [[$a, {'action': 'snapshot'}, {**$a, 'action': 'segment_free'}, $f]]}"
    verdict "says no more of it" "a,0,10,0,0,0x1000 f,0,10,0,0,0x1000" "$lines"
    entries "what came after the segments were looked at" "" "{'segments': [{'total_size': 64}],
        'device_traces': [[$a, {'action': 'snapshot'}, {**$a, 'action': 'segment_alloc'}, $f]]}"
    verdict "adds to what they say" "a,0,10,0,0,0x1000,64 f,0,10,0,0,0x1000,74" "$lines"
}

#### Pickles ####

test_pickles() {
    local cut
    snapshot code 4
    bad "code is refused, and not run" "opcode STACK_GLOBAL (0x93) is refused, expected built-in" \
        import "$folder/code.pickle"
    snapshot code 2
    bad "by each protocol" "opcode GLOBAL (0x63) is refused" import "$folder/code.pickle"
    snapshot whole 4
    for cut in 2 3 11 12 500 40000; do
        head -c $cut "$folder/whole.pickle" >"$folder/cut.pickle"
        bad "cut after $cut bytes" "expected a whole pickle" import "$folder/cut.pickle"
    done
    printf '\200\006.' >"$folder/new.pickle"
    bad "a protocol that is not known" "opcode PROTO (0x80) names another protocol" \
        import --from pytorch "$folder/new.pickle"
    printf '\200\004\377.' >"$folder/new.pickle"
    bad "an opcode that is not known" "byte 2: opcode unknown (0xff) is refused" \
        import "$folder/new.pickle"
    printf '\200\004.' >"$folder/none.pickle"
    bad "no value" "byte 2: opcode STOP (0x2e) finds too few values" import "$folder/none.pickle"
    printf '\200\004]r\377\377\377\177.' >"$folder/memo.pickle"
    bad "a memo of 2^31 values" "opcode LONG_BINPUT (0x72) leaves out numbers" \
        import "$folder/memo.pickle"
    printf '\200\004X\377\377\377\377.' >"$folder/long.pickle"
    bad "a text of 4 GiB" "opcode BINUNICODE (0x58) is cut by the end" import "$folder/long.pickle"
    printf '\200\004]q\0h\0a.' >"$folder/itself.pickle"
    bad "a list in itself" "the pickle has no 'device_traces'" import "$folder/itself.pickle"
    { printf '\200\004' && head -c 3000000 /dev/zero | tr '\0' '(' && printf ']'; } \
        >"$folder/deep.pickle"
    bad "three million marks" "the file ends, expected a whole pickle" import "$folder/deep.pickle"
    { printf '\200\004' && head -c 3000000 /dev/zero | tr '\0' ']' &&
        head -c 2999999 /dev/zero | tr '\0' 'a' && printf '.'; } >"$folder/deep.pickle"
    bad "three million lists in each other" "the pickle has no 'device_traces'" \
        import "$folder/deep.pickle"
}

#### Logs of RMM ####

test_rmm() {
    imported "a log" "$folder/rmm-more.log" -o "$folder/rmm.csv"
    same "its events are those of the trace" <(tail -n +2 "$folder/plain.csv" | cut -d, -f1,3-4) \
        <(tail -n +2 "$folder/rmm.csv" | cut -d, -f1,3-4)
    verdict "with time and address" "a,0,300,0,32400000001000,0x7f0000000000" \
        "$(sed -n 2p "$folder/rmm.csv")"
    paired "frees are those of their allocations" "$folder/rmm.csv"
    verdict "what is left out is told" "1 1" \
        "$(grep -c '1 requests that were refused' "$folder/err") $(
            grep -c '2 other entries' "$folder/err")"
    sed 's/\([0-9][0-9]\)\.\([0-9]*\),/\1:\2,/; 1!s/,0x0$/,0/' "$folder/rmm-more.log" \
        >"$folder/old.log"
    imported "older versions" "$folder/old.log" --from rmm -o "$folder/old.csv"
    same "come to the same" "$folder/rmm.csv" "$folder/old.csv"
    { cat "$folder/rmm-more.log" && printf '17,09:00'; } >"$folder/torn.log"
    imported "a log that is cut" "$folder/torn.log" -o "$folder/torn.csv"
    same "comes to the same" "$folder/rmm.csv" "$folder/torn.csv"
    verdict "and is told to be" 1 "$(grep -c 'torn.log:13: note: the file is cut' "$folder/err")"
    printf '%s\n' Thread,Time,Action,Pointer,Size,Stream 1,23:59:59.999999,free,0x10,5,0x2 \
        1,00:00:00.000001,allocate,0x10,7,0x3 1,later,free,0x10,7,0x3 >"$folder/late.log"
    imported "a log over midnight, that began late" "$folder/late.log" -o "$folder/late.csv"
    verdict "has what is older, and its times grow" \
        "a,0,5,0,86399999999000,0x10 f,0,5,0,86399999999000,0x10 a,1,7,1,86400000001000,0x10 f,1,7,1,86400000001000,0x10" \
        "$(tail -n +2 "$folder/late.csv" | paste -sd ' ')"
}

# bad_log NAME TEXT LINE...
bad_log() {
    local name=$1 text=$2
    shift 2
    printf '%s\n' Thread,Time,Action,Pointer,Size,Stream "$@" >"$folder/bad.log"
    bad "$name" "$folder/bad.log:$text" import "$folder/bad.log"
}

test_bad_logs() {
    bad_log "unknown action" "2: Action is 'resize', expected allocate" 1,2,resize,0x10,1,0x0
    bad_log "no address" "2: Pointer is 'x10', expected an address" 1,2,allocate,x10,1,0x0
    bad_log "bytes at NULL" "2: Pointer is '(nil)', expected the" 1,2,allocate,'(nil)',1,0x0
    bad_log "no size" "2: Size is '1k', expected a number" 1,2,allocate,0x10,1k,0x0
    bad_log "no stream" "2: Stream is 'x', expected an address" 1,2,allocate,0x10,1,x
    bad_log "too few fields" "3: 2 fields in '1,2', expected 6" 1,2,free,0x10,1,0x0 1,2 \
        1,2,free,0x10,1,0x0
    printf '%s\n' Thread,Time,Action,Pointer,Size,Stream,Pointer 1,0,allocate,0x10,99,0,0x20 \
        >"$folder/bad.log"
    bad "a column twice" "bad.log:1: two columns 'Pointer' in 'Thread,Time,Action,Poi" \
        import "$folder/bad.log"
    printf '%s\n' Thread,Action,Pointer,Size,Stream,Time,Time 1,allocate,0x10,99,0,0,0 \
        >"$folder/bad.log"
    bad "a column twice that may be missing" "bad.log:1: two columns 'Time' in" \
        import "$folder/bad.log"
    bad "a log without events" "nothing is allocated or freed in it" import \
        <(head -n 1 "$folder/rmm.log")
    bad "a device of a log" "expected PyTorch's snapshot for --device" \
        import --device 0 "$folder/rmm.log"
    bad "neither" "plain.csv:1: it begins with 'op,id,size,strea', expected PyTorch's snapshot or" \
        import "$folder/plain.csv"
    bad "no log though told so" "plain.csv:1: no columns Action, Pointer and Size" \
        import --from rmm "$folder/plain.csv"
    bad "no snapshot though told so" "byte 0: opcode unknown" \
        import --from pytorch "$folder/rmm.log"
    bad "no file" "0 files are named, expected one" import
    bad "two files" "2 files are named" import "$folder/rmm.log" "$folder/rmm.log"
    bad "an unknown kind" "--from is 'jax', expected rmm or pytorch" import --from jax x
    bad "a device of no number" "--device is 'cuda', expected a whole number" \
        import --device cuda x
    bad "a letter of another command" "unknown option '-o' of info" info -o x
    bad "an output that is not named" "option '-o' has no value" import x -o
}

run test_snapshots test_files test_devices test_odd_entries test_pickles test_rmm test_bad_logs
