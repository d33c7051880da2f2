# Does one part. All three are worked on at the same time.
set -eu
sleep 0.2
echo "Chapter $TX_PART is written"
