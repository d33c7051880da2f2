# Counts one too few at first; after a check it counts right.
set -eu
given=$(cat)
sleep 0.3
case $given in
*'one is missing'*) last=3 ;;
*) last=2 ;;
esac
printf 'seq %s\n' "$last" >"$TX_WORKDIR/count.sh"
echo "count.sh counts to $last"
