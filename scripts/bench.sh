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
    # A bar for each ratio, with a mark for the floor and one for the limit.
    awk -F '\t' '
        function esc(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
        function mark(at, y, colour) {
            printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/>\n", 10 + at * scale, y - 9, 10 + at * scale, y + 7, colour
        }
        $2 + 0 > 0 {
            what[++n] = $1; ratio[n] = $2; most[n] = $3 + 0; times[n] = $4
            if ($2 > top) top = $2
            if (most[n] > top) top = most[n]
        }
        END {
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", n * 36 + 34
            print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
            print "<text x=\"10\" y=\"16\" fill=\"#555\">tx / its floor. <tspan fill=\"#c33\">red: the floor, 1</tspan>; <tspan fill=\"#888\">grey: the limit</tspan></text>"
            scale = 700 / top
            for (i = 1; i <= n; i++) {
                y = i * 36 + 18
                printf "<text x=\"10\" y=\"%d\" fill=\"#333\">%s</text>\n", y - 12, esc(what[i])
                printf "<rect x=\"10\" y=\"%d\" width=\"%.1f\" height=\"10\" fill=\"#4a90d9\"/>\n", y - 6, ratio[i] * scale
                mark(1, y, "#c33")
                if (most[i]) mark(most[i], y, "#888")
                end = ratio[i] > most[i] ? ratio[i] : most[i]
                printf "<text x=\"%.1f\" y=\"%d\" fill=\"#333\">%s  (%s)</text>\n", 18 + end * scale, y + 3, ratio[i], esc(times[i])
            }
            print "</svg>"
        }' "$table" >docs/figures.svg
    say "drawn: docs/figures.svg"
fi
