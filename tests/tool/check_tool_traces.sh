#!/usr/bin/env bash
# The `cuarena' command: what it makes of good and of bad traces.
. "$(dirname "$0")/support.sh"

#### Formats ####

test_formats() {
    local file largest
    printf '\357\273\277' | cat - "$folder/plain.csv" >"$folder/marked.csv"
    { gzip -c <(head -n 3 "$folder/plain.csv") &&
        gzip -c <(tail -n +4 "$folder/plain.csv"); } >"$folder/parts.csv.gz"
    cut -d, -f1-3 "$folder/plain.csv" >"$folder/no-streams.csv"
    call replay --json "$folder/plain.csv"
    largest=$(value largest_free_bytes_at_peak)
    for file in plain.csv packed.csv.gz packed-without-ending crlf.csv \
        no-newline.csv columns.csv rmm.log marked.csv parts.csv.gz \
        no-streams.csv; do
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

test_standard_input() {
    local name
    for name in plain.csv packed.csv.gz; do
        "$cuarena" replay --json - <"$folder/$name" >"$folder/out" \
            2>"$folder/err"
        verdict "standard input: $name" "0 $expected" \
            "$? $(values "${counted[@]}")"
    done
    verdict "standard input is named so" "standard input" \
        "$(values trace | sed 's/ $//')"
    bad "empty standard input" "standard input:1: the file is empty" replay -
}

#### Bad input ####

test_bad_files() {
    local name
    mkdir -p "$folder/folder.csv"
    : >"$folder/empty.csv"
    gzip -c /dev/null >"$folder/empty.csv.gz"
    cp "$folder/plain.csv" "$folder/plain.csv.gz"
    gzip -c "$traces/multistream.csv.gz" >"$folder/twice.csv.gz"
    head -c 12 "$traces/multistream.csv.gz" >"$folder/cut-early.csv.gz"
    { head -c 9000 "$traces/multistream.csv.gz" && printf 'damage' &&
        tail -c +9007 "$traces/multistream.csv.gz"; } >"$folder/damaged.csv.gz"
    printf 'op,id,size\na,1,2305843009213693952\n' >"$folder/big.csv"
    for name in replay policies "replay --preset grow" "replay --min-pool"; do
        # The words are arguments.
        # shellcheck disable=SC2086
        bad "impossible size: $name" \
            "$folder/big.csv:2: with the 2305843009213693952 bytes" \
            $name "$folder/big.csv"
    done
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
    bad "gzip cut in its header" "$folder/cut-early.csv.gz:1: " \
        replay "$folder/cut-early.csv.gz"
    bad "damaged gzip" "expected a whole gzip file" \
        replay "$folder/damaged.csv.gz"
    { cat "$folder/packed.csv.gz" && echo 'more?'; } >"$folder/more.csv.gz"
    bad "bytes behind gzip data" "more.csv.gz:10: 'more??' follows the gzip" \
        replay "$folder/more.csv.gz"
    { cat "$folder/packed.csv.gz" && printf '\037more'; } >"$folder/more.csv.gz"
    bad "bytes behind gzip data that begin like such" \
        "more.csv.gz:10: the gzip data is damaged" \
        replay "$folder/more.csv.gz"
    head -c 200M /dev/zero | tr '\0' '\n' | gzip -9 >"$folder/bomb.csv.gz"
    bad "gzip data that become far too much" "expected text, which is less" \
        replay "$folder/bomb.csv.gz"
    bad "a good file before a bad one" "$folder/none.csv: " \
        replay --json "$folder/plain.csv" "$folder/none.csv"
    bad "no trace" "no trace is named" replay
}

# letters COUNT: so many on a line that has no end.
letters() {
    head -c "$1" /dev/zero | tr '\0' a
}

# A line of 2^20 bytes is one, of one more is none, wherever it stands and however it is packed.
test_long_lines() {
    local most=1048576 name file
    { printf 'op,id,size,' && letters $((most - 11)) && printf '\na,1,300,\n' &&
        printf 'f,1,,' && letters $((most - 5)); } >"$folder/long.csv"
    served "lines as long as can be" replay "$folder/long.csv"
    { cat "$folder/long.csv" && printf 'a\n'; } >"$folder/longer.csv"
    { head -n 1 "$folder/rmm.log" && letters 40M; } >"$folder/longest.csv"
    for file in longer longest; do
        gzip -1 -c "$folder/$file.csv" >"$folder/$file.csv.gz"
    done
    for name in replay policies advise "report --svg $folder/a.svg" "import --from rmm" import; do
        for file in longer.csv:3 longer.csv.gz:3 longest.csv:2 longest.csv.gz:2; do
            # The words are arguments.
            # shellcheck disable=SC2086
            bad "a line that is too long: $name" "$folder/$file: the line that begins with '" \
                $name "$folder/${file%:*}"
        done
    done
    verdict "it is told what is accepted" 1 "$(grep -c "'aaaaaaaaaaaaaaaa' has more than \
1048576 bytes, expected lines of at most so many" "$folder/err")"
    letters 600M | "$cuarena" replay - >"$folder/out" 2>"$folder/err"
    verdict "no more is read of it" "2 yes" "${PIPESTATUS[1]} $(
        grep -q 'standard input:1: the line' "$folder/err" && echo yes)"
}

# Where addresses can be kept few, which not every checker of them takes.
test_too_much_text() {
    (ulimit -v 100000 && "$cuarena" --version) >"$folder/out" 2>&1 || return 0
    yes | head -c 80M | (ulimit -v 100000 && "$cuarena" replay -) >"$folder/out" 2>"$folder/err"
    verdict "more text than there is memory is told with its line" \
        "2 cuarena: standard input:N: no memory for the N bytes" \
        "${PIPESTATUS[2]} $(sed -E 's/[0-9]+/N/g; s/ that text of more .*//' "$folder/err")"
}

# What memory `none` has is what a trace may have live, whatever is made of it.
test_sizes() {
    local most name size
    most=$("$cuarena" info --json | grep -o '"memory": "none"[^}]*' |
        grep -o '"available_bytes": [0-9]*')
    most=${most#* }
    verdict "none has the 64 TiB that the manual tells of" 64 $((most >> 40))
    for name in replay policies advise "advise --room 400" "replay --preset grow" \
        "replay --min-pool --min-limit" "report --svg $folder/large.svg"; do
        for size in $((most * 4 / 7)) $((most * 6 / 7)) $((most - 256)); do
            printf '%s\n' "$header" "a,1,$size,0" f,1,0,0 a,2,256,0 "a,3,$size,0" \
                >"$folder/large.csv"
            # The words are arguments.
            # shellcheck disable=SC2086
            served "$size bytes: $name" $name "$folder/large.csv"
        done
        echo a,4,1,0 >>"$folder/large.csv"
        # shellcheck disable=SC2086
        bad "a byte more than there are: $name" \
            "$folder/large.csv:6: with the 1 bytes asked for here $((most + 256)) are live, expected at most $most" \
            $name "$folder/large.csv"
    done
}

# cut_at NAME LINE EVENTS FILE: it has that many events, and is said to be cut in that line.
cut_at() {
    call replay --json "$folder/$4"
    verdict "$1 is read up to there" "0 $3 " "$status $(values events)"
    verdict "$1 is told, with its line" \
        "cuarena: $folder/$4:$2: note: the file is cut here: only what is before it is read" \
        "$(cat "$folder/err")"
}

# What a process that was killed leaves.
test_cut_files() {
    local whole=$traces/multistream.csv.gz lines text=$folder/text
    head -c 20000 "$whole" >"$folder/cut.csv.gz"
    gzip -dc "$folder/cut.csv.gz" >"$text" 2>"$folder/err"
    lines=$(wc -l <"$text")
    cut_at "gzip that is cut" $((lines + 1)) $((lines - 1)) cut.csv.gz
    head -c -4 "$whole" >"$folder/late.csv.gz"
    lines=$(gzip -dc "$whole" | wc -l)
    cut_at "gzip that is cut in its end" $((lines + 1)) $((lines - 1)) late.csv.gz
    { cat "$folder/packed.csv.gz" && printf 'f,3,1,1\nf,4,51' | gzip -c | head -c 27; } \
        >"$folder/second.csv.gz"
    lines=$("$cuarena" replay --json "$folder/second.csv.gz" 2>"$folder/err" |
        grep -o '"events": [0-9]*')
    verdict "gzip that is cut in a second part has the first" yes \
        "$([ "${lines#* }" -ge 8 ] && echo yes)"
    { cat "$folder/packed.csv.gz" && printf '\037'; } >"$folder/third.csv.gz"
    cut_at "gzip that is cut in a header" 10 8 third.csv.gz
    { cat "$folder/plain.csv" && printf 'f,3,1'; } >"$folder/torn.csv"
    cut_at "a line that is cut" 10 8 torn.csv
    { cat "$folder/rmm.log" && printf '17,09:00:00.000009,fr'; } >"$folder/torn.log"
    cut_at "a line of RMM's that is cut" 10 8 torn.log
    printf 'op,id' >"$folder/header.csv"
    bad "nothing but a part of the header" "header.csv:1: no column 'size'" \
        replay "$folder/header.csv"
}

test_bad_headers() {
    bad_trace "missing size" "1: no column 'size' in 'op,id,stream'" \
        op,id,stream a,0,0
    bad_trace "missing op" "1: no column 'op' in 'id,size,stream'" \
        id,size,stream 0,1,0
    bad_trace "missing id" "1: no column 'id' in" op,size,stream a,1,0
    bad_trace "size twice" "1: two columns 'size' in 'op,id,size,size'" \
        op,id,size,size a,0,1,2
    bad_trace "stream twice" "1: two columns 'stream' in" \
        op,stream,id,size,stream a,0,1,2,0
    bad_trace "RMM: pointer twice" "1: two columns 'Pointer' in" \
        Action,Pointer,Size,Pointer free,1,2,3
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

#### What an arena recorded ####

recorded=op,id,size,stream,time,thread,tag,address,note

# record NAME ARGUMENT... TRACE: replays it in an arena that records, into a file.
record() {
    local name=$1
    shift
    served "recording of $name" replay --json --option "trace=$folder/$name" "$@"
}

# recorded_trace NAME LINE...: a file of these lines, behind the names of columns.
recorded_trace() {
    local name=$1
    shift
    printf '%s\n' "$recorded" "$@" >"$folder/$name"
}

test_recorded() {
    local name want
    for name in own.csv own.csv.gz; do
        record "$name" --preset grow --streams "$traces/multistream.csv.gz"
        want=$(values allocs frees streams peak_live_bytes reserved_peak_bytes)
        served "replay of $name" replay --json --preset grow --streams \
            "$folder/$name"
        verdict "$name is the program that was recorded" "$want" \
            "$(values allocs frees streams peak_live_bytes reserved_peak_bytes)"
    done
    { head -n 1 "$folder/own.csv" &&
        tail -n +2 "$folder/own.csv" | tac; } >"$folder/tac.csv"
    served "lines in any order" replay --json --preset grow --streams \
        "$folder/tac.csv"
    verdict "they are sorted by time" "$want" \
        "$(values allocs frees streams peak_live_bytes reserved_peak_bytes)"
}

test_recorded_ops() {
    recorded_trace ops.csv 'grow,,65536,,10,1,,0x1000,' 'a,1,100,,11,1,,0x1000,' \
        'step,,5000,,12,1,,,growth: nothing' 'resize,1,300,,13,1,,0x1000,' \
        'fail,,5000,,14,1,,,CUARENA_LIMIT' 'a,2,50,0x7f00,15,2,,0x1200,' \
        'compact,,50,,16,1,,,' 'move,2,50,,16,1,,0x1400,' \
        'idle,,50,0x7f00,17,1,,,16' 'reset,,350,,18,1,,,' \
        'a,3,10,,19,1,,0x1000,' 'trim,,65536,,20,1,,0x1000,'
    call replay --json --streams "$folder/ops.csv"
    verdict "a resize is a free and an allocation, a reset frees all" "4 3 2 768 " \
        "$(values allocs frees streams peak_live_bytes)"
    verdict "refused requests are noted" 1 "$(grep -c 'passed over 1 lines' "$folder/err")"
    recorded_trace bad.csv 'a,1,100,,11,1,,0x1000,' 'merge,1,100,,11,1,,0x1000,'
    bad "an op of nobody" "bad.csv:3: op is 'merge', expected what" \
        replay "$folder/bad.csv"
    recorded_trace bad.csv 'a,1,100,,soon,1,,0x1000,'
    bad "a time of no number" "bad.csv:2: time is 'soon', expected a whole number" \
        replay "$folder/bad.csv"
    recorded_trace bad.csv 'a,1,100,here,11,1,,0x1000,'
    bad "a stream of no address" "bad.csv:2: stream is 'here'" replay "$folder/bad.csv"
}

# What a thread freed, while the lines of the thread that allocated it are not in the file.
test_recorded_unmatched() {
    local end name lines=('a,1,100,,11,1,,0x1000,' 'f,2,50,,12,1,,0x1200,'
        'resize,3,1000,,13,1,,0x1400,' 'f,3,1000,,14,1,,0x1400,')
    for end in "" 'end,,3,,20,1,,,'; do
        recorded_trace lacks.csv "${lines[@]}" $end
        for name in replay advise policies "report --replay --svg $folder/lacks.svg"; do
            # The words are arguments.
            # shellcheck disable=SC2086
            call $name "$folder/lacks.csv"
            verdict "$name of a recording that lacks lines, ${end:-without an end}" \
                "0 cuarena: $folder/lacks.csv: note: lines are missing: left out 2 frees of blocks that no line before allocates" \
                "$status $(cat "$folder/err")"
        done
        call replay --json "$folder/lacks.csv"
        verdict "what follows of a block that was resized counts" "2 1 1280 " \
            "$(values allocs frees peak_live_bytes)"
        recorded_trace bad.csv "${lines[@]}" 'f,2,50,,15,1,,0x1200,' $end
        bad "a second free is none that lacks its allocation" \
            "bad.csv:6: id is '2', expected one that was not freed before (line 3)" \
            replay "$folder/bad.csv"
    done
}

test_recorded_whole() {
    local end='end,,0,,20,1,,,'
    served "a recording that is whole" replay "$folder/own.csv"
    verdict "its last line says so" end,,0 "$(tail -n 1 "$folder/own.csv" | cut -d, -f1-3)"
    recorded_trace bad.csv 'a,1,100,,11,1,,0x1000,' 'f,2,50,,12,1,,0x1200,' "$end"
    bad "a free of an unknown id where no line is missing" \
        "bad.csv:3: id is '2', expected one that a line before allocates" \
        replay "$folder/bad.csv"
    recorded_trace bad.csv "$end" 'a,1,100,,11,1,,0x1000,' 'resize,2,100,,12,1,,0x1000,'
    bad "a resize of an unknown id where no line is missing" "bad.csv:4: id is '2'" \
        replay "$folder/bad.csv"
    recorded_trace bad.csv 'a,1,100,,11,1,,0x1000,' 'end,,some,,20,1,,,'
    bad "an end without a number" "bad.csv:3: size is 'some', expected how many events" \
        replay "$folder/bad.csv"
}

# What is left of a recording of a process that was killed.
test_recorded_cut() {
    local bytes
    bytes=$(wc -c <"$folder/own.csv.gz")
    head -c $((bytes - 100)) "$folder/own.csv.gz" >"$folder/short.csv.gz"
    call replay --json --streams "$folder/short.csv.gz"
    verdict "a recording that is cut is served" "0 1" \
        "$status $(grep -c 'the file is cut here' "$folder/err")"
}

run test_formats test_standard_input test_bad_files test_long_lines test_too_much_text test_sizes \
    test_cut_files test_bad_headers test_bad_lines test_bad_rmm_lines test_recorded test_recorded_ops \
    test_recorded_unmatched test_recorded_whole test_recorded_cut
