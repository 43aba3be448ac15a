# shellcheck shell=bash
# What is asked about the Rust compiler and the crates. Sourced, not run, in the
# top of the tree.

# rust_is_at_least VERSION: the compiler that is used.
rust_is_at_least() {
    local version
    version=$(rustc --version 2>/dev/null | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$1" "${version:-0}" | sort -V | head -n 1)" = "$1" ]
}

# Arguments that put the crates of this tree in the place of published ones, a
# line each: for what depends on these as a stranger does.
rust_patches() {
    local crate
    for crate in cuarena cuarena-sys; do
        printf '%s\n' --config \
            "patch.crates-io.$crate.path=\"$root/rust/$crate\""
    done
}

# Every feature of cuarena at once, but for where the library comes from. Those
# of cudarc are left to applications, so they are chosen here.
rust_features() {
    cargo metadata --format-version 1 --no-deps --offline \
        --manifest-path rust/cuarena/Cargo.toml |
        python3 -c '
import json, sys
packages = {p["name"]: p for p in json.load(sys.stdin)["packages"]}
features = set(packages["cuarena"]["features"]) - {"default", "vendored"}
if "cudarc" in features:
    features |= {"cudarc/dynamic-loading", "cudarc/cuda-12000"}
print(",".join(sorted(features)))'
}
