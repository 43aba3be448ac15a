#!/usr/bin/env bash
# The `cuarena' command: what it makes of good and of bad input.
#
#   CUARENA   the command; ./cuarena or tools/cuarena if not set
#   srcdir    the top of the source tree; . if not set
#
# One line per case; what was expected and what came instead if they differ.
set -uo pipefail
cuarena=${CUARENA:-./cuarena}
[ -n "${CUARENA-}" ] || [ -x "$cuarena" ] || cuarena=tools/cuarena
traces=${srcdir:-.}/traces
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

#### Support ####

# verdict NAME EXPECTED GOT: one line, more if they differ.
verdict() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
        passed=$((passed + 1))
    else
        printf 'FAIL  %s\n  expected  %s\n  got       %s\n' "$1" "$2" "$3"
        failed=$((failed + 1))
    fi
}

# call ARGUMENT...: runs the command; leaves $status, $folder/out, $folder/err.
call() {
    "$cuarena" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

# bad NAME TEXT ARGUMENT...: status 2, nothing on stdout, and one line on
# stderr that has TEXT in it.
bad() {
    local name=$1 text=$2 got
    shift 2
    call "$@"
    got="status $status, $(wc -c <"$folder/out") bytes, $(wc -l \
        <"$folder/err") line"
    if grep -qF -- "$text" "$folder/err"; then
        got="$got: $text"
    else
        got="$got: $(cat "$folder/err")"
    fi
    verdict "$name" "status 2, 0 bytes, 1 line: $text" "$got"
}

# bad_trace NAME TEXT LINE...: the same for a file of these lines; TEXT comes
# behind the name of the file.
bad_trace() {
    local name=$1 text=$2
    shift 2
    printf '%s\n' "$@" >"$folder/bad.csv"
    bad "$name" "$folder/bad.csv:$text" replay "$folder/bad.csv"
}

# values KEY...: of the JSON object on the first line of the last call's stdout,
# a space behind each.
values() {
    local line key
    line=$(head -n 1 "$folder/out")
    if command -v jq >/dev/null; then
        jq -j '.[$ARGS.positional[]] | tostring + " "' --args "$@" <<<"$line"
    elif command -v python3 >/dev/null; then
        python3 -c 'import json, sys
found = json.loads(sys.argv[1])
for key in sys.argv[2:]:
    print("null" if found[key] is None else found[key], end=" ")' "$line" "$@"
    else
        for key; do
            sed -n "s/.*\"$key\": *\"\{0,1\}\([^\",}]*\).*/\1 /p" <<<"$line" |
                tr -d '\n'
        done
    fi
}

# value KEY: one of them.
value() {
    values "$1" | tr -d ' '
}

# served NAME ARGUMENT...: status 0 and nothing on stderr.
served() {
    local name=$1
    shift
    call "$@"
    verdict "$name" "status 0: " "status $status: $(cat "$folder/err")"
}

#### Traces ####

# The same program in every format: 8 events, at most 512 + 1024 + 256 bytes
# live in blocks of multiples of 256, and one of 0 bytes.
header=op,id,size,stream
cat >"$folder/plain.csv" <<'END'
op,id,size,stream
a,0,300,0
a,1,1000,0
a,2,0,0
f,0,300,0
a,3,1,1
f,2,0,0
a,4,512,0
f,1,1000,0
END
gzip -c "$folder/plain.csv" >"$folder/packed.csv.gz"
cp "$folder/packed.csv.gz" "$folder/packed-without-ending"
sed 's/$/\r/' "$folder/plain.csv" >"$folder/crlf.csv"
head -c -1 "$folder/plain.csv" >"$folder/no-newline.csv"
awk -F, -v OFS=, '{ print "x" NR, $4, $3, $2, "y", $1 }
    ' "$folder/plain.csv" | sed '1s/.*/more,stream,size,id,other,op/' \
    >"$folder/columns.csv"
cat >"$folder/rmm.log" <<'END'
Thread,Time,Action,Pointer,Size,Stream
17,09:00:00.000001,allocate,0x7f0000000000,300,0x0
17,09:00:00.000002,allocate,0x7f0000000200,1000,0x0
17,09:00:00.000003,allocate,0x7F0000000900,0,0x0
17,09:00:00.000004,free,0x7f0000000000,300,0x0
17,09:00:00.000005,allocate,0x7f0000000000,1,0x2
17,09:00:00.000006,free,0x7f0000000900,0,0x0
17,09:00:00.000007,allocate,0x7f0000000900,512,0x0
17,09:00:00.000008,free,0x7f0000000200,1000,0x0
END
{
    cat "$folder/rmm.log"
    echo "17,09:00:00.000009,allocate failure,(nil),4096,0x0"
    echo "17,09:00:00.000010,allocate,(nil),0,0x0"
    echo "17,09:00:00.000011,free,(nil),0,0x0"
} >"$folder/rmm-more.log"

# What must not depend on the format; the peak is 256 + 1024 + 512.
counted=(events allocs frees peak_live_bytes pool_bytes failed)
expected="8 5 3 1792 3584 0 "

test_formats() {
    local file largest
    call replay --json "$folder/plain.csv"
    largest=$(value largest_free_bytes_at_peak)
    for file in plain.csv packed.csv.gz packed-without-ending crlf.csv \
        no-newline.csv columns.csv rmm.log; do
        served "$file is served" replay --json "$folder/$file"
        verdict "$file counts" "$expected$largest " \
            "$(values "${counted[@]}" largest_free_bytes_at_peak)"
    done
    call replay --json "$folder/rmm-more.log"
    verdict "failed requests count nothing" "0 $expected" \
        "$status $(values "${counted[@]}")"
    verdict "failed requests are noted" "1" \
        "$(grep -c 'passed over 3 lines' "$folder/err")"
}

#### Bad input ####

test_bad_files() {
    mkdir -p "$folder/folder.csv"
    : >"$folder/empty.csv"
    gzip -c /dev/null >"$folder/empty.csv.gz"
    cp "$folder/plain.csv" "$folder/plain.csv.gz"
    gzip -c "$traces/multistream.csv.gz" >"$folder/twice.csv.gz"
    head -c 20000 "$traces/multistream.csv.gz" >"$folder/cut.csv.gz"
    head -c 12 "$traces/multistream.csv.gz" >"$folder/cut-early.csv.gz"
    head -c -4 "$traces/multistream.csv.gz" >"$folder/cut-late.csv.gz"
    { head -c 9000 "$traces/multistream.csv.gz" && printf 'damage' &&
        tail -c +9007 "$traces/multistream.csv.gz"; } >"$folder/damaged.csv.gz"
    bad "missing file" "$folder/none.csv: No such file" \
        replay "$folder/none.csv"
    bad "folder" "$folder/folder.csv: Is a directory" \
        replay "$folder/folder.csv"
    bad "empty file" "$folder/empty.csv:1: the file is empty" \
        replay "$folder/empty.csv"
    bad "empty gzip" "$folder/empty.csv.gz:1: the file is empty" \
        replay "$folder/empty.csv.gz"
    bad "not gzip though named so" "expected gzip data" \
        replay "$folder/plain.csv.gz"
    bad "gzip in gzip" "$folder/twice.csv.gz:1: no column 'op'" \
        replay "$folder/twice.csv.gz"
    bad "cut gzip" "expected a whole gzip file" replay "$folder/cut.csv.gz"
    bad "gzip cut in its header" "$folder/cut-early.csv.gz:1: " \
        replay "$folder/cut-early.csv.gz"
    bad "gzip cut in its end" "expected a whole gzip file" \
        replay "$folder/cut-late.csv.gz"
    bad "damaged gzip" "expected a whole gzip file" \
        replay "$folder/damaged.csv.gz"
    bad "a good file before a bad one" "$folder/none.csv: " \
        replay --json "$folder/plain.csv" "$folder/none.csv"
    bad "no trace" "no trace is named" replay
}

test_bad_headers() {
    bad_trace "missing size" "1: no column 'size' in 'op,id,stream'" \
        op,id,stream a,0,0
    bad_trace "missing op" "1: no column 'op' in 'id,size,stream'" \
        id,size,stream 0,1,0
    bad_trace "missing id" "1: no column 'id' in" op,size,stream a,1,0
    bad_trace "missing stream" "1: no column 'stream' in" op,id,size a,0,1
    bad_trace "missing pointer" "1: no column 'Pointer' in" \
        Thread,Time,Action,Size,Stream 1,2,free,3,4
    bad_trace "no header" "1: no column 'op' in 'a,0,1,0'" a,0,1,0
    bad_trace "header only" "1: no event follows" "$header"
    bad_trace "nothing but empty lines" "1: there is no line" "" ""
}

test_bad_lines() {
    bad_trace "unknown op" "2: op is 'x', expected a or f" "$header" x,0,1,0
    bad_trace "torn line" "3: 2 fields in 'a,1', expected 4" \
        "$header" a,0,1,0 a,1
    bad_trace "line too long" "2: 5 fields in 'a,0,1,0,9'" "$header" a,0,1,0,9
    bad_trace "negative size" "2: size is '-5', expected a number of bytes" \
        "$header" a,0,-5,0
    bad_trace "size of no number" "2: size is '12k'" "$header" a,0,12k,0
    bad_trace "no size" "2: size is ''" "$header" a,0,,0
    bad_trace "size with a fraction" "2: size is '1.5'" "$header" a,0,1.5,0
    bad_trace "size over 2^63" "2: size is '9223372036854775809'" \
        "$header" a,0,9223372036854775809,0
    bad_trace "size over 2^64" "2: size is '18446744073709551617'" \
        "$header" a,0,18446744073709551617,0
    bad_trace "id of no number" "2: id is 'first', expected a whole number" \
        "$header" a,first,1,0
    bad_trace "stream of no number" "2: stream is '?'" "$header" a,0,1,$'\001'
    bad_trace "free of an unknown id" "3: id is '7', expected one that" \
        "$header" a,0,1,0 f,7,1,0
    bad_trace "free twice" \
        "4: id is '0', expected one that was not freed before (line 3)" \
        "$header" a,0,1,0 f,0,1,0 f,0,1,0
    bad_trace "id twice" "3: id is '0', expected one that is not live (line 2)" \
        "$header" a,0,1,0 a,0,1,0
    bad_trace "id used again" \
        "4: id is '0', expected one that was not used before (line 3)" \
        "$header" a,0,1,0 f,0,1,0 a,0,1,0
    bad_trace "binary bytes" "2: op is '?a', expected" \
        "$header" $'\033a,0,1,0'
}

test_bad_rmm_lines() {
    local rmm=Thread,Time,Action,Pointer,Size,Stream
    bad_trace "RMM: unknown action" "2: Action is 'resize', expected allocate" \
        $rmm 1,2,resize,0x10,1,0x0
    bad_trace "RMM: no address" "2: Pointer is 'x10', expected an address" \
        $rmm 1,2,allocate,x10,1,0x0
    bad_trace "RMM: bytes at NULL" "2: Pointer is '(nil)'" \
        $rmm 1,2,allocate,'(nil)',1,0x0
    bad_trace "RMM: live address" "3: Pointer is '0x10', expected one that is" \
        $rmm 1,2,allocate,0x10,1,0x0 1,2,allocate,0x10,1,0x0
    bad_trace "RMM: free of an unknown address" "2: Pointer is '0x10'" \
        $rmm 1,2,free,0x10,1,0x0
    bad_trace "RMM: stream of no address" "2: Stream is 'x', expected an" \
        $rmm 1,2,allocate,0x10,1,x
}

test_bad_arguments() {
    local good=$folder/plain.csv
    bad "unknown command" "unknown command 'reply', expected replay" reply
    bad "no command" "no command"
    bad "unknown option" "unknown option '--fast'" replay --fast "$good"
    bad "unknown letter" "unknown option '-q'" replay -q "$good"
    bad "option without a value" "'--pool' has no value" replay "$good" --pool
    bad "value of a flag" "'--json=1' has a value" replay --json=1 "$good"
    bad "unknown preset" "--preset is 'lake'" replay --preset lake "$good"
    bad "unknown memory" "--memory is 'tape'" replay --memory tape "$good"
    bad "unknown policy" "--policy is 'worst'" replay --policy worst "$good"
    bad "unknown api" "--api is 'x', expected pointers or blocks" \
        replay --api x "$good"
    bad "unknown time to compact" "expected never or on-fragmented" \
        replay --compact now "$good"
    bad "pool of no amount" "--pool is 'big'" replay --pool big "$good"
    bad "pool of nothing" "--pool is '0'" replay --pool 0 "$good"
    bad "no repeats" "--repeat is '0'" replay --repeat 0 "$good"
    bad "negative repeats" "--repeat is '-1'" replay --repeat=-1 "$good"
    bad "option without key" "expected KEY=VALUE" replay --option x "$good"
    bad "option of unknown key" "--option is 'x=1'" \
        replay --option x=1 "$good"
    bad "option of bad value" "alignment" \
        replay --option alignment=100 "$good"
    bad "pool as an option" "--pool sets" replay --option pool=1G "$good"
    bad "limit as an option" "--pool sets the limit" \
        replay --preset grow --option limit=1G "$good"
    bad "policies: option of replay" "unknown option '--verify'" \
        policies --verify "$good"
    bad "policies: streams" "unknown option '--streams'" \
        policies --streams "$good"
    bad "value of --streams" "'--streams=2' has a value" \
        replay --streams=2 "$good"
    bad "policies: no trace" "no trace is named" policies
    bad "info: operand" "info has 'x'" info x
}

#### Results ####

keys="trace preset memory policy streams events allocs frees peak_live_bytes"
keys="$keys pool_bytes min_pool_bytes min_pool_ratio failed compactions moves"
keys="$keys bytes_moved largest_free_bytes_at_peak reserved_peak_bytes"
keys="$keys reserved_ratio segments segments_at_peak memory_calls driver_calls"
keys="$keys crossings stream_waits host_waits hits misses cached_peak_bytes"
keys="$keys ns_per_op_mean"
keys="$keys ns_per_op_p50 ns_per_op_p99 ns_per_op_p999 ns_per_op_max"

test_json() {
    call replay --json "$folder/plain.csv" "$folder/rmm.log"
    verdict "JSON has one line per trace" 2 "$(wc -l <"$folder/out")"
    verdict "JSON has these keys" "$keys" "$(head -n 1 "$folder/out" |
        grep -o '"[a-z0-9_]*":' | tr -d '":' | tr '\n' ' ' | sed 's/ $//')"
    verdict "JSON tells the settings" \
        "$folder/plain.csv pool none default null null " \
        "$(values trace preset memory policy min_pool_bytes min_pool_ratio)"
    call replay --json --policy best --preset grow --memory pageable \
        "$folder/plain.csv"
    verdict "JSON tells other settings" "0 grow pageable best " \
        "$status $(values preset memory policy)"
}

# cell COLUMN: of the table's row of a trace, by the words of the title.
cell() {
    awk -v want="$1" 'NR == 2 { for (i = 1; i <= NF; i++) if ($i == want) c = i }
        NR == 3 { print $c }' "$folder/out"
}

test_table() {
    local counts
    call replay --json "$folder/plain.csv"
    counts="$(values events failed)"
    served "table" replay "$folder/plain.csv"
    verdict "table and JSON agree" "$counts" "$(cell events) $(cell failed) "
    verdict "table tells the settings" \
        "preset pool, memory none, placement default, pointers" \
        "$(head -n 1 "$folder/out")"
    verdict "table is aligned" 1 "$(tail -n +2 "$folder/out" |
        awk '{ print length }' | sort -u | wc -l)"
}

# What was held, in a pool and by an arena that grows.
test_memory_taken() {
    call replay --json "$folder/plain.csv"
    verdict "what is held is of whole grains" "3584 65536 " \
        "$(values pool_bytes reserved_peak_bytes)"
    call replay --json --option handle=256 "$folder/plain.csv"
    verdict "a pool is held, in one piece, by one call" "3584 2 1 1 1 0 " \
        "$(values reserved_peak_bytes reserved_ratio segments \
            segments_at_peak memory_calls driver_calls | sed 's/2\.0 /2 /')"
    call replay --json --preset grow --option handle=256 "$folder/plain.csv"
    # The block of 512 bytes finds only half of what the one of 300 left.
    verdict "an arena that grows holds what it needs" "2048 1.142 1 1 " \
        "$(values reserved_peak_bytes reserved_ratio segments \
            segments_at_peak | sed 's/\(\.142\)[0-9]*/\1/')"
    verdict "and grew more than once" yes \
        "$([ "$(value memory_calls)" -gt 1 ] && echo yes)"
    call replay --json --preset grow --repeat 5 --option handle=256 \
        "$folder/plain.csv"
    verdict "which further passes need not" "2048" \
        "$(value reserved_peak_bytes)"
    printf '%s\n' "$header" a,0,0,0 >"$folder/zero.csv"
    call replay --json --preset grow "$folder/zero.csv"
    verdict "nothing is held for nothing" "0 null 0 0 0 0 " \
        "$(values reserved_peak_bytes reserved_ratio segments \
            segments_at_peak memory_calls driver_calls)"
    served "table of an arena that grows" replay --preset grow \
        "$folder/plain.csv"
    verdict "which tells what it held" 1 "$(sed -n 2p "$folder/out" |
        grep -c 'held/peak  segments  memory calls  driver calls')"
    served "bfc, doubling" replay --preset bfc --option grow=doubling \
        --verify "$traces/multistream.csv.gz"
    served "bfc, exact" replay --preset bfc --option grow=exact --verify \
        "$traces/multistream.csv.gz"
}

# What is freed is kept whole: 8192 bytes serve 6000, less than twice and two
# pages as many, and not 4000.
test_cache() {
    printf '%s\n' "$header" a,0,8192,0 f,0,8192,0 a,1,6000,0 a,2,4000,0 f,1,6000,0 \
        f,2,4000,0 >"$folder/cache.csv"
    call replay --json --preset mlx-cpu --option alignment=8 "$folder/cache.csv"
    verdict "a cache hits, misses and is at its largest" "1 2 12192 " \
        "$(values hits misses cached_peak_bytes)"
    call replay --json --preset mlx-cpu --option alignment=8 --repeat 2 \
        "$folder/cache.csv"
    verdict "which a further pass finds full" "4 2 12192 " \
        "$(values hits misses cached_peak_bytes)"
    call replay --json --preset mlx-cpu --option cache_limit=0 \
        "$folder/cache.csv"
    verdict "without room it never hits" "0 3 0 " \
        "$(values hits misses cached_peak_bytes)"
    call replay --json --preset grow "$folder/cache.csv"
    verdict "other arenas have none" "null null null " \
        "$(values hits misses cached_peak_bytes)"
    served "table of an arena with a cache" replay --preset mlx-cpu \
        "$folder/cache.csv"
    verdict "which tells of it" 1 "$(sed -n 2p "$folder/out" |
        grep -c 'hits  misses  most cached')"
    for preset in mlx-cpu mlx-cuda cupy-pool; do
        served "$preset" replay --preset "$preset" --streams --verify \
            --pool 1T "$traces/multistream.csv.gz"
    done
}

# bounded TRACE BOUND WHAT ARGUMENT...: an arena that grows holds less than
# BOUND at its highest, over the peak.
bounded() {
    local trace=$1 bound=$2 what=$3 ratio
    shift 3
    call replay --json --preset grow --pool 1T "$@" "$traces/$trace.csv.gz"
    ratio=$(value reserved_ratio)
    verdict "$trace, $what, is held in less than $bound" yes \
        "$(awk -v a="$ratio" -v b="$bound" \
            'BEGIN { print ((a != "" && a >= 1 && a < b) ? "yes" : a) }')"
}

# What PyTorch held with expandable segments in the one pass that was recorded;
# of cupy_analytics, what CuPy's pool did.
test_memory_of_traces() {
    local trace bound
    while read -r trace bound; do
        bounded "$trace" "$bound" "one pass" --option handle=16M
        bounded "$trace" "$bound" "two passes, small handles" \
            --option handle=2M --repeat 2
    done <<'END'
bert_dynamic 1.013
cupy_analytics 2.052
gpt2_train 1.074
moe_train 1.017
multistream 2.229
resnet_multiscale 1.023
END
}

#### Streams ####

# A pool of one block, which two streams have in turn; and one of them twice.
turns() {
    printf '%s\n' "$header" "a,0,256,$1" "f,0,256,$2" "a,1,256,$3"
}

test_streams() {
    local file
    call replay --json "$traces/multistream.csv.gz"
    verdict "streams are not used unless asked for" "0 0 " \
        "$status $(values streams)"
    for file in plain.csv columns.csv rmm.log; do
        served "streams of $file" replay --json --streams --verify \
            "$folder/$file"
        verdict "streams of $file are two, and serve it" "2 $expected" \
            "$(values streams "${counted[@]}")"
    done
    turns 7 7 4294967295 >"$folder/sparse.csv"
    call replay --json --streams "$folder/sparse.csv"
    verdict "streams of any number are numbered" "0 2 " \
        "$status $(values streams)"
    printf '%s\n' Thread,Time,Action,Pointer,Size,Stream \
        1,2,allocate,0x10,1,0 1,2,allocate,0x20,1,0x0 \
        1,2,allocate,0x30,1,'(nil)' 1,2,allocate,0x40,1,0x7f00 \
        >"$folder/names.log"
    call replay --json --streams "$folder/names.log"
    verdict "RMM: 0, 0x0 and (nil) are one stream" "0 2 " \
        "$status $(values streams)"
    { echo "$header" && for file in {1..127}; do
        echo "a,$file,1,$file"
    done; } >"$folder/127.csv"
    head -n 127 "$folder/127.csv" >"$folder/126.csv"
    served "126 streams" replay --json --streams "$folder/126.csv"
    bad "127 streams" "127 streams, an arena knows at most 126" \
        replay --streams "$folder/127.csv"
    served "127 streams that are not used" replay "$folder/127.csv"
}

# never_steals NAME FAILED STREAM...: turns() in a pool of one block.
never_steals() {
    local name=$1 failed=$2
    shift 2
    turns "$@" >"$folder/turns.csv"
    call replay --json --streams --pool 256 --option steal=never \
        "$folder/turns.csv"
    verdict "$name" "$failed" "$(value failed)"
}

test_streams_of_lines() {
    never_steals "a free goes to the stream of its line" 0 0 1 1
    never_steals "which is not that of the allocation" 1 0 1 0
    never_steals "or it is" 0 0 0 0
    printf '%s\n' "$header" a,0,256,5 >"$folder/left.csv"
    call replay --json --streams --pool 256 --option steal=never --repeat 3 \
        "$folder/left.csv"
    verdict "what is left is freed on its own stream" "0 0 " \
        "$status $(values failed)"
    turns 0 0 1 >"$folder/turns.csv"
    for api in pointers blocks; do
        served "idle streams are settled, $api" replay --json --streams \
            --pool 256 --api $api "$folder/turns.csv"
        verdict "idle streams: nobody waits, $api" "0 0 0 yes" \
            "$(values crossings stream_waits host_waits)$(
                [ "$(value memory_calls)" -ge 4 ] && echo yes)"
    done
    served "table of streams" replay --streams "$folder/turns.csv"
    verdict "which tells of crossings" 1 "$(sed -n 2p "$folder/out" |
        grep -c 'streams  crossings  stream waits  host waits')"
    served "streams, smallest pool" replay --streams --min-pool \
        "$traces/multistream.csv.gz"
    served "streams and compaction" replay --streams --compact on-fragmented \
        --pool 802676992 --verify "$traces/multistream.csv.gz"
}

# With work that is done only when it must be: bytes cross with at most one wait
# each; where none may cross, the host has to wait.
test_counts_of_waits() {
    local crossings waits
    export CUARENA_STANDIN_PACE=0
    served "bytes of a trace cross" replay --json --streams --preset grow \
        --memory device "$traces/multistream.csv.gz"
    crossings=$(value crossings) waits=$(value stream_waits)
    verdict "crossings ($crossings) by no more waits ($waits) of streams" yes \
        "$([ "$waits" -gt 0 ] && [ "$waits" -le "$crossings" ] && echo yes)"
    verdict "and by none of the host" "0 0 " "$(values failed host_waits)"
    served "bytes of a trace are settled" replay --json --streams \
        --memory device --pool 1100MiB --option steal=settled \
        "$traces/multistream.csv.gz"
    verdict "none crosses" "0 0 0 " "$(values failed crossings stream_waits)"
    verdict "and the host waits" yes \
        "$([ "$(value host_waits)" -gt 0 ] && echo yes)"
    unset CUARENA_STANDIN_PACE
}

# On memory other than none streams are a driver's: on the stand-in, if it was
# built here.
test_streams_of_a_driver() {
    local memory standin=$PWD/tests/standin/.libs/libcuda.so.1
    export CUARENA_CUDA_LIBRARY=$folder/none.so
    for memory in pageable pinned; do
        bad "streams of $memory without a driver" "no device" \
            replay --streams --memory $memory "$folder/plain.csv"
    done
    if [ -e "$standin" ]; then
        export CUARENA_CUDA_LIBRARY=$standin
        export CUARENA_STANDIN_STRICT=1 CUARENA_STANDIN_LEAKS=1
        for memory in device managed pinned pageable; do
            served "streams of $memory" replay --json --streams --verify \
                --memory $memory --repeat 2 "$folder/plain.csv" \
                "$traces/multistream.csv.gz"
            verdict "streams of $memory are those of the trace" "2 0 " \
                "$(values streams failed)"
        done
        turns 0 0 1 >"$folder/turns.csv"
        sed -i s/256/2097152/ "$folder/turns.csv"
        served "bytes cross on a device" replay --json --streams \
            --memory device --pool 2MiB "$folder/turns.csv"
        verdict "nothing fails, no host waits" "0 0 " \
            "$(values failed host_waits)"
        test_counts_of_waits
    fi
    unset CUARENA_CUDA_LIBRARY CUARENA_STANDIN_STRICT CUARENA_STANDIN_LEAKS
}

test_refusals() {
    call replay --json --pool 1KiB "$folder/plain.csv"
    verdict "a pool too small gives a result" "1 7 5 2 1 1024 " \
        "$status $(values events allocs frees failed pool_bytes)"
    verdict "the first refusal is told" 1 "$(grep -c \
        'plain.csv: event 2 of pass 1: allocation of 1000 bytes' \
        "$folder/err")"
    printf '%s\n' "$header" a,0,9223372036854775808,0 \
        a,1,9223372036854775808,0 f,0,0,0 a,2,5,0 >"$folder/huge.csv"
    call replay --json --pool 1MiB "$folder/huge.csv"
    verdict "requests of 2^63 bytes are refused" "1 3 2 " \
        "$status $(values allocs failed)"
    bad "a pool for 2^63 bytes" "the arena cannot be made" \
        replay "$folder/huge.csv"
    call replay --json --repeat 3 --pool 1KiB "$folder/plain.csv"
    verdict "refusals of all passes count" "1 7 3 " \
        "$status $(values events failed)"
}

test_settings() {
    local api
    for api in pointers blocks; do
        served "$api, verified" replay --json --api $api --verify --repeat 5 \
            "$folder/plain.csv"
        verdict "$api, verified, counts" "$expected" "$(values "${counted[@]}")"
        served "$api on pages, verified" replay --memory pageable --verify \
            --api $api --repeat 3 "$folder/plain.csv" \
            "$traces/cupy_analytics.csv.gz"
        served "$api in an arena that grows" replay --preset grow --verify \
            --api $api "$folder/plain.csv" "$traces/multistream.csv.gz"
    done
    served "another alignment" replay --json --option alignment=512 \
        --option name=test --verify "$folder/plain.csv"
    verdict "the peak follows the alignment" "2048 4096 " \
        "$(values peak_live_bytes pool_bytes)"
    printf '%s\n' "$header" a,0,10,0 >"$folder/little.csv"
    served "a peak below 256 bytes" replay --json --min-pool \
        --option alignment=64 "$folder/little.csv"
    verdict "which no pool of the grid serves" "64 128 null " \
        "$(values peak_live_bytes pool_bytes min_pool_ratio)"
    printf '%s\n' "$header" a,0,0,0 f,0,0,0 a,1,0,0 >"$folder/nothing.csv"
    served "nothing but empty blocks" replay --json --verify --min-pool \
        --repeat 2 "$folder/nothing.csv"
    verdict "of which the peak is 0" "3 0 null " \
        "$(values events peak_live_bytes min_pool_ratio)"
}

# A pool of exactly the peak: every hole must be closed sooner or later.
test_compaction() {
    local name peak api
    for name in cupy_analytics multistream; do
        call replay --json "$traces/$name.csv.gz"
        peak=$(value peak_live_bytes)
        call replay --json --pool "$peak" "$traces/$name.csv.gz"
        verdict "$name does not fit its peak by itself" 1 "$status"
        for api in pointers blocks; do
            served "$name fits its peak by compaction, $api" replay --json \
                --pool "$peak" --compact on-fragmented --verify --repeat 2 \
                --api $api "$traces/$name.csv.gz"
            verdict "$name was compacted, $api" yes \
                "$(values compactions moves bytes_moved | awk '{
                    print($1 > 0 && $2 >= $1 && $3 > $2 ? "yes" : $0) }')"
        done
    done
}

# Bytes that are there: 4 KiB blocks with holes, then one that needs two.
test_compaction_of_bytes() {
    local i lines=()
    for i in $(seq 0 63); do lines+=("a,$i,$((4096 - i)),0"); done
    for i in $(seq 0 2 63); do lines+=("f,$i,0,0"); done
    for i in $(seq 0 15); do lines+=("a,$((100 + i)),8000,0"); done
    for i in $(seq 1 2 63); do lines+=("f,$i,0,0"); done
    printf '%s\n' "$header" "${lines[@]}" >"$folder/holes.csv"
    call replay --memory pageable --pool 262144 "$folder/holes.csv"
    verdict "holes refuse" 1 "$status"
    for i in pointers blocks; do
        served "holes are closed, $i" replay --memory pageable --pool 262144 \
            --compact on-fragmented --verify --api "$i" --repeat 3 \
            "$folder/holes.csv"
    done
}

test_min_pool() {
    local ratio
    served "smallest pool" replay --json --min-pool \
        "$traces/multistream.csv.gz"
    ratio=$(value min_pool_ratio)
    verdict "smallest pool is between 1 and 1.5" yes \
        "$(awk -v r="$ratio" 'BEGIN { print(r >= 1 && r <= 1.5 ? "yes" : r) }')"
    served "the smallest pool serves" replay --pool "$(value min_pool_bytes)" \
        "$traces/multistream.csv.gz"
    served "policies" policies --json "$folder/plain.csv" "$folder/rmm.log"
    verdict "policies have a line each, per trace and for the means" 0 \
        "$(($(wc -l <"$folder/out") % 3))"
    verdict "the means come last" 1 \
        "$(tail -n 1 "$folder/out" | grep -c '"trace": null')"
    served "policies, table" policies "$folder/plain.csv"
    verdict "policies' table ends with the means" "geometric mean" \
        "$(tail -n 1 "$folder/out" | cut -c 1-14)"
}

test_texts() {
    local command
    for command in "" replay policies info; do
        # Without a command there is one word less.
        # shellcheck disable=SC2086
        served "help $command" $command --help
        verdict "help $command tells the usage" "Usage: cuarena" \
            "$(head -c 14 "$folder/out")"
    done
    served "version" --version
    verdict "version" "cuarena $(awk '/define CUARENA_VERSION_/ { print $3 }' \
        "${srcdir:-.}/include/cuarena/base.h" | paste -sd .)" \
        "$(cat "$folder/out")"
    served "info" info
    verdict "info tells the memories" 2 \
        "$(grep -cE '^(pageable|none) ' "$folder/out")"
    served "info --options" info --options
    verdict "info --options tells of placement" 1 \
        "$(grep -c '^placement (choice' "$folder/out")"
    "$cuarena" replay "$folder/plain.csv" >/dev/full 2>"$folder/err"
    verdict "a full disk is an error" "2 1" "$? $(wc -l <"$folder/err")"
}

# Every option of the help is in the manual and in the completion.
test_documents() {
    local tools=${srcdir:-.}/tools option command missing
    for command in replay policies info; do
        missing=
        for option in $("$cuarena" $command --help | grep -oE '^ .*--[a-z-]+' |
            grep -oE -- '--[a-z-]+' | sort -u); do
            grep -qF -- "\\${option#-}" "$tools/cuarena.1" ||
                missing="$missing manual:$option"
            grep -qF -- "$option" "$tools/completion/cuarena.bash" ||
                missing="$missing completion:$option"
        done
        verdict "options of $command are documented" "" "$missing"
    done
}

command -v "$cuarena" >/dev/null || {
    echo "no command '$cuarena': set CUARENA"
    exit 1
}
test_formats
test_bad_files
test_bad_headers
test_bad_lines
test_bad_rmm_lines
test_bad_arguments
test_json
test_table
test_memory_taken
test_cache
test_memory_of_traces
test_streams
test_streams_of_lines
test_streams_of_a_driver
test_refusals
test_settings
test_compaction
test_compaction_of_bytes
test_min_pool
test_texts
test_documents
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
