# shellcheck shell=bash
# What scripts/gpu-bundle takes of the Rust crates, where there is a compiler
# that can build all of them. Sourced; `root' is the top of the tree, `bundle'
# the folder, and cargo.sh is sourced too.

# Those of cuarena's tests that want nothing of the tree but what is in the
# bundle.
rust_suites=(allocator cudarc device host)

# Small, since all of it is carried to another machine; tests keep their checks.
bundle_rust_settings() {
    export CARGO_TARGET_DIR=$root/build/gpu-rust CARGO_TERM_COLOR=never
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
    export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_STRIP=symbols
}

# Whether there is something to build, and what to build it with; else says why.
bundle_has_rust() {
    [ -d "$root/rust" ] || {
        echo "no Rust in the bundle: the crates are not part of the tarball"
        return 1
    }
    if ! command -v cargo >/dev/null || ! rust_is_at_least 1.88; then
        echo "no Rust in the bundle: no compiler of 1.88 or newer"
        return 1
    fi
}

# bundle_build NAME ARGUMENT...: builds with cargo; the programs, a line each,
# as NAME PATH.
bundle_build() {
    cargo "$@" --message-format=json | python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable"):
        print(message["target"]["name"], message["executable"])'
}

# bundle_put FOLDER NAME PATH: stripped already.
bundle_put() {
    mkdir -p "$bundle/$1"
    cp "$3" "$bundle/$1/$2"
}

bundle_rust_suites() {
    local features suite name path arguments=()
    features=$(cd "$root" && rust_features) || return
    for suite in "${rust_suites[@]}"; do
        arguments+=(--test "$suite")
    done
    bundle_build test --quiet --no-run -p cuarena --features "$features" \
        "${arguments[@]}" | while read -r name path; do
        bundle_put suites/rust "rust_$name" "$path"
    done
    bundle_build build --quiet -p cuarena --features "$features" \
        --example cudarc_kernel --example cudarc_graph | while read -r name path; do
        bundle_put examples "rust_$name" "$path"
    done
}

# The application as it is in the tree, with the crates beside it.
bundle_rust_app() {
    local name path arguments
    mapfile -t arguments < <(rust_patches)
    bundle_build build --quiet "${arguments[@]}" | while read -r name path; do
        bundle_put examples "rust_$name" "$path"
    done
}

bundle_rust_bench() {
    local name path
    bundle_build bench --quiet --no-run | while read -r name path; do
        [ "$name" != arena ] || name=rust
        bundle_put bench "bench_$name" "$path"
    done
}

bundle_rust() {
    bundle_has_rust || return 0
    bundle_rust_settings
    (cd "$root/rust" && bundle_rust_suites) &&
        (cd "$root/rust/example-app" && bundle_rust_app) &&
        (cd "$root/rust/cuarena-bench" && bundle_rust_bench)
}
