# An agent that speaks with `tx send`. In its environment TX_AGENT says who it is and
# TX_ROOT where its project is, so that tx knows.
set -eu
given=$(cat)
case $given in
*'type: ask-response'*) ;;
*)
    # Without a status it is a question. The turn ends here; the answer comes with
    # another turn, together with the task.
    tx send core "Release version 1.2? yes or no"
    exit
    ;;
esac
answer=$(printf '%s\n' "$given" | sed -n '/^type: ask-response$/,$s/^headline: //p')
if [ "$answer" != yes ]; then
    tx send release/dispatch "You said: $answer" --status error --headline "Nothing is released"
    exit
fi
# News wake nobody, and nobody waits for them.
tx send core "Version 1.2 is being packed" --type update
echo "1.2" >VERSION
tx send release/dispatch "VERSION says 1.2" --status complete --headline "Released 1.2"
