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

# rust_feature_list FOLDER CRATE: its features, a line each, as arguments of
# cargo: those of cudarc are left to applications, so they are chosen here.
rust_feature_list() {
    cargo metadata --format-version 1 --no-deps --offline \
        --manifest-path "$1/Cargo.toml" |
        python3 -c '
import json, sys
packages = {p["name"]: p for p in json.load(sys.stdin)["packages"]}
for feature in sorted(set(packages[sys.argv[1]]["features"]) - {"default"}):
    of_cudarc = feature == "cudarc"
    print(feature + of_cudarc * ",cudarc/dynamic-loading,cudarc/cuda-12000")' "$2"
}

# Every feature of cuarena at once, but for where the library and the bindings
# come from.
rust_features() {
    rust_feature_list rust/cuarena cuarena |
        grep -vxE 'vendored|buildtime-bindgen' | paste -sd,
}

# rust_check_features FOLDER CRATE ARGUMENT...: checks it with each feature alone,
# none and all, without the dependencies of tests, which could turn on what a
# feature forgot to. As for documentation: no C is built. A warning fails; it is
# looked for in what cargo says, since another flag of the compiler would have all
# dependencies built again.
rust_check_features() {
    local features feature said
    mapfile -t features < <(rust_feature_list "$1" "$2" | rust_can_check)
    for feature in "" "${features[@]}" "$(IFS=, && echo "${features[*]}")"; do
        echo "$2: ${feature:-no features}"
        said=$(DOCS_RS=1 cargo check --quiet --lib --no-default-features \
            --features "$feature" --manifest-path "$1/Cargo.toml" -p "$2" "${@:3}" 2>&1) || {
            echo "$said"
            return 1
        }
        ! grep '^warning' -A 10 <<<"$said" || return
    done
}

# Those that can be built here: bindgen wants libclang, cudarc a newer compiler.
rust_can_check() {
    local without=(-e '^$')
    command -v clang >/dev/null || without+=(-e '^buildtime-bindgen$')
    rust_is_at_least 1.88 || without+=(-e '^cudarc,')
    grep -v "${without[@]}"
}
