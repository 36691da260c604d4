# Completion of tally for fish. Written by: tally completions fish

function __tally_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer (command $words[1] __complete fish -- $words[2..-1] "$typed" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path (commandline -ct)
        case 'logs *'
            set -l extensions (string split ' ' -- $answer[1])[2..-1]
            __fish_complete_suffix .$extensions
        case '*'
            # fish quotes them itself.
            printf '%s\n' $answer[2..-1]
    end
end

complete -c tally -f -k -a '(__tally_complete)'
