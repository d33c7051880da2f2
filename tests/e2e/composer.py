"""A program as agents have it: what is typed shows in a line at the foot, drawn anew with
each key, and goes to the file `lines` with Enter. `busy` makes it work until there is a
file `rest`. Its arguments say in which ways it is awkward."""

import os
import select
import signal
import sys
import termios
import time
import tty

AWKWARD = set(sys.argv[1:])
FRAMED, BUSY = "framed" in AWKWARD, "working (esc to interrupt)"

shown, draft, dialog_at, deaf_until, pasted = [], "", None, 0.0, 0.0
working, pasting, asked = False, False, False


def draw():
    rows = draft.split("\n")
    text = "\x1b[2J\x1b[H" + "".join(line + "\r\n" for line in shown[-5:])
    if working:
        text += BUSY + "\r\n"
    if dialog_at and time.time() >= dialog_at:
        text += "Allow `rm -rf build`?\r\n> 1. Yes (Enter)"
    elif FRAMED:
        text += "╭" + "─" * 90 + "╮\r\n"
        text += "".join("│ > " + row.ljust(87) + "│\r\n" for row in rows)
        text += "╰" + "─" * 90 + "╯"
        text += f"\x1b[A\r\x1b[{len(rows[-1]) + 4}C"
    else:
        text += "\r\n".join("> " + row for row in rows)
    os.write(1, text.encode())


def enter():
    global draft, dialog_at, working
    if dialog_at and time.time() >= dialog_at:
        open("allowed", "w").close()
        dialog_at = None
    elif draft.endswith("\\"):
        draft = draft[:-1] + "\n"
    elif "drops-enter" in AWKWARD and time.time() - pasted < 0.35:
        pass
    else:
        with open("lines", "a") as lines:
            lines.write(draft + "\n")
        shown.append(draft)
        working, draft = draft == "busy", ""
        if "slow" in AWKWARD:
            time.sleep(0.5)
            dialog_at = time.time()


def take(data):
    global draft, pasting, pasted, dialog_at
    while data:
        if data.startswith("\x1b[200~"):
            pasting, data = True, data[6:]
        elif data.startswith("\x1b[201~"):
            pasting, pasted, data = False, time.time(), data[6:]
            if "dialog" in AWKWARD:
                dialog_at = pasted + 0.1
        else:
            key, data = data[0], data[1:]
            if key == "\r" and not pasting:
                enter()
            elif key == "\x15":
                draft = ""
            elif key >= " ":
                draft += key


tty.setraw(0)
attributes = termios.tcgetattr(0)
attributes[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, attributes)
os.write(1, b"\x1b[?2004h")
signal.signal(signal.SIGWINCH, lambda *_: draw())
draw()
while True:
    if working and os.path.exists("rest"):
        working, deaf_until = False, time.time() + (0.5 if "late" in AWKWARD else 0)
        draw()
    hears = time.time() >= deaf_until and not (working and "late" in AWKWARD)
    if hears and select.select([0], [], [], 0.01)[0]:
        take(os.read(0, 65536).decode())
        draw()
    elif not hears:
        time.sleep(0.01)
    if dialog_at and time.time() >= dialog_at and not asked:
        asked = True
        draw()
