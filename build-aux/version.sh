#!/bin/sh
# Print MAJOR.MINOR.PATCH as include/cuarena/base.h has it. The header is the
# only place that holds the version; configure.ac and the checks ask here.
header=${0%/*}/../include/cuarena/base.h
LC_ALL=C awk '
    $1 == "#define" && $2 ~ /^CUARENA_VERSION_(MAJOR|MINOR|PATCH)$/ { v[$2] = $3 }
    END {
        major = v["CUARENA_VERSION_MAJOR"]
        minor = v["CUARENA_VERSION_MINOR"]
        patch = v["CUARENA_VERSION_PATCH"]
        if (major minor patch !~ /^[0-9]+$/ || major == "" || minor == "" || patch == "")
            exit 1
        printf "%s.%s.%s\n", major, minor, patch
    }' "$header" || {
    echo "version.sh: no CUARENA_VERSION_MAJOR, _MINOR and _PATCH in $header" >&2
    exit 1
}
