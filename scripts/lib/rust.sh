# shellcheck shell=bash
# The stages of the Rust crates. Sourced, not run; each runs in the top of the
# tree, in a shell of its own, with `set -e'.
#
# All share one folder of results, build/rust. A set of features of cuarena-sys,
# like a toolchain, has the C sources built once more there, so few are used:
# none, `vendored' where packages and bindings are made, and what rust-find
# goes through. What is about none of that takes a library that is there.

rust_stages=(
    rust-fmt rust-clippy rust-features rust-test rust-doc rust-bindings rust-find
    rust-package rust-app rust-layer rust-msrv rust-semver
)

# The oldest compiler that the published crates want.
rust_oldest() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml
}

# Scripts of the crates; none in the tarball.
rust_scripts() {
    find rust/scripts -type f 2>/dev/null || true
}

# What every stage begins with. Debug information is what most of the time of a
# build goes into; the C sources are as fast as users get them with --long only.
rust_begin() {
    [ -d rust ] || skip "the crates are not part of the tarball"
    has cargo
    has rustc
    rust_is_at_least "$(rust_oldest)" ||
        skip "$(rustc --version) is older than $(rust_oldest)"
    export CARGO_TARGET_DIR=$root/build/rust CARGO_TERM_COLOR=never
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
    [ "${CUARENA_TEST_SCALE:-long}" = long ] || export CFLAGS=-O0
    unset CUARENA_LIB_DIR CUARENA_INCLUDE_DIR CUARENA_STATIC CUARENA_NO_VENDOR
    # Not what happens to be installed.
    mkdir -p build/none
    export PKG_CONFIG_LIBDIR=$root/build/none
    unset PKG_CONFIG_PATH
}

# ... and those that build something of others.
rust_begin_building() {
    rust_begin
    (cd rust && cargo fetch --quiet) ||
        skip "what the crates depend on could not be had"
}

# The library of the build that is installed, so that its sources are not built once
# more; with --long they are.
rust_takes_built() {
    [ "$CUARENA_TEST_SCALE" = short ] || return 0
    (
        unset PKG_CONFIG_LIBDIR
        configured gcc "${gcc_arguments[@]}"
        make_in gcc libcuarena.la
    ) >&2
    export CUARENA_LIB_DIR=$root/build/gcc/.libs CUARENA_INCLUDE_DIR=$root/include
    export CUARENA_STATIC=1
}

# The workspaces: the crates, and what needs newer compilers than they do.
rust_workspaces() {
    local manifest
    echo rust/Cargo.toml
    printf 'rust/%s/Cargo.toml\n' example-app example-linked example-loaded
    for manifest in rust/*/Cargo.toml; do
        ! grep -q '^\[workspace\]' "$manifest" || echo "$manifest"
    done
}

stage_rust_fmt() {
    local manifest
    rust_begin
    cargo fmt --version >/dev/null 2>&1 || skip "rustfmt not found"
    for manifest in $(rust_workspaces); do
        cargo fmt --all --check --manifest-path "$manifest"
    done
}

# What needs newer compilers comes last. That nothing newer is used than a crate
# says is one of the warnings.
stage_rust_clippy() {
    local patches way
    rust_begin_building
    cargo clippy --version >/dev/null 2>&1 || skip "clippy not found"
    rust_takes_built
    mapfile -t patches < <(rust_patches)
    cd rust
    cargo clippy --quiet --workspace --all-targets \
        --features "$(cd .. && rust_features)" -- -D warnings
    (cd cuarena-model && cargo clippy --quiet --all-targets -- -D warnings)
    rust_is_at_least 1.88 || return 0
    # With features of its own: nothing is linked, so no C is built for them.
    (cd cuarena-bench && DOCS_RS=1 cargo clippy --quiet --all-targets -- -D warnings)
    for way in linked loaded; do
        [ "$CUARENA_TEST_SCALE" = long ] || [ $way = linked ] || continue
        (cd layer-tests && DOCS_RS=1 cargo clippy --quiet --features $way -- -D warnings)
        (cd example-$way && DOCS_RS=1 cargo clippy --quiet "${patches[@]}" -- -D warnings)
    done
    cd example-app
    DOCS_RS=1 cargo clippy --quiet "${patches[@]}" -- -D warnings
}

# Each feature of each published crate. At short length rust-package does that,
# with the same sources.
stage_rust_features() {
    [ "$CUARENA_TEST_SCALE" = long ] || skip "only with --long"
    rust_begin_building
    rust_check_features rust/cuarena-sys cuarena-sys
    rust_check_features rust/cuarena cuarena
}

# The driver that tests run on, for who looks where libraries are looked for.
rust_standin() {
    (
        unset PKG_CONFIG_LIBDIR
        configured gcc "${gcc_arguments[@]}"
        make_in gcc tests/standin/libcuda.la
    ) >&2
    echo "$root/build/gcc/tests/standin/.libs"
}

# Examples of cuarena.
rust_examples() {
    local file
    for file in rust/cuarena/examples/*.rs; do
        basename "$file" .rs
    done
}

# The bindings beside the header, and all tests, on the stand-in driver unless
# CUARENA_CUDA_LIBRARY names another. cudarc looks where libraries are looked
# for. The examples run too.
stage_rust_test() {
    local features folder example examples
    rust_begin_building
    examples=$(rust_examples)
    folder=$(rust_standin)
    rust_takes_built
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    features=$(rust_features)
    cd rust
    cargo test --quiet --no-fail-fast -p cuarena-sys -p cuarena --features "$features"
    for example in $examples; do
        CUARENA_STANDIN_STRICT=1 cargo run --quiet -p cuarena --features "$features" \
            --example "$example"
    done
    ! rust_is_at_least 1.88 || cargo run --quiet -p systest
}

# The protocol between threads in every order of its steps, as the model has it,
# and that the model is what the C code has. At short length the largest scenes
# have few preemptions.
stage_model() {
    local out=$root/build/logs/model.out
    rust_begin
    cd rust/cuarena-model
    cargo fetch --quiet || skip "what the model depends on could not be had"
    cargo test --quiet -- --show-output >"$out" || {
        cat "$out"
        return 1
    }
    grep ' executions, ' "$out" | sort
    echo "note: $(awk '/ executions, / { all += $2; scenes++ }
        END { print all " executions of " scenes " scenes" }' "$out")"
}

# As users read it; where there is a nightly compiler, also as docs.rs makes it.
stage_rust_doc() {
    local features
    rust_begin_building
    features=$(rust_features)
    cd rust
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps -p cuarena-sys \
        -p cuarena --features "$features"
    ! rust_has_toolchain nightly ||
        DOCS_RS=1 RUSTDOCFLAGS="-D warnings --cfg docsrs" cargo +nightly doc \
            --quiet --no-deps -p cuarena-sys -p cuarena --features "$features"
}

# The committed bindings are those of the header.
stage_rust_bindings() {
    rust_begin_building
    has clang
    rust/scripts/bindings --check
}

# Each way to find the library.
stage_rust_find() {
    rust_begin_building
    (
        unset PKG_CONFIG_LIBDIR
        configured gcc "${gcc_arguments[@]}"
        make_in gcc install >/dev/null
    )
    rust/scripts/selection build/installed
}

# What would be published, used the way a stranger does it, and with each of its
# features.
stage_rust_package() {
    local crate sys
    rust_begin_building
    rm -rf build/crates build/registry
    rust/scripts/package --allow-dirty build/crates
    rust/scripts/registry build/crates build/registry
    rust/scripts/try-packages build/registry
    for crate in cuarena-sys cuarena; do
        tar xzf "build/crates/$crate"-[0-9]*.crate -C build/crates
    done
    sys=$(cd build/crates/cuarena-sys-*/ && pwd)
    rust_check_features "$sys" cuarena-sys
    rust_check_features build/crates/cuarena-[0-9]*/ cuarena \
        --config "patch.crates-io.cuarena-sys.path=\"$sys\""
}

# An application of what would be published, without a device and with one.
stage_rust_app() {
    local folder
    rust_begin_building
    rust_is_at_least 1.88 || skip "cudarc wants Rust 1.88"
    folder=$(rust_standin)
    rust_takes_built
    rm -rf build/crates
    rust/scripts/package --allow-dirty build/crates
    rust/scripts/try-app build/crates "$folder"
}

# A driver to link with, that is the stand-in, and a library that cudarc asks the
# linker for and that nothing here calls.
rust_link_folder() {
    local folder=$root/build/linked
    mkdir -p "$folder"
    echo | gcc -x c - -shared -o "$folder/libnvrtc.so"
    echo "$1:$folder"
}

# rust_layer_program CRATE FOLDER ARGUMENT...: builds a program on cudarc, linked
# with what is in the folders; where it is.
rust_layer_program() {
    local crate=$1 libraries=$2
    shift 2
    LIBRARY_PATH=$libraries cargo build --quiet --manifest-path "rust/$crate/Cargo.toml" "$@" >&2
    cp "$CARGO_TARGET_DIR/debug/$crate" "$root/build/layer/"
    echo "$root/build/layer/$crate"
}

# cudarc as it is published, served by the layer: linked with it, and loaded
# under `cuarena run'. The stand-in finds no access that nothing orders, in
# several orders of its work.
stage_rust_layer() {
    local folder libraries patches linked loaded seed run=$root/build/gcc/tools/cuarena
    rust_begin_building
    rust_is_at_least 1.88 || skip "cudarc wants Rust 1.88"
    folder=$(rust_standin)
    rust_takes_built
    (unset PKG_CONFIG_LIBDIR && make_in gcc tools/cuarena tools/layer/libcuda.la) >&2
    libraries=$(rust_link_folder "$folder")
    mapfile -t patches < <(rust_patches)
    mkdir -p build/layer
    linked=$(rust_layer_program example-linked "$libraries" "${patches[@]}")
    loaded=$(rust_layer_program example-loaded "$libraries")
    export LD_LIBRARY_PATH=$folder CUARENA_STANDIN_STRICT=1
    CUARENA_REPORT=1 "$linked"
    "$run" run --report "$loaded"
    linked=$(rust_layer_program layer-tests "$libraries" --features linked)
    for seed in 1 2 3; do
        CUARENA_STANDIN_SEED=$seed "$linked"
    done
    CUARENA_ALLOCATOR=off "$linked" slices
    loaded=$(rust_layer_program layer-tests "$libraries" --features loaded)
    for seed in 1 2 3; do
        CUARENA_STANDIN_SEED=$seed "$run" run --report "$loaded"
    done
    "$run" run --record build/layer/program.csv "$loaded" slices
    "$run" replay --streams build/layer/program.csv
}

# rust_has_toolchain NAME: rustup has one whose name begins so. It is asked
# for nothing, since it would install what is not there.
rust_has_toolchain() {
    command -v rustup >/dev/null &&
        rustup toolchain list 2>/dev/null | grep -q "^$1\([.-]\|$\)"
}

# The oldest compiler, with what was current then as far as the crates say so.
stage_rust_msrv() {
    local oldest
    rust_begin_building
    oldest=$(rust_oldest)
    rust_has_toolchain "$oldest" || skip "no toolchain $oldest"
    rm -rf build/msrv
    mkdir -p build/msrv
    cp -RL rust/Cargo.toml rust/cuarena rust/cuarena-sys build/msrv/
    sed -i '/^members/s/, "systest"//' build/msrv/Cargo.toml
    cd build/msrv
    CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=fallback \
        cargo generate-lockfile --quiet
    cargo "+$oldest" check --quiet -p cuarena-sys -p cuarena
}

# Against the last release: what was tagged last.
stage_rust_semver() {
    local released
    rust_begin_building
    cargo semver-checks --version >/dev/null 2>&1 ||
        skip "cargo-semver-checks not found"
    has git
    released=$(git tag --list 'v[0-9]*' --sort=-version:refname | head -n 1)
    [ -n "$released" ] || skip "nothing is released yet"
    cd rust
    cargo semver-checks -p cuarena-sys -p cuarena --baseline-rev "$released"
}
