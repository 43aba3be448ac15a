# shellcheck shell=bash
# How the wheel of the Python package is built. Sourced, not run, in the top of the
# tree; `skip REASON' says why it cannot be, and returns 77.
#
# Virtual environments are below build/python; what they hold comes from where pip
# takes packages.

# The oldest Python that the package wants.
python_oldest() {
    sed -n 's/^requires-python = ">=\(.*\)"/\1/p' python/pyproject.toml
}

python_begin() {
    command -v python3 >/dev/null || skip "python3 not found"
    python3 -c "import sys; sys.exit(sys.version_info < ($(python_oldest | tr . ,)))" ||
        skip "$(python3 --version) is older than $(python_oldest)"
    python3 -c 'import ensurepip, venv' 2>/dev/null || skip "python3 has no venv"
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
    mkdir -p build/python
}

# python_environment NAME PACKAGE...: a virtual environment with these, kept for
# the next time.
python_environment() {
    local folder=build/python/$1
    shift
    if [ "$*" != "$(cat "$folder/.packages" 2>/dev/null)" ]; then
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install "$@" || return 1
        echo "$*" >"$folder/.packages"
    fi
}

# Versions of ruff differ in how they format; this one is the judge.
python_tools() {
    python_environment tools build scikit-build-core cmake ninja abi3audit ruff==0.17.6
}

# What more the build is told.
wheel_settings=()

# A source distribution of the tree, and a wheel of that.
python_build() {
    rm -rf build/python/dist
    build/python/tools/bin/python -m build --no-isolation --outdir build/python/dist \
        -C cmake.define.CUARENA_WERROR=ON "${wheel_settings[@]}" python
}
