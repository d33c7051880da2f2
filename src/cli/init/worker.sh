# The agent hello/worker. What it is told comes on standard input: who it is, how to
# write messages, and last the message itself. `tx mesh prompt hello` shows all of it.

asked=$(sed -n 's/^headline: //p')

# What it prints is its outcome, `complete`. If it fails, that is an `error`.
echo "Hello! You asked: $asked"
