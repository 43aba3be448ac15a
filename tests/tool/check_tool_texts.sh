#!/usr/bin/env bash
# The `cuarena' command: arguments, help, what it tells of itself, and its documents.
. "$(dirname "$0")/support.sh"

#### Arguments ####

test_bad_arguments() {
    local good=$folder/plain.csv
    bad "unknown command" "unknown command 'reply', expected replay" reply
    bad "no command" "no command"
    bad "unknown option" "'--fast' of replay, expected --help, --preset, --memory" replay --fast "$good"
    bad "unknown letter" "unknown option '-q'" replay -q "$good"
    bad "option without a value" "'--pool' has no value" replay "$good" --pool
    bad "value of a flag" "'--json=1' has a value" replay --json=1 "$good"
    bad "unknown preset" "--preset is 'lake'" replay --preset lake "$good"
    bad "unknown memory" "--memory is 'tape'" replay --memory tape "$good"
    bad "unknown policy" "--policy is 'worst'" replay --policy worst "$good"
    bad "unknown api" "--api is 'x', expected pointers or blocks" \
        replay --api x "$good"
    bad "unknown time to compact" "expected never or on-fragmented" \
        replay --compact now "$good"
    bad "pool of no amount" "--pool is 'big'" replay --pool big "$good"
    bad "pool of nothing" "--pool is '0'" replay --pool 0 "$good"
    bad "no repeats" "--repeat is '0'" replay --repeat 0 "$good"
    bad "negative repeats" "--repeat is '-1'" replay --repeat=-1 "$good"
    bad "option without key" "expected KEY=VALUE" replay --option x "$good"
    bad "option of unknown key" "--option is 'x=1'" \
        replay --option x=1 "$good"
    bad "option of bad value" "alignment" \
        replay --option alignment=100 "$good"
    bad "pool as an option" "--pool sets" replay --option pool=1G "$good"
    bad "limit as an option" "--pool sets the limit" \
        replay --preset grow --option limit=1G "$good"
    bad "policies: option of replay" "unknown option '--verify'" \
        policies --verify "$good"
    bad "policies: streams" "unknown option '--streams'" \
        policies --streams "$good"
    bad "value of --streams" "'--streams=2' has a value" \
        replay --streams=2 "$good"
    bad "policies: no trace" "no trace is named" policies
    bad "advise: no trace" "no trace is named" advise
    bad "advise: option of replay" "'--pool' of advise, expected --help, --json, --for or --room" \
        advise --pool 1G "$good"
    bad "advise: unknown memory" "--for is 'host', expected device or pageable" \
        advise --for host "$good"
    bad "advise: room of no number" "--room is '5%', expected a whole number" \
        advise --room 5% "$good"
    bad "advise: too much room" "--room is '401'" advise --room 401 "$good"
    bad "advise: no file" "none.csv: No such file" advise "$folder/none.csv"
    bad "info: operand" "info has 'x'" info x
}

#### Texts ####

test_texts() {
    local command
    for command in "" replay policies advise import report run info top snapshot; do
        # Without a command there is one word less.
        # shellcheck disable=SC2086
        served "help $command" $command --help
        verdict "help $command tells the usage" "Usage: cuarena" \
            "$(head -c 14 "$folder/out")"
    done
    served "version" --version
    verdict "version" "cuarena $(awk '/define CUARENA_VERSION_/ { print $3 }' \
        "${srcdir:-.}/include/cuarena/base.h" | paste -sd .)" \
        "$(cat "$folder/out")"
    served "info" info
    verdict "info tells the memories" 2 \
        "$(grep -cE '^(pageable|none) ' "$folder/out")"
    verdict "info tells no preset as a memory" 0 \
        "$(grep -c '^preset ' "$folder/out")"
    served "info --options" info --options
    verdict "info --options tells of placement" 1 \
        "$(grep -c '^placement (choice' "$folder/out")"
    "$cuarena" replay "$folder/plain.csv" >/dev/full 2>"$folder/err"
    verdict "a full disk is an error" "2 1" "$? $(wc -l <"$folder/err")"
}

# documented: each option of the manual, "--pool SIZE" as "--pool =".
documented() {
    awk '$1 == ".It" && $2 == "Fl" {
            for (i = 3; i <= NF; i++)
                if ($i ~ /^\\-/) { name = "-" substr($i, 2) }
            print name ($0 ~ / Ar / ? " =" : "")
        }' "$manual" | sed 's/^-\\-/--/; s/^--*/--/' | sort -u
}

# helped COMMAND...: the same of the texts of help.
helped() {
    local command
    for command; do
        "$cuarena" "$command" --help
    done | grep -E '^  (-[a-zA-Z], )?--' |
        sed -E 's/^  (-., )?(--[a-z-]+)( [A-Z=]+)?( .*)?$/\2\3/
            s/ [A-Z=]+$/ =/' | sort -u
}

# The manual and --help tell of the same options, which take a value or none,
# of the same presets and of the same members of JSON.
test_manual_is_as_help() {
    local manual=${srcdir:-.}/tools/cuarena.1 presets name missing=
    verdict "the manual has the options of --help" \
        "$( (helped replay policies advise import report run info top snapshot && echo --version) | sort -u |
            tr '\n' ' ')" "$(documented | tr '\n' ' ')"
    verdict "the manual has the options of policies" \
        "$(helped policies | sed 's/ =//; /--help/d' | tr '\n' ' ')" \
        "$(sed -n '/^Of the options below it takes/,/^\.It/p' "$manual" |
            grep -oE '\\-[a-z]+' | sed 's/^\\-/--/' | sort -u | tr '\n' ' ')"
    presets=$("$cuarena" info --options | sed -n '/^preset /,/accepted:/{
        s/^ *accepted: //p;}' | tr -d ,)
    for name in $presets; do
        for command in replay policies; do
            "$cuarena" $command --help | sed -n '/--preset/,/--memory/p' |
                grep -qw -- "$name" || missing="$missing $command:$name"
        done
        sed -n '/^\.It Fl \\-preset/,/^\.It Fl \\-memory/p' "$manual" |
            grep -qw -- "$name" || missing="$missing manual:$name"
    done
    verdict "every preset is told of" "" "$missing"
    "$cuarena" replay --json "$folder/plain.csv" >"$folder/out"
    verdict "the manual has the members of JSON" \
        "$(grep -o '"[a-z0-9_]*":' "$folder/out" | tr -d '":' | sort |
            tr '\n' ' ')" \
        "$(sed -n 's/^\.It Va //p' "$manual" | grep -oE '[a-z0-9_]+' | sort |
            tr '\n' ' ')"
}

# Traces in examples are among those that are installed, so that the examples run as they stand.
test_examples() {
    local top=${srcdir:-.} installed command name one missing=
    installed=$(sed -n '/^nobase_dist_doc_DATA/,/[^\\]$/p' "$top/Makefile.am" |
        grep -o 'traces/.*\.gz')
    while read -r name; do
        for one in $installed; do
            # The name is a pattern.
            # shellcheck disable=SC2053
            [[ $one == $name ]] && continue 2
        done
        missing="$missing $name"
    done < <({
        for command in replay policies advise import report run info top snapshot; do
            "$cuarena" $command --help
        done
        sed -n '/^\.Sh EXAMPLES/,$p' "$top/tools/cuarena.1"
        grep '^    ' "$top/traces/README.md"
    } | grep -o 'traces/[^ ]*' | sort -u)
    verdict "traces of examples are installed" "" "$missing"
    verdict "the help tells where" 1 "$("$cuarena" --help | grep -c '^  /.*/traces$')"
}

test_info_json() {
    served "info --json" info --json
    verdict "info --json is one line" 1 "$(wc -l <"$folder/out")"
    verdict "info --json has these members" \
        "libcuarena compiled_against zlib jansson driver_version driver_library \
driver_why devices memories" "$(python3 -c 'import json, sys
print(*json.load(sys.stdin))' <"$folder/out" 2>/dev/null ||
            jq -r 'keys_unsorted | join(" ")' <"$folder/out")"
    verdict "info --json tells of each memory, of no preset" \
        "device managed none pageable pinned" \
        "$(grep -o '"memory": "[a-z]*"' "$folder/out" | cut -d'"' -f4 | sort |
            tr '\n' ' ' | sed 's/ $//')"
    verdict "info --json tells what none has" yes "$(
        grep -q '{"memory": "none", "here": true, "why": null, ' \
            "$folder/out" && echo yes)"
    served "info --options --json" info --options --json
    verdict "info --options --json has a line for each" \
        "$("$cuarena" info --options | grep -c '^[a-z_]* (')" \
        "$(grep -c '^{"key": ' "$folder/out")"
    verdict "info logs no error where there is none" "" "$(CUARENA_LOG=error \
        "$cuarena" info --options 2>&1 >"$folder/out")"
}

# Every option of the help is in the manual and in the completion.
test_documents() {
    local tools=${srcdir:-.}/tools option command missing
    for command in replay policies advise import report run info top snapshot; do
        missing=
        for option in $("$cuarena" $command --help | grep -oE '^ .*--[a-z-]+' |
            grep -oE -- '--[a-z-]+' | sort -u); do
            grep -qF -- "\\${option#-}" "$tools/cuarena.1" ||
                missing="$missing manual:$option"
            grep -qF -- "$option" "$tools/completion/cuarena.bash" ||
                missing="$missing completion:$option"
        done
        verdict "options of $command are documented" "" "$missing"
    done
}

run test_bad_arguments test_texts test_info_json test_documents test_manual_is_as_help \
    test_examples
