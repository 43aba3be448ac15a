# shellcheck shell=bash
# Completion of the `cuarena' command for bash.

# What an option of an arena accepts: the words of `cuarena info --options'.
_cuarena_accepted() {
    cuarena info --options 2>/dev/null |
        sed -n "/^$1 /,/accepted:/{s/^ *accepted: //p;}" | tr -d ','
}

_cuarena_keys() {
    cuarena info --options 2>/dev/null | sed -n 's/^\([a-z_]*\) (.*/\1=/p'
}

# The words that may follow the option $1; nothing for one that takes none.
_cuarena_values() {
    case $1 in
    --preset) _cuarena_accepted preset ;;
    --memory) _cuarena_accepted memory ;;
    --policy) _cuarena_accepted placement ;;
    --option) _cuarena_keys ;;
    --api) echo "pointers blocks" ;;
    --compact) echo "never on-fragmented" ;;
    --pool) echo "auto" ;;
    --repeat) echo "1 10 100" ;;
    --for) echo "device pageable" ;;
    --room) echo "0 2 10" ;;
    --from) echo "rmm pytorch" ;;
    --device) echo "0 1 2 3" ;;
    --format) echo "json pytorch" ;;
    --colour) echo "tag size stream lifetime" ;;
    *) return 1 ;;
    esac
}

_cuarena_options() {
    local shared="--preset --memory --pool --option --api --repeat --json --help"
    case $1 in
    replay) echo "$shared --policy --compact --min-pool --min-limit --streams --verify \
--snapshot" ;;
    policies) echo "$shared" ;;
    report)
        echo "--output --svg --png --colour --preset --memory --pool --option --api --policy --compact --streams --replay --help"
        ;;
    advise) echo "--for --room --json --help" ;;
    import) echo "--output --from --device --help" ;;
    info) echo "--options --json --help" ;;
    run) echo "--option --async --report --record --help" ;;
    top) echo "--once --json --help" ;;
    snapshot) echo "--arena --format --output --help" ;;
    *) echo "replay policies advise import report run info top snapshot --help --version" ;;
    esac
}

_cuarena() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} words
    [ "$COMP_CWORD" -gt 1 ] || command=
    COMPREPLY=()
    if words=$(_cuarena_values "$before"); then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
    elif [[ $word == -* || -z $command ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$(_cuarena_options "$command")" -- "$word"
        )
    elif [[ $command != info ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -F _cuarena cuarena
