# shellcheck shell=bash
# The part of a GPU bundle about programs that know nothing of arenas. Sourced by
# scripts/gpu-bundle, in the top of the tree.

# What `cuarena run` puts before the driver, where bin/cuarena looks for it.
bundle_run_library() {
    local into=$bundle/lib/libcuarena work=$root/build/gpu/run
    mkdir -p "$into" "$work"
    echo | gcc -x c - -shared -nostdlib -Wl,-soname,libcuarena-driver.so.1 \
        -o "$work/libcuarena-driver.so.1" || return
    # shellcheck disable=SC2046
    (cd "$root" && gcc -std=c11 -O2 -fPIC -shared -fvisibility=hidden -Iinclude -Isrc \
        -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic \
        -Wl,--version-script,tools/layer/libcuda.map -o "$into/libcuda.so.1" \
        tools/layer/entries.c $(find src -name '*.c' | sort) \
        -Wl,--no-as-needed "$work/libcuarena-driver.so.1" -Wl,--as-needed -ldl -pthread)
}

# Programs in C and Python, and one for the runtime that is compiled there.
bundle_layer_programs() {
    mkdir -p "$bundle/layer"
    (cd "$root" && gcc -std=c11 -O2 -o "$bundle/layer/loads" tests/tool/driver_program.c -ldl) &&
        cp "$root/tests/layer/runtime.cu" "$root/tests/layer/check_frameworks_run.py" \
            "$bundle/layer/"
}

# A driver to link with: a library of that name which has what is asked of it is
# the stand-in.
bundle_link_folder() {
    local folder=$root/build/linked
    mkdir -p "$folder"
    echo | gcc -x c - -shared -o "$folder/libnvrtc.so" || return
    configured gcc --enable-werror >&2 && make_in gcc tests/standin/libcuda.la >&2 || return
    echo "$root/build/gcc/tests/standin/.libs:$folder"
}

# cudarc, linked and loaded.
bundle_layer_rust() {
    local name path libraries
    libraries=$(bundle_link_folder) || return
    export LIBRARY_PATH=$libraries
    for name in linked loaded; do
        bundle_build build --quiet --release --features $name | while read -r _ path; do
            bundle_put layer "rust_$name" "$path"
        done
    done
}

# cudarc's own tests, of the files that are published: a copy, which is a
# workspace of its own. Of the release of CUDA that the machine has.
bundle_cudarc_tests() {
    local manifest _ path copy=$root/build/gpu/cudarc
    manifest=$(cargo metadata --format-version 1 --features loaded | python3 -c '
import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "cudarc"))
') || return
    rm -rf "$copy"
    cp -R "$(dirname "$manifest")" "$copy"
    chmod -R u+w "$copy"
    printf '\n[workspace]\n' >>"$copy/Cargo.toml"
    bundle_build test --quiet --no-run --lib --manifest-path "$copy/Cargo.toml" \
        --no-default-features --features \
        "std,driver,nvrtc,cublas,cublaslt,curand,dynamic-loading,${CUARENA_GPU_CUDA:-cuda-13000}" |
        while read -r _ path; do
            bundle_put layer cudarc_tests "$path"
        done
}

# What candle is built with, of the release of CUDA that the machine has: wheel,
# version.
candle_wheels() {
    cat <<'TABLE'
nvidia-cuda-nvcc 13.0.88
nvidia-cuda-crt 13.0.88
nvidia-nvvm 13.0.88
nvidia-cuda-runtime 13.0.96
nvidia-cuda-cccl 13.0.85
nvidia-cuda-nvrtc 13.0.88
nvidia-cublas 13.10.0.20
nvidia-curand 10.4.5.25
TABLE
}

# bundle_toolkit FOLDER LIBRARIES: the wheels unpacked there, with the names that
# linkers look for, and the driver to link with.
bundle_toolkit() {
    local folder=$1 wheel version library
    [ ! -f "$folder/.complete" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    candle_wheels | while read -r wheel version; do
        python3 -m pip download --quiet --disable-pip-version-check --no-deps \
            --only-binary=:all: --platform manylinux1_x86_64 --platform manylinux2010_x86_64 \
            --platform manylinux2014_x86_64 --platform manylinux_2_27_x86_64 \
            --dest "$folder/wheels" "$wheel==$version" </dev/null || return
    done || return
    for wheel in "$folder"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$folder"
    done
    rm -rf "$folder/wheels"
    chmod +x "$folder"/nvidia/cu13/bin/* "$folder"/nvidia/cu13/nvvm/bin/*
    for library in "$folder"/nvidia/cu13/lib/lib*.so.*; do
        ln -sf "${library##*/}" "${library%%.so.*}.so"
    done
    ln -sfn lib "$folder/nvidia/cu13/lib64"
    cp -P "$2"/libcuda.so* "$folder/nvidia/cu13/lib/" && touch "$folder/.complete"
}

# candle in a program that is linked with the layer, and what runs and compares it.
# Half a gigabyte is fetched, and candle's kernels take a quarter of an hour.
bundle_candle_built() {
    local _ path standin=$root/build/gcc/tests/standin/.libs toolkit=$root/build/cuda-toolkit
    configured gcc --enable-werror >&2 && make_in gcc tests/standin/libcuda.la >&2 || return
    bundle_toolkit "$toolkit" "$standin" || return
    toolkit=$toolkit/nvidia/cu13
    export CUDA_HOME=$toolkit CUDA_PATH=$toolkit CUDA_ROOT=$toolkit LIBRARY_PATH=$toolkit/lib
    export CUDA_COMPUTE_CAP=${CUDA_COMPUTE_CAP:-90} CUDARC_CUDA_VERSION=13000
    PATH=$toolkit/bin:$PATH bundle_build build --quiet --release | while read -r _ path; do
        bundle_put layer rust_candle "$path"
    done || return
    cargo pkgid candle-core | sed 's/.*[@#]//' >"$bundle/layer/candle-version" &&
        cp "$root/bench/candle" "$bundle/layer/"
}

bundle_candle() {
    if [ "${CUARENA_BUNDLE_CANDLE:-0}" = 1 ]; then
        bundle_candle_built
    else
        echo "no candle in the bundle: CUARENA_BUNDLE_CANDLE is not 1"
    fi
}

# A bundle of candle alone, small enough to carry: the folder, and an archive of it.
bundle_candle_alone() {
    bundle_has_rust || return
    bundle_rust_settings
    rm -rf "$bundle"
    mkdir -p "$bundle/layer"
    (cd "$root/rust/layer-candle" && bundle_candle_built) || return
    tar -C "${bundle%/*}" --sort=name --owner=0 --group=0 -cf - "${bundle##*/}" |
        xz -6 >"$bundle.tar.xz"
}

bundle_layer() {
    bundle_run_library && bundle_layer_programs || return
    bundle_has_rust || return 0
    bundle_rust_settings
    (cd "$root/rust/layer-tests" && bundle_layer_rust && bundle_cudarc_tests) &&
        (cd "$root/rust/layer-candle" && bundle_candle)
}
