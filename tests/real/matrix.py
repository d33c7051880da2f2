#!/usr/bin/env python3
"""Write the results of the tests with real CLIs into a page, between its two `matrix` comments.

Usage: matrix.py RESULTS PAGE
RESULTS has lines `cli<TAB>version<TAB>mode<TAB>case<TAB>result`, in any order. A case that failed
once has failed. A case that a CLI was not tried with is an empty cell.
"""
import re, sys

ORDER = ["claude", "codex", "gemini", "opencode", "pi", "aider"]
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
rows += ["| " + " | ".join([case] + [cell.get(column, "") for column in columns]) + " |"
         for case, cell in sorted(cases.items())]
text = open(page).read()
new, found = re.subn(r"(<!-- matrix -->\n).*?(<!-- /matrix -->)", lambda m: m[1] + "\n".join(rows) + "\n" + m[2], text, flags=re.S)
if not found:
    sys.exit("matrix.py: %s has no `<!-- matrix -->` and `<!-- /matrix -->`" % page)
open(page, "w").write(new)
