# shellcheck shell=bash
# The stages of the Python package. Sourced, not run; each runs in the top of the
# tree, in a shell of its own, with `set -e'.
#
# Tools and tests have virtual environments below build/python; what these hold
# comes from where pip takes packages.

python_stages=(python)

# The oldest Python that the package wants.
python_oldest() {
    sed -n 's/^requires-python = ">=\(.*\)"/\1/p' python/pyproject.toml
}

python_begin() {
    has python3
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

# A source distribution of the tree, and a wheel of that.
python_build() {
    rm -rf build/python/dist
    build/python/tools/bin/python -m build --no-isolation --outdir build/python/dist \
        -C cmake.define.CUARENA_WERROR=ON python
}

# A fresh environment with the wheel and what tests want, and nothing of the tree.
python_install() {
    rm -rf build/python/fresh
    python3 -m venv build/python/fresh
    build/python/fresh/bin/pip install build/python/dist/cuarena-*.whl
    build/python/fresh/bin/pip install pytest numpy
}

# python_tests DRIVER ARGUMENT...: the tests, on the driver of that name.
python_tests() {
    local driver=$1
    shift
    CUARENA_CUDA_LIBRARY=$driver build/python/fresh/bin/python -m pytest -q \
        -p no:cacheprovider --rootdir python python/tests "$@"
}

# The package as users get it: built, installed where nothing else is, and tested
# on host memory and on the stand-in driver.
stage_python() {
    python_begin
    python_environment tools build scikit-build-core ninja mypy numpy pytest ||
        skip "what builds the package could not be had"
    python_build
    python_install || skip "what tests the package could not be had"
    MYPYPATH=python/src build/python/tools/bin/mypy --config-file python/pyproject.toml \
        --cache-dir build/python/mypy -p cuarena
    configured gcc "${gcc_arguments[@]}"
    make_in gcc tests/standin/libcuda.la
    python_tests /nonexistent
    python_tests "$root/build/gcc/tests/standin/.libs/libcuda.so.1"
}
