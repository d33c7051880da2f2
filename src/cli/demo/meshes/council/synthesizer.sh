# Weighs the views: it is given all of them at once.
set -eu
views=$(grep -cE '^(For|Against)[:,]')
sleep 0.3
if [ "$views" -lt 3 ]; then
    echo "only $views of 3 views are here" >&2
    exit 1
fi
echo 'Ship on Friday, with a way back that was tried on Thursday'
