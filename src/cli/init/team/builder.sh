# The agent team/builder, without an AI. What it is told comes on standard input; what it
# prints is its outcome, `complete`.

asked=$(sed -n 's/^headline: //p')
echo "A builder would do this now: $asked"
