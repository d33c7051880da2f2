# message FIELD... : drop a message of this agent on the bus, with its body on standard
# input. Under a hidden name first, so that nobody reads half of it.

message() {
    id="${TX_AGENT#*/}-$$"
    bus="$TX_ROOT/.ai/tx/msgs"
    {
        printf '%s\n' --- "from: $TX_AGENT" "msg-id: $id" "timestamp: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
        printf '%s\n' "$@" --- ''
        cat
    } >"$bus/.$id"
    mv "$bus/.$id" "$bus/$id.md"
}
