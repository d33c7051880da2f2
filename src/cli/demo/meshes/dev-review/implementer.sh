# Writes greet.sh; asks the human which greeting to use, fixes what the review finds.
set -eu
. "${0%/*}/message.sh"
given=$(cat)
sleep 0.3

write() {
    printf '%s\n' "$@" >"$TX_WORKDIR/greet.sh"
}

case $given in
*'status: changes-requested'*)
    greeting=$(sed -n 's/^echo "\(.*\), \$1!"$/\1/p' "$TX_WORKDIR/greet.sh")
    write 'name=${1:?a name is missing}' "echo \"$greeting, \$name!\""
    echo 'Without a name it now fails, and says why'
    ;;
*'type: ask-response'*)
    greeting=$(printf '%s\n' "$given" | sed -n '/^type: ask-response$/,$s/^headline: //p')
    write "echo \"$greeting, \$1!\""
    echo "greet.sh says \"$greeting\""
    ;;
*)
    echo 'Hello, or something more formal? One line, please.' |
        message 'to: core' 'headline: Which greeting should it use?'
    ;;
esac
