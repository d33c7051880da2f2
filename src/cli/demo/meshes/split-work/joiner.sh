# Puts the parts together: it is given all of them at once, in their order.
set -eu
chapters=$(grep -oE '^Chapter [0-9]' | tr -cd 0-9)
sleep 0.2
if [ "$chapters" != 123 ]; then
    echo "the chapters came as $chapters" >&2
    exit 1
fi
echo 'The book has three chapters'
