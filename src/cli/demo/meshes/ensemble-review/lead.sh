# Says what is to be reviewed.
sleep 0.2
echo 'Review count.sh: does it count to three?'
