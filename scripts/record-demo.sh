#!/usr/bin/env bash
# Record a real run of `tx demo` as docs/demo.svg: each line appears when it was printed.
source "$(dirname "$0")/setup.sh"

# TX names a program that is built already.
if [ -z "${TX:-}" ]; then
    say "building tx"
    cargo build --locked --release
fi
tx=${TX:-${CARGO_TARGET_DIR:-target}/release/tx}

say "tx demo"
lines=$(mktemp)
began=$(date +%s%N)
# Local paths are not for the picture.
"$tx" demo --color never 2>&1 | while IFS= read -r line; do
    printf '%s\t%s\n' $((($(date +%s%N) - began) / 1000000)) "$line"
    printf '%s\n' "$line" >&2
done | sed -E 's#tmux -S [^ ]+#tmux -S …#; s#process [0-9]+#process …#' >"$lines"

awk -F '\t' '
    function esc(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
    { at[NR] = $1 / 1000; sub(/^[^\t]*\t/, ""); text[NR] = $0 }
    END {
        end = at[NR] + 6
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"%d\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"12\">\n", NR * 17 + 40
        print "<title>tx demo: a recording of a real run</title>"
        print "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#1d2021\"/>"
        print "<text x=\"14\" y=\"22\" fill=\"#b8bb26\" xml:space=\"preserve\">$ tx demo</text>"
        for (i = 1; i <= NR; i++) {
            colour = "#ebdbb2"
            if (text[i] ~ /ask-human|ask-response/) colour = "#d3869b"
            else if (text[i] ~ / complete  /) colour = "#b8bb26"
            else if (text[i] ~ /changes-requested|failed/) colour = "#fb4934"
            else if (text[i] ~ /^(dev-review|council|plan-build-check|ensemble-review|split-work):/) colour = "#fabd2f"
            printf "<text x=\"14\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s", i * 17 + 26, colour, esc(text[i])
            # Hidden until its moment, in a loop; without animation all of it is there.
            printf "<animate attributeName=\"opacity\" dur=\"%.2fs\" repeatCount=\"indefinite\" calcMode=\"discrete\" keyTimes=\"0;%.4f\" values=\"0;1\"/></text>\n", end, at[i] / end
        }
        print "</svg>"
    }' "$lines" >docs/demo.svg
say "drawn: docs/demo.svg, $(wc -l <"$lines") lines"
