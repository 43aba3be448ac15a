#!/usr/bin/env bash
# The `cuarena' command: replays on streams.
. "$(dirname "$0")/support.sh"

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
    cut -d, -f1-3 "$folder/plain.csv" >"$folder/none.csv"
    served "no streams where none are asked for" replay "$folder/none.csv"
    bad "no streams where they are" "none.csv: no call is on a stream" \
        replay --streams "$folder/none.csv"
    cut -d, -f1-5 "$folder/rmm.log" >"$folder/none.log"
    served "RMM: no streams" replay "$folder/none.log"
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
        served "idle streams are idle, $api" replay --json --streams \
            --pool 256 --api $api "$folder/turns.csv"
        verdict "idle streams: nobody waits, $api" "0 0 0 yes" \
            "$(values steals stream_waits host_waits)$(
                [ "$(value memory_calls)" -ge 4 ] && echo yes)"
    done
    served "table of streams" replay --streams "$folder/turns.csv"
    verdict "which tells of steals" 1 "$(
        grep -c 'streams  steals  stream waits  host waits' "$folder/out")"
    served "streams, smallest pool" replay --streams --min-pool \
        "$traces/multistream.csv.gz"
    served "streams and compaction" replay --streams --compact on-fragmented \
        --pool 802676992 --verify "$traces/multistream.csv.gz"
}

# With work that is done only when it must be: bytes cross with at most one wait
# each; where none may cross, the host has to wait.
test_counts_of_waits() {
    local steals waits
    export CUARENA_STANDIN_PACE=0
    served "an arena grows first" replay --json --streams --preset grow \
        --memory device "$traces/multistream.csv.gz"
    verdict "and no stream waits" "0 0 " "$(values steals stream_waits)"
    served "bytes of a trace cross" replay --json --streams --preset grow \
        --option steal=first --memory device "$traces/multistream.csv.gz"
    steals=$(value steals) waits=$(value stream_waits)
    verdict "steals ($steals) by no more waits ($waits) of streams" yes \
        "$([ "$waits" -gt 0 ] && [ "$waits" -le "$steals" ] && echo yes)"
    verdict "and by none of the host" "0 0 " "$(values failed host_waits)"
    served "bytes of a trace are idle" replay --json --streams \
        --memory device --pool 1150MiB --option steal=idle \
        "$traces/multistream.csv.gz"
    verdict "none steals" "0 0 0 " "$(values failed steals stream_waits)"
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

run test_streams test_streams_of_lines test_streams_of_a_driver
