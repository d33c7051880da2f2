# What the agent is told comes on standard input: who it is, and the message. What it
# prints is its outcome, `complete`; if it fails, that is an `error`.
name=$(sed -n 's/^headline: //p')
echo "Hello, $name!"
