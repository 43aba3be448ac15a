#!/usr/bin/env bash
# The `cuarena' command: advice.
. "$(dirname "$0")/support.sh"

# advised FILE: the lines of options that it got.
advised() {
    "$cuarena" advise "${@:2}" "$1" | grep -o 'memory=.*'
}

# replay_options OPTIONS ARGUMENT...: an arena of the options, on addresses.
replay_options() {
    local words=() word
    for word in ${1//,/ }; do
        case $word in
        memory=*) ;;
        preset=*) words+=(--preset "${word#*=}") ;;
        pool=* | limit=*) words+=(--pool "${word#*=}") ;;
        *) words+=(--option "$word") ;;
        esac
    done
    call replay "${words[@]}" "${@:2}"
}

# The options of a trace serve it, whatever replays them; they are left in
# $folder/advised.
serves() {
    local name=$1 file=$2 options count=0 refused=
    shift 2
    advised "$file" >"$folder/advised"
    while read -r options; do
        count=$((count + 1))
        replay_options "$options" "$@" "$file"
        [ "$status" = 0 ] || refused="$refused $options"
    done <"$folder/advised"
    verdict "$name: what is advised serves" "yes" \
        "$([ "$count" -gt 0 ] && echo "${refused:-yes}")"
}

#### Texts ####

test_text() {
    local name
    served "advice" advise "$traces/multistream.csv.gz" "$folder/plain.csv"
    verdict "it names the trace, its allocations and streams" \
        "multistream: 7054 allocations, 5 streams" "$(head -n 1 "$folder/out")"
    for name in 'live at most' 'smallest pool' 'smallest limit of grow' grow bfc \
        mlx-cuda cupy-pool grow,steal=never; do
        verdict "it has a row: $name" 1 \
            "$(sed '/^$/q' "$folder/out" | grep -cE "^$name +[0-9]")"
    done
    verdict "it says what was left out, and why" 2 \
        "$(sed '/^$/q' "$folder/out" | grep -c '^left out: .*, ')"
    verdict "and how much room the options have" 2 \
        "$(grep -c '^options, with 2 % of room:$' "$folder/out")"
    verdict "traces are apart" 1 "$(grep -c '^plain: ' "$folder/out")"
    for name in plain.csv packed.csv.gz rmm.log; do
        served "advice of $name" advise --json "$folder/$name"
        verdict "formats are the same: $name" "5 3 2 1792 1792 null " \
            "$(values allocs frees streams peak_live_bytes min_pool_bytes \
                min_limit_bytes)"
    done
    verdict "standard input" "standard input" "$("$cuarena" advise --json - \
        <"$folder/plain.csv" | sed 's/.*"trace": "\([^"]*\)".*/\1/')"
    "$cuarena" advise "$folder/plain.csv" >/dev/full 2>"$folder/err"
    verdict "a full disk is an error" "2 1" "$? $(wc -l <"$folder/err")"
}

# members: of the object on standard input, and of the first of each of its lists.
members() {
    python3 -c 'import json, sys
told = json.load(sys.stdin)
print(*told)
for key in "presets", "recorded", "advice":
    print(*(told[key][0] if told[key] else ["none"]))'
}

test_json() {
    local manual=${srcdir:-.}/tools/cuarena.1
    printf '%s\n' "$header,pytorch_reserved" a,0,300,0,2097152 a,1,1000,0, \
        f,0,300,0,4194304 f,1,1000,0,0 >"$folder/recorded.csv"
    served "advice as JSON" advise --json "$folder/recorded.csv"
    verdict "what was recorded is the largest" 1 "$(grep -c \
        '"recorded": \[{"name": "pytorch", "reserved_peak_bytes": 4194304,' "$folder/out")"
    command -v python3 >/dev/null || return 0
    members <"$folder/out" >"$folder/members"
    verdict "JSON has these members" "trace allocs frees streams peak_live_bytes \
min_pool_bytes min_pool_ratio min_limit_bytes min_limit_ratio presets recorded advice" \
        "$(head -n 1 "$folder/members")"
    sed -n '/^\.Ss Advice/,/^\.Ss Recordings/p' "$manual" >"$folder/section"
    verdict "which the manual tells" "" "$(tr ' ' '\n' <"$folder/members" |
        sort -u | while read -r member; do
            grep -qw -- "$member" "$folder/section" || echo "$member"
        done)"
    served "the text has it" advise "$folder/recorded.csv"
    verdict "beside the presets" 1 "$(grep -cE \
        '^pytorch +4096\.0 KiB +[0-9.]+ +recorded$' "$folder/out")"
    verdict "and what an arena saves of it" \
        "pytorch reserved 4096.0 KiB; the first options take at most 2048.0 KiB: 50.0 % less" \
        "$(tail -n 1 "$folder/out")"
    sed 's/4194304/1048576/; s/2097152/0/' "$folder/recorded.csv" >"$folder/tight.csv"
    served "or takes more" advise --json "$folder/tight.csv"
    verdict "as a share of it" yes "$(grep -q '"saved_ratio": -1.0}' "$folder/out" && echo yes)"
    served "in words, too" advise "$folder/tight.csv"
    verdict "as a part of what was reserved" 1 "$(grep -c ': 100.0 % more$' "$folder/out")"
    printf '%s\n' "$header,x_reserved" a,0,1,0,0 >"$folder/free.csv"
    served "nothing was reserved" advise "$folder/free.csv"
    verdict "of which nothing can be saved" 0 "$(grep -c ' % ' <(tail -n 1 "$folder/out"))"
}

test_recorded() {
    bad_trace "no number that was reserved" \
        "2: pytorch_reserved is '1G', expected a number of bytes" \
        "$header,pytorch_reserved" a,0,1,0,1G
    bad_trace "reserved twice" "1: two columns 'x_reserved' in" \
        "op,x_reserved,id,size,x_reserved" a,0,0,1,0
    bad_trace "reserved by too many" "1: more than 4 columns such as 'e_reserved'" \
        "$header,a_reserved,b_reserved,c_reserved,d_reserved,e_reserved" \
        a,0,1,0,0,0,0,0,0
    printf '%s\n' "$header,_reserved" a,0,1,0,many >"$folder/unnamed.csv"
    served "a column without a name is ignored" advise "$folder/unnamed.csv"
}

#### What is advised ####

# program FILE KIND COUNT: writes a program that is like no recorded one. Sizes come
# again in rounds, are all the same in a stack, or are drawn evenly by
# their logarithm.
program() {
    awk -v kind="$2" -v count="$3" 'BEGIN {
        srand(1); print "op,id,size,stream"
        for (i = 0; i < count; i++) {
            stream = kind == "streams" ? i % 4 : 0
            if (kind == "ramp") size = 4096 * (1 + i % 997)
            else if (kind == "stack") size = 262144
            else size = int(exp(rand() * 9 + 6))
            live[i] = size; from[i] = stream
            print "a," i "," size "," stream
            die = kind == "stack" ? (i % 100 < 50 ? -1 : 2 * (i - i % 100) + 99 - i) \
                : kind == "ramp" ? i - 60 : int(i - rand() * 120)
            if (die in live) { print "f," die ",0," from[die]; delete live[die] }
        }
    }' >"$1"
}

test_programs() {
    local kind file=$folder/program.csv
    for kind in ramp stack sizes; do
        program "$file" $kind 1500
        serves "$kind" "$file"
    done
    program "$file" streams 4000
    serves "streams, on them" "$file" --streams
    verdict "streams are to overlap" grow \
        "$(sed -n '1s/.*preset=\([a-z]*\).*/\1/p' "$folder/advised")"
    verdict "for which no limit is larger than theirs" "" \
        "$(sed -n 's/.*limit=\([0-9]*\)MiB.*/\1/p' "$folder/advised" |
            awk 'NR == 1 { first = $1 } $1 > first')"
    serves "cupy_analytics" "$traces/cupy_analytics.csv.gz"
}

# The first is the pool if it is no more than 5 % above the limit.
test_rule() {
    local name wanted
    for name in cupy_analytics heldout/lstm_varlen heldout/multi_opt; do
        call advise --json "$traces/$name.csv.gz"
        wanted=$(values min_pool_bytes min_limit_bytes |
            awk '{ print($1 <= $2 + $2 / 20 ? "pool" : "grow") }')
        verdict "$name is advised to $wanted" "$wanted" \
            "$(sed 's/.*"advice": \[{"options": "[^"]*preset=\([a-z]*\).*/\1/' \
                "$folder/out")"
    done
}

test_room() {
    local file=$traces/cupy_analytics.csv.gz
    verdict "room is what pools have more" "828MiB 1654MiB" \
        "$(for room in 0 100; do advised "$file" --room $room |
            sed -n 's/.*pool=\([0-9]\)/\1/p'; done | paste -sd ' ')"
    verdict "of pages of the process" 1 \
        "$(advised "$folder/plain.csv" --for pageable |
            grep -c '^memory=pageable,preset=grow,limit=128KiB$')"
    verdict "whose pools are as small" 1 \
        "$(advised "$folder/plain.csv" --for pageable |
            grep -c '^memory=pageable,preset=pool,pool=64KiB$')"
    replay_options "$(advised "$folder/plain.csv" --for pageable | head -n 1)" \
        --memory pageable --verify "$folder/plain.csv"
    verdict "and serve it there" 0 "$status"
}

# On device memory too, if the driver that tests have was built.
test_device() {
    local options standin=$PWD/tests/standin/.libs/libcuda.so.1
    [ -e "$standin" ] || return 0
    while read -r options; do
        CUARENA_CUDA_LIBRARY=$standin replay_options "$options" --streams \
            --memory device "$traces/multistream.csv.gz"
        verdict "on a device: $options" 0 "$status"
    done < <(advised "$traces/multistream.csv.gz")
}

test_edges() {
    printf '%s\n' "$header" a,0,0,0 f,0,0,0 >"$folder/nothing.csv"
    served "nothing but empty blocks" advise --json "$folder/nothing.csv"
    verdict "of which there is no advice" "0 null null [] [] " "$(values \
        peak_live_bytes min_pool_bytes min_limit_bytes presets advice)"
    served "nothing, as text" advise "$folder/nothing.csv"
    verdict "any arena serves it" 1 "$(grep -c 'asks for no bytes' "$folder/out")"
    printf '%s\n' "$header" a,0,1,0 >"$folder/byte.csv"
    serves "one byte" "$folder/byte.csv"
    printf '%s\n' "$header" a,0,140737488355328,0 >"$folder/huge.csv"
    bad "more than an arena has" \
        "huge.csv:2: with the 140737488355328 bytes asked for here" \
        advise "$folder/huge.csv"
    printf '%s\n' "$header" a,0,70368744177664,0 a,1,256,0 >"$folder/much.csv"
    bad "more than addresses have room for" \
        "much.csv:3: with the 256 bytes asked for here" \
        advise "$folder/much.csv"
    { echo "$header" && for i in {1..127}; do echo "a,$i,1,$i"; done; } \
        >"$folder/127.csv"
    served "127 streams" advise "$folder/127.csv"
    verdict "which are replayed on none" 1 "$(grep -c \
        '127 streams, which are more than an arena knows' "$folder/out")"
}

run test_text test_json test_recorded test_programs test_rule test_room \
    test_device test_edges
