# shellcheck shell=bash
# What the scripts need, how to see whether it is there, and what to install
# where it is not. Sourced, not run.

# group | how to see it | Debian and Ubuntu | Fedora | Arch
#   command NAME   on PATH
#   module NAME    known to pkg-config, with an optional minimum version
#   have_NAME      the function of that name below
needs_table() {
    cat <<'TABLE'
build | command gcc | gcc | gcc | gcc
build | have_libc | libc6-dev | glibc-devel | glibc
build | command make | make | make | make
build | command autoconf | autoconf | autoconf | autoconf
build | command automake | automake | automake | automake
build | command libtoolize | libtool | libtool | libtool
build | command pkg-config | pkg-config | pkgconf | pkgconf
build | command gzip | gzip | gzip | gzip
build | module zlib | zlib1g-dev | zlib-devel | zlib
build | module jansson >= 2.7 | libjansson-dev | jansson-devel | jansson
test | module check >= 0.15 | check | check-devel | check
test | command xz | xz-utils | xz | xz
test | command g++ | g++ | gcc-c++ | gcc
extra | command git | git | git | git
extra | command clang | clang | clang | clang
extra | command cmake | cmake | cmake | cmake
extra | have_libfuzzer | libclang-rt-@clang@-dev | compiler-rt | compiler-rt
extra | have_clang_format | clang-format-14 | clang-tools-extra | clang
extra | command codespell | codespell | codespell | codespell
extra | command cppcheck | cppcheck | cppcheck | cppcheck
extra | command gcovr | gcovr | gcovr | gcovr
extra | command ctags | universal-ctags | ctags | ctags
extra | command shellcheck | shellcheck | ShellCheck | shellcheck
extra | command mandoc | mandoc | mandoc | mandoc
extra | command valgrind | valgrind | valgrind | valgrind
extra | command setarch | util-linux | util-linux | util-linux
extra | command aarch64-linux-gnu-gcc | gcc-aarch64-linux-gnu | gcc-aarch64-linux-gnu | aarch64-linux-gnu-gcc
extra | have_libc_aarch64 | libc6-dev-arm64-cross | sysroot-aarch64-fc41-glibc | aarch64-linux-gnu-glibc
extra | command qemu-aarch64 | qemu-user | qemu-user | qemu-user
extra | command python3 | python3 | python3 | python
extra | have_venv | python3-venv | python3 | python
extra | have_jsonschema | python3-jsonschema | python3-jsonschema | python-jsonschema
extra | command rsvg-convert | librsvg2-bin | librsvg2-tools | librsvg
extra | have_browser | chromium-headless-shell | chromium-headless | chromium
extra | command cargo | cargo | cargo | rust
extra | command rustfmt | rustfmt | rustfmt | rust
extra | command cargo-clippy | rust-clippy | clippy | rust
TABLE
}

have_libc() {
    echo '#include <pthread.h>' | gcc -E - >/dev/null 2>&1
}

have_libc_aarch64() {
    echo '#include <pthread.h>' | aarch64-linux-gnu-gcc -E - >/dev/null 2>&1
}

have_libfuzzer() {
    local found
    found=$(find "$(clang -print-resource-dir 2>/dev/null)/lib" \
        -name 'libclang_rt.fuzzer*' 2>/dev/null | head -n 1)
    [ -n "$found" ]
}

have_venv() {
    python3 -c "import ensurepip, venv" 2>/dev/null
}

have_jsonschema() {
    python3 -c 'import jsonschema' 2>/dev/null
}

# One that tests/tool/browser.py takes.
have_browser() {
    command -v chromium-headless-shell || command -v chromium || command -v chromium-browser ||
        command -v google-chrome
} >/dev/null

# Versions of clang-format differ in what they make; 14 is the judge.
clang_format_name() {
    local name
    for name in clang-format-14 clang-format; do
        if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

have_clang_format() {
    clang_format_name >/dev/null
}

# is_there PROBE
is_there() {
    local kind what
    read -r kind what <<<"$1"
    case $kind in
    command) command -v "$what" >/dev/null ;;
    module) pkg-config --exists "$what" 2>/dev/null ;;
    *) "$kind" ;;
    esac
}

# missing COLUMN GROUP...: the packages of the groups that are not there;
# COLUMN is 3 for Debian, 4 for Fedora, 5 for Arch, 2 for the probes.
missing() {
    local column=$1 group probe debian fedora arch
    shift
    needs_table | while IFS='|' read -r group probe debian fedora arch; do
        group=${group// /}
        [[ " $* " == *" $group "* ]] || continue
        is_there "$probe" && continue
        case $column in
        2) echo "$probe" ;;
        3) echo "$debian" ;;
        4) echo "$fedora" ;;
        5) echo "$arch" ;;
        esac
    done | sed 's/^ *//; s/ *$//' | sort -u
}

on_debian() {
    [ -f /etc/debian_version ] && command -v apt-get >/dev/null
}

# Say what is not there and what would install it.
explain_missing() {
    local list
    echo "Not found:"
    missing 2 "$@" | sed -e 's/^/  /' -e 's/command //' \
        -e 's/module \(.*\)/\1 (pkg-config)/' -e 's/have_/development files: /'
    echo "To install it, as root:"
    if on_debian; then
        list=$(debian_names "$@")
        echo "  apt-get install ${list//$'\n'/ }"
    else
        list=$(missing 4 "$@")
        echo "  Fedora:  dnf install ${list//$'\n'/ }"
        list=$(missing 5 "$@")
        echo "  Arch:    pacman -S ${list//$'\n'/ }"
        echo "  Others:  the packages that hold what is listed above"
    fi
}

# The names of Debian's packages; one carries the version of clang.
debian_names() {
    local major
    major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
    [ -n "$major" ] || major=$(apt-cache depends clang 2>/dev/null |
        sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    missing 3 "$@" | sed "s/@clang@/${major:-14}/"
}

# as_root COMMAND...
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

lists_are_new=

# apt_install GROUP...: install what has a candidate; the rest stays missing.
apt_install() {
    local name names=()
    if [ -z "$lists_are_new" ]; then
        as_root apt-get update -qq || echo "apt-get update failed; going on" >&2
        lists_are_new=yes
    fi
    for name in $(debian_names "$@"); do
        apt-cache show "$name" >/dev/null 2>&1 && names+=("$name")
    done
    [ ${#names[@]} -gt 0 ] || return 0
    echo "Installing: ${names[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "${names[@]}" \
        </dev/null >"$root/build/logs/apt.log" 2>&1 ||
        tail -n 20 "$root/build/logs/apt.log" >&2
}

# need GROUP...: make sure of everything in the groups, or say what to do.
# Quick when nothing is missing.
need() {
    [ -n "$(missing 2 "$@")" ] || return 0
    if on_debian && { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }; then
        mkdir -p "$root/build/logs"
        apt_install "$@"
        [ -n "$(missing 2 "$@")" ] || return 0
    fi
    explain_missing "$@"
    return 1
}
