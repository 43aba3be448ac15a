#!/usr/bin/env bash
# The `cuarena' command: what replays come to.
. "$(dirname "$0")/support.sh"

#### Results ####

keys="trace preset memory policy streams events allocs frees peak_live_bytes"
keys="$keys pool_bytes min_pool_bytes min_pool_ratio min_limit_bytes"
keys="$keys min_limit_ratio failed compactions moves bytes_moved largest_free_bytes_at_peak reserved_peak_bytes"
keys="$keys reserved_ratio segments segments_at_peak memory_calls driver_calls"
keys="$keys steals stream_waits host_waits hits misses cached_peak_bytes"
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
    served "a table of all columns" replay --min-pool --streams --preset \
        mlx-cpu --compact on-fragmented "$folder/plain.csv" "$folder/rmm.log"
    verdict "a table of all columns fits 120 in each of its parts" yes "$(
        awk 'length > most { most = length }
            END { print(most <= 120 ? "yes" : most) }' "$folder/out")"
    verdict "and each part begins with the traces" "3 yes" "$(
        grep -c '^trace ' "$folder/out") $(awk '/^trace / { parts++ }
            /^plain / { rows++ } END { print(rows == parts ? "yes" : rows) }' \
        "$folder/out")"
}

# What was reserved, in a pool and by an arena that grows.
test_memory_taken() {
    call replay --json "$folder/plain.csv"
    verdict "what is reserved is whole pages" "3584 65536 " \
        "$(values pool_bytes reserved_peak_bytes)"
    call replay --json --option handle=256 "$folder/plain.csv"
    verdict "a pool is reserved, in one piece, by one call" "3584 2 1 1 1 0 " \
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
    verdict "nothing is reserved for nothing" "0 null 0 0 0 0 " \
        "$(values reserved_peak_bytes reserved_ratio segments \
            segments_at_peak memory_calls driver_calls)"
    served "table of an arena that grows" replay --preset grow \
        "$folder/plain.csv"
    verdict "which tells what it reserved" 1 "$(sed -n 2p "$folder/out" |
        grep -c 'reserved/peak  segments  memory calls  driver calls')"
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
    verdict "which tells of it" "hits misses most cached " "$(
        grep -oE 'hits|misses|most cached' "$folder/out" | tr '\n' ' ')"
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
    verdict "$trace, $what, reserves less than $bound" yes \
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
        bounded "$trace" 1.06 "twenty passes" --repeat 20
        bounded "$trace" 1.06 "a hundred passes" --repeat 100
    done <<'END'
bert_dynamic 1.013
cupy_analytics 2.052
gpt2_train 1.074
moe_train 1.017
multistream 2.229
resnet_multiscale 1.023
END
}

test_refusals() {
    call replay --json --pool 1KiB "$folder/plain.csv"
    verdict "a pool too small gives a result" "1 7 5 2 1 1024 " \
        "$status $(values events allocs frees failed pool_bytes)"
    verdict "the first refusal is told" 1 "$(grep -c \
        'plain.csv:3: event 2 of pass 1: allocation of 1000 bytes' \
        "$folder/err")"
    printf '%s\n' "$header" a,0,9223372036854775808,0 \
        a,1,9223372036854775808,0 f,0,0,0 a,2,5,0 >"$folder/huge.csv"
    call replay --json --pool 1MiB "$folder/huge.csv"
    verdict "requests of 2^63 bytes are refused" "1 3 2 " \
        "$status $(values allocs failed)"
    bad "a pool for 2^63 bytes" "$folder/huge.csv:2: with the 92233720368547" \
        replay "$folder/huge.csv"
    printf '%s\n' "$header" a,0,5,0 "" a,1,70368744177664,0 >"$folder/huge.csv"
    bad "a pool for more than there can be" \
        "$folder/huge.csv:4: with the 70368744177664 bytes asked for here" \
        replay --preset grow "$folder/huge.csv"
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

#### Compaction and smallest pools ####

# Blocks that are named by ids need no relocation callback.
test_compaction_on_running_out() {
    local pool=(--pool 718MiB --api blocks "$traces/cupy_analytics.csv.gz")
    call replay --json "${pool[@]}"
    verdict "718 MiB do not serve cupy_analytics by themselves" 1 "$status"
    served "blocks are compacted on running out" replay --json --verify \
        --option compact_on_oom=1 "${pool[@]}"
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

# The smallest limit serves, and the size of the grid below it does not. What
# lives in three.csv is two pages and a half.
test_min_limit() {
    local name=multistream bytes below
    served "smallest limit" replay --json --min-limit --option handle=2M \
        "$traces/$name.csv.gz"
    verdict "of preset grow, below any pool" "pool yes" \
        "$(value preset) $(awk -v r="$(value min_limit_ratio)" \
            'BEGIN { print(r >= 1 && r < 1.02 ? "yes" : r) }')"
    bytes=$(value min_limit_bytes)
    below=$(awk -v b="$bytes" -v p="$(value peak_live_bytes)" \
        'BEGIN { printf "%d", b - p / 1000 }')
    served "the smallest limit serves" replay --preset grow \
        --option handle=2M --pool "$bytes" "$traces/$name.csv.gz"
    call replay --preset grow --option handle=2M --pool "$below" \
        "$traces/$name.csv.gz"
    verdict "a thousandth less does not" 1 "$status"
    printf '%s\n' "$header" a,0,49152,0 a,1,65536,0 a,2,49152,0 f,0,0,0 f,2,0,0 \
        a,3,65536,0 >"$folder/three.csv"
    served "limits of whole pages" replay --json --min-limit "$folder/three.csv"
    verdict "which are no less than they need" "163840 196608 1.2 " \
        "$(values peak_live_bytes min_limit_bytes min_limit_ratio)"
    served "limit of another preset" replay --json --min-limit --preset bfc \
        --option split_threshold=never "$folder/three.csv"
    served "a page is too much" replay --min-pool --min-limit "$folder/plain.csv"
    verdict "which '-' tells" 1 "$(grep -cE ' 1\.[0-9]{3} +- ' "$folder/out")"
    bad "limit of what cannot grow" "--option is 'grow=none', expected another" \
        replay --min-limit --option grow=none "$folder/plain.csv"
    bad "limit of what is searched" "expected another key with --min-limit" \
        replay --min-limit --option limit=1G "$folder/plain.csv"
    bad "limit of a pool's options" "stable" \
        replay --min-limit --option stable=64K "$folder/plain.csv"
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
    test_min_limit
    served "policies" policies --json "$folder/plain.csv" "$folder/rmm.log"
    verdict "policies have a line each, per trace and for the means" 0 \
        "$(($(wc -l <"$folder/out") % 3))"
    verdict "the means come last" 1 \
        "$(tail -n 1 "$folder/out" | grep -c '"trace": null')"
    verdict "policies are those of the option, without the preset's" \
        "best default low" "$(head -n 3 "$folder/out" |
            sed 's/.*"policy": "\([a-z]*\)".*/\1/' | sort | tr '\n' ' ' |
            sed 's/ $//')"
    served "policies, table" policies --memory pageable "$folder/plain.csv"
    verdict "policies' table says which arena it is of" "preset pool, memory pageable, pointers" \
        "$(head -n 1 "$folder/out")"
    verdict "policies' table says what its figures are" \
        "by policy: the smallest pool over the peak, and mean nanoseconds per call" \
        "$(sed -n 2p "$folder/out")"
    verdict "policies' table ends with the means" "geometric mean" \
        "$(tail -n 1 "$folder/out" | cut -c 1-14)"
}

run test_json test_table test_memory_taken test_cache test_memory_of_traces \
    test_refusals test_settings test_compaction test_compaction_on_running_out \
    test_compaction_of_bytes test_min_pool
