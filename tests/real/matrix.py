#!/usr/bin/env python3
"""Write the results of the tests with real CLIs into a page, between its two `matrix` comments.

Usage: matrix.py RESULTS PAGE
RESULTS has lines `cli<TAB>version<TAB>mode<TAB>case<TAB>result`, in any order. A case that failed
once has failed. A case that a CLI was not tried with is an empty cell, one that it cannot have a dash.
"""
import re, sys
from fnmatch import fnmatch

ORDER = ["claude", "codex", "gemini", "opencode", "pi", "aider"]
# Cases that cannot be, as patterns of the case and of `cli mode`. The page says why.
NEVER = [
    ("kill -9 of the CLI while idle", "* turn"),
    ("a person's draft*", "* turn"),
    ("permission: *", "pi *"),
    ("permission: *", "codex turn"), ("permission: *", "gemini turn"), ("permission: *", "opencode turn"), ("permission: *", "aider turn"),
    ("permission: answered at the pane", "claude turn"), ("permission: answered at the pane", "codex pane"),
    ("the * dialog is an ask", "* turn"), ("the * dialog is an ask", "[cop]* pane"), ("the * dialog is an ask", "aider pane"),
    ("the MCP dialog is an ask", "gemini pane"),
    ("MCP tool seen", "[gop]*"), ("MCP tool seen", "aider *"),
    ("handover *", "[gop]*"), ("handover *", "aider *"),
    ("killed with a message in its queue*", "*"),
    ("question: *", "aider *"),
    ("usage *", "aider *"), ("usage *", "gemini pane"), ("usage *", "pi pane"),
    ("a limit of a subscription*", "*"),
    ("a limit with a reset*", "claude pane"), ("a limit with a reset*", "[gop]*"), ("a limit with a reset*", "aider *"),
    ("a refused tool with exit 0*", "*"),
    ("a budget of tokens*", "gemini pane"), ("a budget of tokens*", "pi pane"),
    ("tx init *", "c* turn"),
]
results, page = sys.argv[1:]
lines = [line.rstrip("\n").split("\t") for line in open(results)]
versions = {cli: version for cli, version, *_ in lines}
columns = sorted({(cli, mode) for cli, _, mode, *_ in lines}, key=lambda c: (ORDER.index(c[0]), c[1]))
cases = {}
for cli, _, mode, case, result in lines:
    cell = cases.setdefault(case, {})
    cell[cli, mode] = "**no**" if result != "yes" else cell.get((cli, mode), "yes")
rows = ["| case | " + " | ".join("%s %s, %s" % (c, versions[c], m) for c, m in columns) + " |",
        "|---|" + "---|" * len(columns)]
def empty(case, column):
    return "–" if any(fnmatch(case, cases) and fnmatch("%s %s" % column, of) for cases, of in NEVER) else ""

rows += ["| " + " | ".join([case] + [cell.get(column) or empty(case, column) for column in columns]) + " |"
         for case, cell in sorted(cases.items())]
text = open(page).read()
new, found = re.subn(r"(<!-- matrix -->\n).*?(<!-- /matrix -->)", lambda m: m[1] + "\n".join(rows) + "\n" + m[2], text, flags=re.S)
if not found:
    sys.exit("matrix.py: %s has no `<!-- matrix -->` and `<!-- /matrix -->`" % page)
open(page, "w").write(new)
