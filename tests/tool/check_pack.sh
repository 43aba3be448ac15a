#!/usr/bin/env bash
# The packer of benchmarks, by which smallest pools are judged: bench/bench_pack. It checks itself
# that no two blocks overlap.
. "$(dirname "$0")/support.sh"

pack=./bench/bench_pack
[ -x "$pack" ] || exit 77

# packed NAME BYTES LINE...: of a file of these lines, in no more than these bytes.
packed() {
    local name=$1 bytes=$2
    shift 2
    printf '%s\n' "$header" "$@" >"$folder/pack.csv"
    verdict "$name" "$bytes" "$("$pack" "$folder/pack.csv" | awk 'NR == 2 { print $2, $3 }')"
}

test_packing() {
    packed "one block" "256 256" a,0,1,0
    packed "blocks that live in turns share a place" "512 512" \
        a,0,300,0 f,0,0,0 a,1,400,0 f,1,0,0
    packed "empty blocks take no place" "256 256" a,0,0,0 a,1,1,0 f,0,0,0 f,1,0,0
    # A pool that serves as requests come puts 1 behind 0, and has no room for 2.
    packed "what comes later is foreseen" "1024 1024" \
        a,0,512,0 a,1,256,0 f,0,0,0 a,2,768,0 f,2,0,0 f,1,0,0
    verdict "a recorded program" "802676992 802676992 1.0000" \
        "$("$pack" 0 "$traces/multistream.csv.gz" | awk 'NR == 2 { print $2, $3, $4 }')"
}

test_arguments() {
    "$pack" 5 >"$folder/out" 2>&1
    verdict "no trace" "1 1" "$(($? != 0)) $(grep -c 'expected \[ROUNDS\] TRACE' "$folder/out")"
    "$pack" "$folder/none.csv" >"$folder/out" 2>&1
    verdict "no file" "1 1" "$(($? != 0)) $(grep -c 'none.csv: No such file' "$folder/out")"
}

run test_packing test_arguments
