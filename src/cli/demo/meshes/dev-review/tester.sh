# Runs greet.sh, and looks at what it says.
set -eu
sleep 0.3
said=$(sh "$TX_WORKDIR/greet.sh" Ada)
case $said in
*', Ada!') echo "greet.sh Ada says \"$said\"" ;;
*)
    echo "greet.sh Ada says \"$said\"" >&2
    exit 1
    ;;
esac
