# shellcheck shell=bash
# What the tests of the `cuarena' command share. Sourced.
#
#   CUARENA   the command; ./cuarena or tools/cuarena if not set
#   srcdir    the top of the source tree; . if not set
#
# One line per case; what was expected and what came instead if they differ.
set -uo pipefail
cuarena=${CUARENA:-./cuarena}
[ -n "${CUARENA-}" ] || [ -x "$cuarena" ] || cuarena=tools/cuarena
# Those who source it use what follows.
# shellcheck disable=SC2034
traces=${srcdir:-.}/traces
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

command -v "$cuarena" >/dev/null || {
    echo "no command '$cuarena': set CUARENA"
    exit 1
}

# verdict NAME EXPECTED GOT: one line, more if they differ.
verdict() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
        passed=$((passed + 1))
    else
        printf 'FAIL  %s\n  expected  %s\n  got       %s\n' "$1" "$2" "$3"
        failed=$((failed + 1))
    fi
}

# call ARGUMENT...: runs the command; leaves $status, $folder/out, $folder/err.
call() {
    "$cuarena" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

# bad NAME TEXT ARGUMENT...: status 2, nothing on stdout, and one line on
# stderr that has TEXT in it.
bad() {
    local name=$1 text=$2 got
    shift 2
    call "$@"
    got="status $status, $(wc -c <"$folder/out") bytes, $(wc -l \
        <"$folder/err") line"
    if grep -qF -- "$text" "$folder/err"; then
        got="$got: $text"
    else
        got="$got: $(cat "$folder/err")"
    fi
    verdict "$name" "status 2, 0 bytes, 1 line: $text" "$got"
}

# bad_trace NAME TEXT LINE...: the same for a file of these lines; TEXT comes
# behind the name of the file.
bad_trace() {
    local name=$1 text=$2
    shift 2
    printf '%s\n' "$@" >"$folder/bad.csv"
    bad "$name" "$folder/bad.csv:$text" replay "$folder/bad.csv"
}

# values KEY...: of the JSON object on the first line of the last call's stdout,
# a space behind each.
values() {
    local line key
    line=$(head -n 1 "$folder/out")
    if command -v jq >/dev/null; then
        jq -j '.[$ARGS.positional[]] | tostring + " "' --args "$@" <<<"$line"
    elif command -v python3 >/dev/null; then
        python3 -c 'import json, sys
found = json.loads(sys.argv[1])
for key in sys.argv[2:]:
    print("null" if found[key] is None else found[key], end=" ")' "$line" "$@"
    else
        for key; do
            sed -n "s/.*\"$key\": *\"\{0,1\}\([^\",}]*\).*/\1 /p" <<<"$line" |
                tr -d '\n'
        done
    fi
}

# value KEY: one of them.
value() {
    values "$1" | tr -d ' '
}

# served NAME ARGUMENT...: status 0 and nothing on stderr.
served() {
    local name=$1
    shift
    call "$@"
    verdict "$name" "status 0: " "status $status: $(cat "$folder/err")"
}

# The same program in every format: 8 events, at most 512 + 1024 + 256 bytes
# live in blocks of multiples of 256, and one of 0 bytes.
header=op,id,size,stream
cat >"$folder/plain.csv" <<'END'
op,id,size,stream
a,0,300,0
a,1,1000,0
a,2,0,0
f,0,300,0
a,3,1,1
f,2,0,0
a,4,512,0
f,1,1000,0
END
gzip -c "$folder/plain.csv" >"$folder/packed.csv.gz"
cp "$folder/packed.csv.gz" "$folder/packed-without-ending"
sed 's/$/\r/' "$folder/plain.csv" >"$folder/crlf.csv"
head -c -1 "$folder/plain.csv" >"$folder/no-newline.csv"
awk -F, -v OFS=, '{ print "x" NR, $4, $3, $2, "y", $1 }
    ' "$folder/plain.csv" | sed '1s/.*/more,stream,size,id,other,op/' \
    >"$folder/columns.csv"
cat >"$folder/rmm.log" <<'END'
Thread,Time,Action,Pointer,Size,Stream
17,09:00:00.000001,allocate,0x7f0000000000,300,0x0
17,09:00:00.000002,allocate,0x7f0000000200,1000,0x0
17,09:00:00.000003,allocate,0x7F0000000900,0,0x0
17,09:00:00.000004,free,0x7f0000000000,300,0x0
17,09:00:00.000005,allocate,0x7f0000000000,1,0x2
17,09:00:00.000006,free,0x7f0000000900,0,0x0
17,09:00:00.000007,allocate,0x7f0000000900,512,0x0
17,09:00:00.000008,free,0x7f0000000200,1000,0x0
END
{
    cat "$folder/rmm.log"
    echo "17,09:00:00.000009,allocate failure,(nil),4096,0x0"
    echo "17,09:00:00.000010,allocate,(nil),0,0x0"
    echo "17,09:00:00.000011,free,(nil),0,0x0"
} >"$folder/rmm-more.log"

# What must not depend on the format; the peak is 256 + 1024 + 512.
# shellcheck disable=SC2034
counted=(events allocs frees peak_live_bytes pool_bytes failed)
# shellcheck disable=SC2034
expected="8 5 3 1792 3584 0 "

# run TEST...: each; how many cases passed; the status of a test.
run() {
    local test
    for test; do "$test"; done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
