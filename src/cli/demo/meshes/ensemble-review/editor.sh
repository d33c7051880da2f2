# Writes what the human reads: it is given the verdict that has the most votes.
set -eu
given=$(cat)
sleep 0.2
case $given in
*2/3*) echo 'Approved by two of three reviewers' ;;
*)
    echo 'the votes were not counted' >&2
    exit 1
    ;;
esac
