# Completion of tally for bash. Written by: tally completions bash
# shellcheck shell=bash

_tally() {
    local kind line
    local -a rest
    COMPREPLY=()
    # The line as typed: bash's own list of words is split at characters that paths contain.
    {
        read -r kind
        while IFS= read -r line; do COMPREPLY+=("${line%%$'\t'*}"); done
    } < <(command "$1" __complete bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case $kind in
        parts) compopt -o nospace +o default ;;
        words) compopt +o default ;;
        logs*)
            # Without a quote or a ~, show logs and folders; bash itself completes all other words and files.
            local word=$2 extension
            [[ ${COMP_LINE:0:COMP_POINT} == *[\'\"\\~]* ]] && return
            read -ra rest <<<"$kind"
            for extension in "${rest[@]:1}"; do
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -X "!*.$extension" -- "$word")
            done
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$word")
            compopt -o filenames
            ;;
    esac
}

complete -o default -F _tally tally
