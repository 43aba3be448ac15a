#!/bin/sh
# The text of the relocation kernels is that of their source: by the hash kept
# in it, and byte for byte where the compiler that makes it is there.
srcdir=${srcdir:-$(dirname "$0")/..}
text=$srcdir/src/memory/cuda/slide_ptx.c

hash=$(sh "$srcdir/scripts/rebuild-slide" --hash)
if [ -z "$hash" ]; then
    echo 'no program that makes sha256 sums'
    exit 77
fi
if ! grep -q "sha256 $hash" "$text"; then
    echo "expected sha256 $hash in slide_ptx.c, found:"
    grep 'sha256' "$text"
    echo 'The source has changed: run scripts/rebuild-slide'
    exit 1
fi

made=$(mktemp) || exit 99
trap 'rm -f "$made"' EXIT
sh "$srcdir/scripts/rebuild-slide" "$made"
case $? in
0) ;;
77)
    echo 'the hash is right; the text was not made again'
    exit 77
    ;;
*) exit 1 ;;
esac
cmp "$made" "$text" || exit 1
