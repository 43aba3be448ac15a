# shellcheck shell=bash
# Programs that know nothing of arenas, on the GPU of this machine: the part
# --layer of run.sh, which sources it and has `here', `out', `run', `wanted' and
# `verdict'.

# served NAME COUNT COMMAND...: the program is right under `cuarena run', and its
# arena served that many allocations or more.
served() {
    local name=$1 least=$2 got
    shift 2
    wanted "$name" || return 0
    run "$name" "$here/bin/cuarena" run --report "$@"
    [ "$(cat "$out/verdicts/$name")" = "pass $name" ] || return 0
    got=$(sed -n 's/^cuarena: device [0-9]*: \([0-9]*\) allocations.*/\1/p' \
        "$out/logs/$name.log" | sort -n | tail -n 1)
    sed -n 's/^cuarena: device/    device/p' "$out/logs/$name.log"
    [ "${got:-0}" -ge "$least" ] ||
        verdict FAIL "$name" "${got:-0} allocations were served, expected $least"
}

# Recorded, and replayed.
layer_record() {
    wanted layer_record || return 0
    run layer_record sh -c "'$here/bin/cuarena' run --record '$out/program.csv' \
        '$here/layer/loads' && '$here/bin/cuarena' replay --streams '$out/program.csv' &&
        [ \"\$(grep -c '^a,' '$out/program.csv')\" = 101 ]"
}

# runtime_program NAME ARGUMENT...: on the CUDA runtime, which asks the driver for
# the address of each call.
runtime_program() {
    local name=$1
    shift
    wanted "$name" || return 0
    if [ -z "$nvcc" ]; then
        verdict skip "$name" "(0 s): no nvcc"
    elif "$nvcc" "$here/layer/runtime.cu" "$@" -o "$out/$name" >"$out/logs/$name.log" 2>&1; then
        run "${name}_alone" "$out/$name"
        served "$name" 850 "$out/$name"
    else
        verdict FAIL "$name" "does not compile"
    fi
}

# passed FILE: the tests of Rust's harness that passed.
passed() {
    sed -n 's/^test \(.*\) \.\.\. ok$/\1/p' "$1" | sort
}

# cudarc's own tests: each that passes on the driver alone passes through the
# layer. One that takes the time of copies may fail either way.
layer_cudarc() {
    local name=layer_cudarc lost
    [ -x "$here/layer/cudarc_tests" ] && wanted $name || return 0
    (
        cd "$out" || exit
        export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        timeout "$limit" "$here/layer/cudarc_tests" --test-threads=1 >"logs/${name}_alone.log" 2>&1
        timeout "$limit" "$here/bin/cuarena" run --report "$here/layer/cudarc_tests" \
            --test-threads=1 >"logs/$name.log" 2>&1
    )
    passed "$out/logs/${name}_alone.log" >"$out/alone.txt"
    passed "$out/logs/$name.log" >"$out/layered.txt"
    lost=$(comm -23 "$out/alone.txt" "$out/layered.txt" | grep -v faster | tr '\n' ' ')
    sed -n 's/^cuarena: device/    device/p' "$out/logs/$name.log"
    if [ ! -s "$out/alone.txt" ]; then
        verdict FAIL $name "none of them passes on the driver alone"
    elif [ -n "$lost" ]; then
        verdict FAIL $name "these fail through the layer only: $lost"
    else
        verdict pass $name "$(wc -l <"$out/layered.txt") tests, $(wc -l <"$out/alone.txt") of them on the driver alone"
    fi
}

# How long an allocation and its free take: through the layer, and of the
# driver's pool, which keeps all either way.
layer_pairs() {
    local program=$here/layer/rust_linked
    [ -x "$program" ] && wanted layer_pairs || return 0
    run layer_pairs "$program" pairs
    CUARENA_ALLOCATOR=off run layer_pairs_driver "$program" pairs
    sed 's/^/    layer:  /' "$out/logs/layer_pairs.log"
    sed 's/^/    driver: /' "$out/logs/layer_pairs_driver.log"
}

layer_rust() {
    [ -x "$here/layer/rust_linked" ] || return 0
    ! wanted layer_rust_linked || run layer_rust_linked "$here/layer/rust_linked"
    ! wanted layer_rust_linked_off ||
        CUARENA_ALLOCATOR=off run layer_rust_linked_off "$here/layer/rust_linked" slices
    served layer_rust_loaded 3000 "$here/layer/rust_loaded"
}

# candle, linked with the layer, and on the driver's own pool: both compute the same.
layer_candle() {
    local short=()
    [ -x "$here/layer/rust_candle" ] && wanted layer_candle || return 0
    [ -z "$quick" ] || short=(--quick)
    (
        export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        run layer_candle python3 "$here/layer/candle" "$here/layer/rust_candle" \
            "$out/candle.json" --rounds "${CUARENA_CANDLE_ROUNDS:-1}" "${short[@]}"
    )
    sed -n '/ p50 /s/^/    /p' "$out/logs/layer_candle.log"
}

part_layer() {
    local nvcc name
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
    served layer_loads 101 "$here/layer/loads" libcuda.so
    served layer_loads_1 101 "$here/layer/loads" libcuda.so.1
    served layer_loads_asked 101 "$here/layer/loads" libcuda.so.1 asked
    layer_record
    layer_rust
    layer_pairs
    runtime_program layer_runtime
    runtime_program layer_runtime_shared -cudart shared
    for name in torch cupy; do
        served "layer_$name" 1 python3 "$here/layer/check_frameworks_run.py" "$name"
    done
    layer_cudarc
    layer_candle
}
