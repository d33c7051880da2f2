#!/usr/bin/env python3
"""A small agent CLI, for the runtime `parrot`: it says what it is told, if it may.

It has what such programs have: a composer, a line that shows that it works, and a dialog before
it does anything. It draws the whole screen each time.
"""
import os, re, sys, termios, time, tty

EDGE = "+" + "-" * 72 + "+"


def draw(above, typed=None):
    lines = list(above)
    if typed is not None:
        line = "| > " + typed[-60:]
        lines += [EDGE, line.ljust(73) + "|", EDGE]
    out = "\x1b[2J\x1b[H" + "\r\n".join(lines)
    if typed is not None:
        out += "\x1b[1A\r\x1b[%dC" % len(line)      # the cursor stands behind what is typed
    sys.stdout.write(out)
    sys.stdout.flush()


def read():
    text = os.read(0, 65536).decode(errors="replace")
    return re.sub(r"\x1b\[20[01]~", "", text)       # the marks around a paste


def allowed(what):
    draw(["Allow echo of %r? [y]es, [a]lways, [n]o" % what])
    while True:
        for key in read():
            if key in "yan":
                return key != "n"


def work(path):
    text = open(path).read()
    said = text.split("---\n", 2)[-1].strip()
    mesh_agent = os.environ["TX_AGENT"]
    done = allowed(said)
    draw(["(thinking)"], "")
    time.sleep(0.5)
    status, headline = ("complete", said) if done else ("failed", "I may not say it")
    name = "parrot-%d.md" % time.time_ns()
    folder = os.path.dirname(path)
    with open(os.path.join(folder, "." + name), "w") as file:
        file.write("---\nfrom: %s\nstatus: %s\nheadline: %s\n---\n" % (mesh_agent, status, headline))
    os.rename(os.path.join(folder, "." + name), os.path.join(folder, name))
    return headline


before = termios.tcgetattr(0)
tty.setraw(0)
try:
    sys.stdout.write("\x1b[?2004h")
    said, typed = ["Polly is here."], ""
    while True:
        draw(said, typed)
        for key in read():
            if key == "\x03":
                sys.exit()
            elif key != "\r":
                typed += key
            elif typed:
                said, typed = [work(typed)], ""
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
