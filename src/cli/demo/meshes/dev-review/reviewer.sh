# Reads greet.sh, and tries what the tester did not.
set -eu
. "${0%/*}/message.sh"
sleep 0.3
if said=$(sh "$TX_WORKDIR/greet.sh" 2>/dev/null); then
    echo "Without a name, greet.sh says \"$said\". It should fail, and say why." |
        message 'status: changes-requested' 'headline: Without a name it greets nobody'
else
    echo 'greet.sh is right: it greets by name, and fails without one'
fi
