#!/usr/bin/env bash
# The `cuarena' command: what pages of report hold. What they show in a browser is up to
# check_report_page.py.
. "$(dirname "$0")/support.sh"
command -v python3 >/dev/null || {
    echo "skipped: no python3, which reads the pages"
    exit 77
}
page=$folder/page.html

# figure NAME...: of the last page.
figure() {
    local line name
    line=$(python3 "$(dirname "$0")/report_data.py" "$page")
    for name; do sed -E "s/.*\b$name=([^ ]*).*/\1 /" <<<"$line" | tr -d '\n'; done
}

test_bad_reports() {
    local good=$folder/plain.csv
    bad "no trace" "no trace is named, expected one, or a snapshot" report -o "$page"
    bad "no file" "report has no file to write, expected -o, --svg or --png FILE" report "$good"
    bad "two traces" "report has '$folder/rmm.log' too, expected one trace" \
        report "$good" "$folder/rmm.log" -o "$page"
    bad "a file in no folder" "$folder/none/page.html: No such file" \
        report "$good" -o "$folder/none/page.html"
    bad "a full disk" "/dev/full: No space left" report "$good" -o /dev/full
    bad "-o without a value" "option '-o' has no value" report "$good" -o
    bad "an option of replay" "unknown option '--verify' of report, expected --help, --output" \
        report --verify "$good" -o "$page"
    bad "-o of another command" "unknown option '-o'" replay "$good" -o "$page"
    bad "no trace of that name" "none.csv: No such file" report "$folder/none.csv" -o "$page"
    bad "pool of no amount" "--pool is 'big'" report --pool big "$good" -o "$page"
    bad "streams where there are none" "no call is on a stream" \
        report --streams <(printf 'op,id,size\na,0,1\n') -o "$page"
}

# kept NAME TEXT ARGUMENT...: bad, and the trace that is read is as it was.
kept() {
    bad "$@"
    verdict "$1: it stays as it was" same \
        "$(cmp "$folder/plain.csv" "$folder/own.csv" && echo same)"
}

# The file that is read, by its name and by others.
test_own_trace() {
    local name option words="expected another file than the one that is read"
    cp "$folder/plain.csv" "$folder/own.csv"
    ln "$folder/own.csv" "$folder/linked.csv"
    ln -s own.csv "$folder/symbolic.csv"
    for name in own.csv ../"$(basename "$folder")"/own.csv linked.csv symbolic.csv; do
        kept "report into $name" "--output is '$folder/$name', $words" \
            report "$folder/own.csv" -o "$folder/$name"
    done
    for option in --svg --png; do
        kept "report $option of its trace" "$option is '$folder/own.csv', $words" \
            report "$folder/own.csv" $option "$folder/own.csv"
    done
    kept "replay into its trace" "--snapshot is '$folder/own.csv', $words" \
        replay "$folder/own.csv" --snapshot "$folder/own.csv"
    for name in replay policies "report -o $page"; do
        # The words are arguments.
        # shellcheck disable=SC2086
        kept "$name, recorded into its trace" "--option trace is '$folder/own.csv', $words" \
            $name --option trace="$folder/own.csv" "$folder/own.csv"
    done
    kept "import into its log" "--output is '$folder/own.csv', $words" \
        import "$folder/linked.csv" -o "$folder/own.csv"
    "$cuarena" report - -o "$folder/own.csv" <"$folder/own.csv" 2>"$folder/err"
    verdict "report into standard input" "2 1" "$? $(grep -c "$words" "$folder/err")"
    "$cuarena" import "$folder/own.csv" >>"$folder/own.csv" 2>"$folder/err"
    verdict "import to standard output" "2 1" "$? $(grep -c "$words" "$folder/err")"
}

# The page needs nothing else: no address and no file is named in it.
test_page() {
    served "a page" report "$folder/plain.csv" -o "$page"
    verdict "nothing is on stdout" 0 "$(wc -c <"$folder/out")"
    verdict "a page names no other" 0 "$(grep -cE 'https?:|//[a-z]+\.|src=|href=|@import|url\(' "$page")"
    verdict "and nothing in it is left to be put in" 0 "$(grep -cE '^@(facts|columns|include)' "$page")"
    served "to standard output" report "$folder/plain.csv" --output -
    verdict "it is the same" same "$(cmp "$folder/out" "$page" && echo same)"
    verdict "figures of the page" "8 4 4 1792 0 0 0 " \
        "$(figure events blocks stays peak refused moves overlaps)"
    served "rmm.log" report "$folder/rmm.log" -o "$page"
    verdict "figures of another format" "8 4 4 1792 0 0 0 " \
        "$(figure events blocks stays peak refused moves overlaps)"
    "$cuarena" report - -o "$page" <"$folder/packed.csv.gz"
    verdict "of standard input" "8 4 1792 " "$(figure events blocks peak)"
    printf '%s\n' "$header" a,0,0,0 f,0,0,0 >"$folder/empty.csv"
    served "nothing but an empty block" report "$folder/empty.csv" -o "$page"
    verdict "of which no stay is drawn" "2 0 0 " "$(figure events stays peak)"
}

# agree WHAT ARGUMENT...: page and replay tell the same. Where requests are refused a replay
# tells of the events that were served, and of the peak of a trace that is.
agree() {
    local what=$1 replayed keys="reserved_peak_bytes failed moves bytes_moved"
    local figures="reserved refused moves bytes_moved"
    shift
    call replay --json "$@"
    if [ "$status" -eq 0 ]; then
        keys="$keys events peak_live_bytes" figures="$figures events peak"
    fi
    # shellcheck disable=SC2086
    replayed="$status $(values $keys)"
    call report "$@" -o "$page"
    # shellcheck disable=SC2086
    verdict "$what: page and replay agree" "$replayed" "$status $(figure $figures)"
    [ "$(figure overlaps)" = "many " ] || verdict "$what: no two blocks overlap" "0 " "$(figure overlaps)"
}

test_figures() {
    agree "a pool" "$traces/multistream.csv.gz"
    agree "an arena that grows" --preset grow --streams "$traces/multistream.csv.gz"
    agree "blocks" --api blocks --preset grow "$traces/cupy_analytics.csv.gz"
    agree "a cache" --preset mlx-cpu "$traces/multistream.csv.gz"
    agree "refusals" --pool 720MiB "$traces/cupy_analytics.csv.gz"
    agree "moves" --pool 718MiB --compact on-fragmented "$traces/cupy_analytics.csv.gz"
    zcat "$traces/cupy_analytics.csv.gz" | head -n 2500 >"$folder/begin.csv"
    agree "moves of a part" --pool 700MiB --compact on-fragmented "$folder/begin.csv"
    verdict "which moved something" yes "$([ "$(figure moves)" != "0 " ] && echo yes)"
    agree "refusals of a part" --pool 640MiB "$folder/begin.csv"
}

# Of 4 KiB, four blocks of 1 KiB and the first and third freed: 2 KiB need one
# of the two that live to be away, and it is the smaller one between free ranges.
test_obstacle() {
    printf '%s\n' "$header" a,0,1024,0 a,1,256,0 a,2,1024,0 a,3,1024,0 f,0,0,0 f,2,0,0 \
        a,4,2048,0 f,1,0,0 >"$folder/way.csv"
    call report --policy low --pool 3328 "$folder/way.csv" -o "$page"
    verdict "a refusal is status 1" "1 1" "$status $(wc -l <"$folder/err")"
    verdict "the block in the way is the one between free ranges" "true 1 256 2304 [1]" \
        "$(python3 - "$page" "$(dirname "$0")" <<'END'
import sys
sys.path.insert(0, sys.argv[2])
import report_data
facts, tables = report_data.read(sys.argv[1])
failure = facts["failure"]
print(str(failure["found"]).lower(), failure["blocks"], failure["bytes"], failure["room"],
      [tables["stays"]["block"][i] for i in failure["stays"]])
END
        )"
    call report --pool 512 "$folder/way.csv" -o "$page"
    verdict "a request for more than the pool has nothing in its way" 1 \
        "$(grep -c '"found":false,"offset":0,"room":0,"blocks":0,' "$page")"
}

# drawn SVG: whether it is XML with one image of 1808 x 732, and how many curves it has.
drawn() {
    python3 - "$1" <<'END'
import base64, struct, sys, zlib
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
images = [e for e in root.iter() if e.tag.endswith("}image")]
png = base64.b64decode(images[0].get("{http://www.w3.org/1999/xlink}href").split(",")[1])
at, kinds = 8, []
while at < len(png):
    length, kind = struct.unpack(">I4s", png[at:at + 8])
    good = zlib.crc32(png[at + 4:at + 8 + length]) == struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0]
    kinds.append(kind.decode() + ("" if good else "?"))
    if kind == b"IDAT":
        pixels = zlib.decompress(png[at + 8:at + 8 + length])
    at += 12 + length
print(len(images), *struct.unpack(">II", png[16:24]), *kinds, len(pixels) == 732 * (1 + 3 * 1808),
      len([e for e in root.iter() if e.tag.endswith("}polyline")]))
END
}

test_pictures() {
    local image="1 1808 732 IHDR IDAT IEND True" name
    served "an SVG" report "$traces/multistream.csv.gz" --svg "$folder/a.svg"
    verdict "it has a map and curves" "$image 2" "$(drawn "$folder/a.svg")"
    for name in tag size stream lifetime; do
        served "by $name" report "$traces/multistream.csv.gz" --colour "$name" --svg - -o "$page"
        verdict "which the page begins with" 1 "$(grep -c "\"colour\":\"$name\"" "$page")"
    done
    recorded >"$folder/recorded.csv"
    served "of a recorded trace" report "$folder/recorded.csv" --svg "$folder/a.svg"
    verdict "tags end nothing" "$image 1" "$(drawn "$folder/a.svg")"
    verdict "it tells what was reserved" "1 1" "$(grep -c 'reserved at most 64 KiB' "$folder/a.svg"
        ) $(grep -c 'black: reserved, blue: live<' "$folder/a.svg")"
    recorded | grep -vE '^(grow|trim)' >"$folder/recorded.csv"
    served "of one without what was reserved" report "$folder/recorded.csv" --svg "$folder/a.svg"
    verdict "which it leaves out" "$image 0 0" \
        "$(drawn "$folder/a.svg") $(grep -c 'reserved' "$folder/a.svg")"
    snapshot >"$folder/state.json"
    served "of a snapshot" report "$folder/state.json" --svg "$folder/a.svg"
    verdict "which has no curves" "$image 0" "$(drawn "$folder/a.svg")"
    call report --pool 720MiB "$traces/cupy_analytics.csv.gz" --svg "$folder/a.svg"
    verdict "a refusal is marked" "1 1" \
        "$status $(grep -c 'refused 93.41 MiB: 239.2 MiB free, largest 75.44 MiB' "$folder/a.svg")"
    bad "a colour that is none" "--colour is 'red', expected tag, size, stream or lifetime" \
        report --colour red "$folder/plain.csv" -o "$page"
    bad "an SVG on a full disk" "/dev/full: No space left" \
        report "$folder/plain.csv" --svg /dev/full
    mkdir "$folder/bin"
    printf '#!/bin/sh\nexit 3\n' >"$folder/bin/rsvg-convert"
    chmod +x "$folder/bin/rsvg-convert"
    PATH=$folder/bin:$PATH bad "a converter that fails" "a.png: rsvg-convert could not write it" \
        report "$folder/plain.csv" --png "$folder/a.png"
    if ! command -v rsvg-convert >/dev/null; then
        bad "no converter" "--png: rsvg-convert: No such file or directory, expected this command of" \
            report "$folder/plain.csv" --png "$folder/a.png"
        return
    fi
    served "a PNG" report "$folder/plain.csv" --png "$folder/a.png"
    verdict "is one" "PNG" "$(head -c 4 "$folder/a.png" | tail -c 3)"
    bad "a PNG in no folder" "$folder/none/a.png: No such file" \
        report "$folder/plain.csv" --png "$folder/none/a.png"
    bad "a PNG on a full disk" "/dev/full: rsvg-convert could not write it" \
        report "$folder/plain.csv" --png /dev/full
}

# The same program as it was recorded, out of order: block 7 is resized and moves,
# a request fails, and tags need care.
recorded() {
    cat <<'END'
op,note,id,size,stream,time,thread,tag,address
grow,,,65536,,10,1,,0x10000
a,,7,1024,0x1,20,1,weights,0x10000
a,,8,4096,0x55,30,1,</script><b>,0x10400
move,,8,4096,0x55,60,1,</script><b>,0x14000
a,,9,512,,40,2,,0x11400
f,,7,2048,0x1,70,1,weights,0x12000
resize,,7,2048,0x1,50,1,weights,0x12000
fail,CUARENA_FRAGMENTED,,60000,0x1,80,1,,
idle,55,,2048,0x1,85,1,,0x12000
f,,999,1,,86,1,,0x1
trim,,,32768,,90,1,,0x18000
END
}

test_recorded() {
    recorded >"$folder/recorded.csv"
    served "a recorded trace" report "$folder/recorded.csv" -o "$page"
    verdict "is drawn as it was" "10 3 5 6656 65536 1 1 4096 0 " \
        "$(figure events blocks stays peak reserved refused moves bytes_moved overlaps)"
    verdict "with its tags, which end nothing" "3 0" \
        "$(grep -oE '"name":("weights"|"\\u003c/script>\\?.*<?b>"|null),"allocs"' "$page" |
            wc -l) $(grep -c '</script><b>' "$page")"
    verdict "and what was refused" 1 \
        "$(grep -c '"text":"[^"]*recorded.csv:9: a request of 60000 bytes: CUARENA_FRAGMENTED"' "$page")"
    verdict "and what stood in its way" 1 \
        "$(grep -c '"found":true,"offset":0,"room":65536,"blocks":2,"bytes":4608,' "$page")"
    # Two ranges that touch, without their middle: the block that is looked for is in the upper one.
    printf '%s\n' op,id,size,address grow,,32768,0x10000 grow,,32768,0x18000 \
        a,1,8192,0x10000 a,2,4096,0x1a000 trim,,16384,0x14000 fail,,24576, >"$folder/held.csv"
    served "a recorded trace that gives bytes back" report "$folder/held.csv" -o "$page"
    verdict "no request is served from these" 1 \
        "$(grep -c '"room":32768,"blocks":1,"bytes":4096,"stays":\[1\]' "$page")"
    served "--replay of a trace without addresses" report --replay "$traces/multistream.csv.gz" -o "$page"
    recorded | sed 's/0x11400/there/' >"$folder/recorded.csv"
    bad "no address" "$folder/recorded.csv:6: address is 'there', expected an address such as" \
        report "$folder/recorded.csv" -o "$page"
    recorded | sed 's/,40,2/,then,2/' >"$folder/recorded.csv"
    bad "no time" "$folder/recorded.csv:6: time is 'then', expected a whole number" \
        report "$folder/recorded.csv" -o "$page"
    recorded | sed 's/^a,,9/a,,-9/' >"$folder/recorded.csv"
    bad "no id" "$folder/recorded.csv:6: id is '-9', expected a whole number" \
        report "$folder/recorded.csv" -o "$page"
    recorded | sed 's/,512,/,18446744073709551615,/' >"$folder/recorded.csv"
    bad "a size that no block has" "size is '18446744073709551615', expected a number of bytes up to 2^62" \
        report "$folder/recorded.csv" -o "$page"
    recorded | sed '1s/note/address/' >"$folder/recorded.csv"
    bad "a column twice" "recorded.csv:1: two columns 'address' in 'op,address,id,size,stream," \
        report "$folder/recorded.csv" -o "$page"
    recorded | sed 's/^trim.*/trim,1/' >"$folder/recorded.csv"
    bad "a line that is cut" "recorded.csv:12: 2 fields, expected 9" \
        report "$folder/recorded.csv" -o "$page"
    recorded | head -n 1 >"$folder/recorded.csv"
    bad "nothing but a header" "recorded.csv:1: no event follows" \
        report "$folder/recorded.csv" -o "$page"
}

# Two segments, one of which is tagged, and a cached block.
snapshot() {
    cat <<'END'
{"version": 1, "library": "0.1.0", "pid": 1, "time_ns": 1,
 "arena": {"number": 1, "name": "x", "options": {"preset": "grow", "memory": "none"}},
 "statistics": {"reserved_bytes": 8192, "live_bytes": 3072, "free_bytes": 4864,
  "largest_bytes": 4096, "allocs": 3},
 "last_refusal": {"status": "CUARENA_LIMIT", "message": "no room", "asked_bytes": 9000,
  "free_bytes": 4864, "largest_bytes": 4096},
 "tags": [{"number": 3, "name": "<i>weights"}],
 "streams": [{"number": 2, "handle": "0x55"}],
 "segments": [{"region": "dynamic", "address": 139637976727552, "bytes": 4096, "holes": []},
  {"region": "dynamic", "address": 65536, "bytes": 8192,
   "holes": [{"address": 71680, "bytes": 1024}, {"address": 66560, "bytes": 512}]}],
 "blocks": [
  {"id": "0x8000000100000001", "address": 65536, "bytes": 1024, "requested_bytes": 1000,
   "tag": 3, "stream": 2, "flags": ["pointer", "pinned"]},
  {"id": "0x8000000100000002", "address": 67584, "bytes": 2048, "requested_bytes": 2048,
   "tag": 0, "stream": 0, "flags": []},
  {"id": "0x8000000100000003", "address": 0, "bytes": 0, "requested_bytes": 0, "tag": 0,
   "stream": 0, "flags": []},
  {"id": null, "address": 139637976727552, "bytes": 256, "requested_bytes": 0, "tag": 0,
   "stream": 0, "flags": ["cached"]}],
 "free": [], "events": []}
END
}

test_snapshot() {
    snapshot >"$folder/state.json"
    served "a snapshot" report "$folder/state.json" -o "$page"
    verdict "figures of the page" "1 3 3 3072 8192 1 0 " \
        "$(figure events blocks stays peak reserved refused overlaps)"
    verdict "its segments are without their holes" 1 \
        "$(grep -cF '"bands":[{"address":"0x10000","bytes":1024},{"address":"0x10600","bytes":4608},{"address":"0x11c00","bytes":1024},{"address":"0x7f0000000000","bytes":4096}]' "$page")"
    verdict "its blocks have ids and flags" 1 \
        "$(grep -c '"names":\["0x8000000100000001, pointer, pinned",.*,"(cached), cached"\]' "$page")"
    { snapshot | tr '\n' ' ' && head -c 2M /dev/zero | tr '\0' ' '; } >"$folder/state.json"
    served "a snapshot that is one line, however long" report "$folder/state.json" -o "$page"
    snapshot | sed 's/"version": 1/"version": 2/' >"$folder/state.json"
    bad "another version" "version is 2, expected a snapshot of version 1" \
        report "$folder/state.json" -o "$page"
    snapshot | head -n 12 >"$folder/state.json"
    bad "a snapshot that is cut" "state.json:1" report "$folder/state.json" -o "$page"
    echo '{"version": 1, "segments": [{"address": 1, "bytes": 0}, 7, {}],
        "blocks": [null, {}, {"address": -1, "bytes": 9, "requested_bytes": 10, "flags": 3},
        {"address": 9223372036854775807, "bytes": 9223372036854775807}]}' >"$folder/state.json"
    served "a snapshot of nonsense" report "$folder/state.json" -o "$page" --svg "$folder/a.svg"
    verdict "of which little is drawn" "1 1 0 " "$(figure events stays peak)"
    echo '{"version": 1}' >"$folder/state.json"
    bad "no blocks" "no list 'segments', expected a snapshot" report "$folder/state.json" -o "$page"
}

# A name that would end the element it is in.
test_escapes() {
    local trace="$folder/<script>alert(1)<_script><!--.csv"
    cp "$folder/plain.csv" "$trace"
    served "a trace with a name of markup" report "$trace" -o "$page"
    served "an SVG of it" report "$trace" --svg "$folder/a.svg"
    verdict "which is XML" "1 1808 732 IHDR IDAT IEND True 2" "$(drawn "$folder/a.svg")"
    verdict "and the page has it as text" "0 1" \
        "$(grep -c '<script>alert' "$page") $(grep -c 'u003cscript>alert' "$page")"
}

run test_bad_reports test_own_trace test_page test_figures test_obstacle test_recorded test_snapshot \
    test_pictures test_escapes
