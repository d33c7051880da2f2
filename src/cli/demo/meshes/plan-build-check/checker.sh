# Runs it. What it says in its rearmatter decides.
set -eu
sleep 0.3
case $(sh "$TX_WORKDIR/count.sh" | wc -l | tr -d ' ') in
3) printf '%s\n' 'It counts to three' '' --- 'signal: PASS' --- ;;
*) printf '%s\n' 'It stops early: one is missing' '' --- 'signal: REFINE' --- ;;
esac
