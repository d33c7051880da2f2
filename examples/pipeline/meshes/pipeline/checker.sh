# Thirty letters, and no more. `tx send` knows by TX_AGENT who speaks; where the status
# leads, the table of the mesh knows.
set -eu
length=$(wc -m <slogan.txt)
if [ "$length" -gt 31 ]; then
    tx send pipeline/dispatch "It has $((length - 1)) letters, and may have 30" --status too-long
else
    echo "$((length - 1)) letters will do"
fi
