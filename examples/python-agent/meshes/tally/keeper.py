"""An agent that stays: it reads the path of a message a line, and answers each by a file.

The sum is in its memory alone, so it is right only if the same process gets every message.
"""

import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

BUS = Path(os.environ["TX_ROOT"]) / ".ai/tx/msgs"


def title(text):
    """Set the title of the terminal: `idle` tells tx that the turn is over."""
    print(f"\033]2;{text}\007", end="", flush=True)


def finish(number, headline, body):
    """Drop an outcome on the bus, under a hidden name until it is whole."""
    name = f"tally-{os.getpid()}-{number}"
    now = datetime.now(timezone.utc).isoformat()
    text = (
        f"---\nfrom: {os.environ['TX_AGENT']}\nmsg-id: {name}\nheadline: {headline}\n"
        f"timestamp: {now}\nstatus: complete\n---\n\n{body}\n"
    )
    hidden = BUS / f".{name}"
    hidden.write_text(text)
    hidden.rename(BUS / f"{name}.md")


total = 0
for count, line in enumerate(sys.stdin, start=1):
    title("working")
    message = Path(line.strip()).read_text()
    body = message.split("---", 2)[2]
    numbers = [int(word) for word in re.findall(r"-?\d+", body)]
    total += sum(numbers)
    finish(count, f"The sum is {total}", f"{len(numbers)} more, message {count}")
    title("idle")
