#!/usr/bin/env bash
# Every figure of docs/performance.md, each beside its floor, in one table; and what other
# orchestrators do in the same place, in the same run: chokidar with better-sqlite3, and a tmux
# process for each call. Takes some ten minutes. `--draw` writes docs/figures.svg too.
source "$(dirname "$0")/setup.sh"

table=$(mktemp -d)/table.tsv
row() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$table"; }

for bench in format journal engine daemon; do
    say "cargo bench --bench $bench"
    # A limit that is not kept is a row like the others.
    cargo bench --locked --bench "$bench" 2>&1 | tee "$table.$bench" || true
    sed -nE 's/^ratio +([0-9.]+) of at most ([^ ]+) +(.*) \(([^()]*)\)$/\3\t\1\t\2\t\4/p' \
        "$table.$bench" >>"$table"
done

say "peers"
if command -v npm >/dev/null; then
    peers=$(mktemp -d)
    cp benches/peers/* "$peers"
    if (cd "$peers" && npm install --silent --no-fund --no-audit >/dev/null 2>&1); then
        said=$(cd "$peers" && node consumer.js 1000)
        field() { node -p "Number(JSON.parse(process.argv[1]).$1).toFixed(1)" "$said"; }
        row "peer: close of a file to its row, chokidar (stable for 100 ms) + better-sqlite3, p50" - - "$(field p50_ms) ms"
        row "peer: 1,000 files at once until all are rows, the same" - - "$(field burst_ms) ms"
    else
        say "SKIPPED: chokidar and better-sqlite3 cannot be installed"
    fi
    rm -r "$peers"
else
    say "SKIPPED: chokidar and better-sqlite3 need npm"
fi
socket=$(mktemp -u)
tmux -S "$socket" -f /dev/null new-session -d cat
began=$(date +%s%N)
for _ in $(seq 100); do
    tmux -S "$socket" set-buffer x \; paste-buffer
done
row "peer: one paste by a tmux process of its own, mean of 100" - - \
    "$(awk "BEGIN { printf \"%.1f ms\", ($(date +%s%N) - $began) / 1e8 }")"
tmux -S "$socket" kill-server

say "figures"
{
    echo "| what | ratio | at most | ours / floor |"
    echo "|---|---|---|---|"
    awk -F '\t' '{ printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }' "$table"
} | tee "$table.md"

if [ "${1:-}" = --draw ]; then
    # A bar for each ratio; the line is the floor.
    awk -F '\t' '
        function esc(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
        $2 + 0 > 0 { what[++n] = $1; ratio[n] = $2; most[n] = $3; if ($2 > top) top = $2 }
        END {
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", n * 34 + 30
            print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
            scale = 520 / (top > 1 ? top : 1)
            for (i = 1; i <= n; i++) {
                y = i * 34
                printf "<text x=\"10\" y=\"%d\" fill=\"#333\">%s</text>\n", y - 10, esc(what[i])
                printf "<rect x=\"10\" y=\"%d\" width=\"%.1f\" height=\"10\" fill=\"#4a90d9\"/>\n", y - 6, ratio[i] * scale
                printf "<text x=\"%.1f\" y=\"%d\" fill=\"#333\">%s</text>\n", 16 + ratio[i] * scale, y + 3, ratio[i]
            }
            printf "<line x1=\"%.1f\" y1=\"14\" x2=\"%.1f\" y2=\"%d\" stroke=\"#c33\" stroke-dasharray=\"3\"/>\n", 10 + scale, 10 + scale, n * 34 + 12
            printf "<text x=\"%.1f\" y=\"12\" fill=\"#c33\">1 = the floor</text>\n</svg>\n", 12 + scale
        }' "$table" >docs/figures.svg
    say "drawn: docs/figures.svg"
fi
