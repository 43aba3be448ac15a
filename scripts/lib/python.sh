# shellcheck shell=bash
# The stages of the Python package. Sourced, not run; each runs in the top of the
# tree, in a shell of its own, with `set -e'.

python_stages=(python python-torch)

python_style() {
    build/python/tools/bin/ruff check --quiet --no-cache python
    build/python/tools/bin/ruff format --check --quiet --no-cache python
}

# The wheel where nothing else is.
python_alone() {
    rm -rf build/python/fresh
    python3 -m venv build/python/fresh
    build/python/fresh/bin/pip install --no-index build/python/dist/cuarena-*.whl
    (cd build/python && fresh/bin/python "$root/python/examples/01_hello.py")
}

# What tests want, and the frameworks that the stand-in driver serves where this
# Python can have them, in an environment that is kept but for the wheel.
python_beside() {
    python_environment frameworks pytest mypy numpy cuda-core numba-cuda numba \
        nvidia-cuda-runtime || python_environment frameworks pytest mypy numpy || return
    build/python/frameworks/bin/pip install --no-index --no-deps --force-reinstall \
        build/python/dist/cuarena-*.whl
}

# What types and stubs say is so. A buffer has no method before Python 3.12.
python_types() {
    local folder=frameworks/bin
    echo 'cuarena._native.Block.__buffer__' >build/python/allowed
    (cd build/python &&
        $folder/mypy --config-file "$root/python/pyproject.toml" --cache-dir mypy -p cuarena &&
        $folder/stubtest --allowlist allowed --ignore-disjoint-bases --ignore-unused-allowlist \
            cuarena._native)
}

# Those that can run here say what they show, the others why not. The first example
# of the README is one of them.
python_examples() {
    local example
    awk '/^```python/ { inside = 1; next } /^```/ && inside { exit } inside' \
        python/README.md | build/python/fresh/bin/python
    for example in python/examples/*.py; do
        echo "$example"
        CUARENA_CUDA_LIBRARY=/nonexistent/libcuda.so.1 \
            build/python/frameworks/bin/python "$example" || [ $? -eq 77 ]
    done
}

# python_tests DRIVER: the tests, on the driver of that name. Other packages look
# for it where libraries are looked for.
python_tests() {
    CUARENA_CUDA_LIBRARY=$1 LD_LIBRARY_PATH=${1%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        build/python/frameworks/bin/python -m pytest -q -p no:cacheprovider \
        --rootdir python python/tests
}

# The package as users get it: built, installed where nothing else is, and tested
# on host memory and on the stand-in driver. The C sources are as fast as users get
# them with --long only.
stage_python() {
    [ "$CUARENA_TEST_SCALE" = long ] ||
        wheel_settings=(-C cmake.define.CMAKE_C_FLAGS_RELEASE=-O0)
    python_begin
    python_tools || skip "what builds the package could not be had"
    python_style
    python_build
    build/python/tools/bin/abi3audit --strict build/python/dist/cuarena-*.whl
    python_alone
    python_beside || skip "what tests the package could not be had"
    python_types
    python_examples
    configured gcc "${gcc_arguments[@]}"
    make_in gcc tests/standin/libcuda.la
    python_tests /nonexistent/libcuda.so.1
    python_tests "$root/build/gcc/tests/standin/.libs/libcuda.so.1"
}

# With PyTorch, whose wheels have 3 GB: it is fetched with --long, or used where it
# was fetched before.
stage_python_torch() {
    python_begin
    [ "$CUARENA_TEST_SCALE" = long ] || [ -d build/python/torch ] ||
        skip "PyTorch has 3 GB; --long fetches it"
    python_environment torch 'torch==2.11.*' numpy pytest || skip "PyTorch could not be had"
    configured gcc "${gcc_arguments[@]}"
    make_in gcc tests/standin/libcuda.la
    python_environment tools build scikit-build-core ninja ||
        skip "what builds the package could not be had"
    python_build
    build/python/torch/bin/pip install --no-index --no-deps --force-reinstall \
        build/python/dist/cuarena-*.whl
    CUARENA_CUDA_LIBRARY=$root/build/gcc/tests/standin/.libs/libcuda.so.1 \
        build/python/torch/bin/python -m pytest -q -p no:cacheprovider --rootdir python \
        python/tests/test_torch.py python/tests/test_torch_calls.py
}
