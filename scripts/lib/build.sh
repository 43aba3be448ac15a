# shellcheck shell=bash
# Builds below build/, each in a folder of its own, kept for the next time.
# Sourced, not run; `root' is the top of the tree.

jobs=$(nproc 2>/dev/null || echo 2)

# What runs libtool: bash, which configure prefers, takes a third of the time of a
# build without optimizing for that.
export CONFIG_SHELL=/bin/sh

# Make ./configure, if it is not there or older than what it is made from.
bootstrap_if_needed() {
    local version newer
    version=$("$root/build-aux/version.sh")
    if [ -x "$root/configure" ] && [ -f "$root/Makefile.in" ] &&
        grep -q "^PACKAGE_VERSION='$version'" "$root/configure"; then
        newer=$(find "$root/configure.ac" "$root/Makefile.am" \
            "$root"/m4/cuarena_*.m4 "$root"/*/Makefile.inc \
            "$root"/tests/*/Makefile.inc \
            -newer "$root/Makefile.in")
        [ -n "$newer" ] || return 0
    fi
    "$root/bootstrap"
}

# sources: the folder of the sources, as builds below build/ see it. Beside a
# tree that was configured in place nothing can be built, so then they take a
# copy: what a tarball would hold now, each file with its time.
sources() {
    if [ -f "$root/config.status" ]; then
        make -s -C "$root" --no-print-directory distdir \
            distdir=build/source >&2 || return
        echo ../source
    else
        echo ../..
    fi
}

# configured NAME ARGUMENT...: build/NAME, configured with the arguments.
configured() {
    local dir=$root/build/$1 sources
    shift
    bootstrap_if_needed || return
    sources=$(sources) || return
    [ "$sources" = "$(cat "$dir/.sources" 2>/dev/null)" ] || rm -rf "$dir"
    mkdir -p "$dir"
    echo "$sources" >"$dir/.sources"
    if [ ! -f "$dir/Makefile" ] || [ ! -f "$dir/config.status" ] ||
        [ "$*" != "$(cat "$dir/.arguments" 2>/dev/null)" ]; then
        (cd "$dir" && "$sources/configure" --quiet "$@") || return
        echo "$*" >"$dir/.arguments"
    fi
    make -s -C "$dir" --no-print-directory Makefile # if it is out of date
}

# make_in NAME ARGUMENT...: make in build/NAME.
make_in() {
    local name=$1
    shift
    make -C "$root/build/$name" -j"$jobs" --no-print-directory "$@"
}

# list_in NAME LIST: the words of a list of the Makefile, as show prints them.
list_in() {
    make -s -C "$root/build/$1" --no-print-directory show LIST="$2"
}
