#!/usr/bin/env python3
"""Breaks the engine in many ways, one at a time, and says what no test notices.

All changes are built into one program, in a scratch copy. TX_MUTANT selects one of them when it runs.

    mutants.py engine LIST    what `cargo mutants --list --json` names; LIST is its output
    mutants.py rules [NAME…]  the patches of tests/rules/, or those whose names begin so

Each change is tried with the tests that reach it, those that reach the least first, until one fails.
Needs tree-sitter and tree-sitter-rust (PyPI). The copy and its results are kept in the folder that
TX_MUTANTS names (default: target/mutants), so that a run goes on where the last one stopped, if
nothing has changed since.
"""

import bisect
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import tree_sitter
import tree_sitter_rust

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(os.environ.get("TX_MUTANTS", ROOT / "target/mutants"))
COPY = WORK / "copy"
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))

# What is compiled in. `is` also records which test reaches which change.
SWITCH = r"""
#![allow(missing_docs, unreachable_pub)]
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const COVER: u32 = u32::MAX;
static ACTIVE: LazyLock<u32> = LazyLock::new(|| match std::env::var("TX_MUTANT") {
    Ok(value) if value == "cover" => COVER,
    Ok(value) => value.parse().unwrap(),
    Err(_) => 0,
});

struct Reached(BTreeSet<u32>);
impl Drop for Reached {
    fn drop(&mut self) {
        let (Ok(folder), Some(name)) = (std::env::var("TX_MUTANT_COVER"), std::thread::current().name().map(str::to_owned)) else { return };
        let text: Vec<String> = self.0.iter().map(u32::to_string).collect();
        std::fs::write(format!("{folder}/{name}"), text.join("\n")).unwrap();
    }
}
thread_local!(static REACHED: RefCell<Reached> = const { RefCell::new(Reached(BTreeSet::new())) });

#[inline]
pub fn is(number: u32) -> bool {
    let active = *ACTIVE;
    if active == COVER {
        let _ = REACHED.try_with(|reached| reached.borrow_mut().0.insert(number));
    }
    active == number
}

pub enum Either<A, B> {
    This(A),
    That(B),
}
impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for Either<A, B> {
    type Item = A::Item;
    fn next(&mut self) -> Option<A::Item> {
        match self {
            Either::This(this) => this.next(),
            Either::That(that) => that.next(),
        }
    }
}
impl<A: DoubleEndedIterator, B: DoubleEndedIterator<Item = A::Item>> DoubleEndedIterator for Either<A, B> {
    fn next_back(&mut self) -> Option<A::Item> {
        match self {
            Either::This(this) => this.next_back(),
            Either::That(that) => that.next_back(),
        }
    }
}
"""


class Change:
    def __init__(self, number, name, file, genre="", replacement="", at=0, body=None):
        self.number, self.name, self.file = number, name, file
        self.genre, self.replacement, self.at, self.body = genre, replacement, at, body
        self.used = False


def on(change):
    change.used = True
    return f"crate::mutant::is({change.number})"


def offset(text, starts, place):
    """The byte of a line and column (of characters) of cargo-mutants."""
    start = starts[place["line"] - 1]
    line = text[start:].split(b"\n", 1)[0].decode()
    return start + len(line[: place["column"] - 1].encode())


def descend(node):
    yield node
    for child in node.children:
        yield from descend(child)


class File:
    """Writes one file again with its changes in it."""

    def __init__(self, text, changes):
        self.text = text
        self.tree = PARSER.parse(text)
        self.at = {}
        for change in changes:
            self.at.setdefault((change.genre, change.at), []).append(change)

    def take(self, genre, at):
        return self.at.get((genre, at), [])

    def rewritten(self):
        return self.node(self.tree.root_node)

    def plain(self, node, but=()):
        """A node with its children rewritten; `but` replaces some of them, by id."""
        out, last = [], node.start_byte
        but = dict(but)
        for child in node.children:
            out.append(self.text[last : child.start_byte].decode())
            out.append(but[child.id] if child.id in but else self.node(child))
            last = child.end_byte
        out.append(self.text[last : node.end_byte].decode())
        return "".join(out)

    def node(self, node):
        write = getattr(self, node.type, None)
        return write(node) if write and node.is_named else self.plain(node)

    def function_item(self, node):
        body = node.child_by_field_name("body")
        bodies = self.take("body", node.start_byte)
        for change in self.take("head", node.start_byte):
            return change.body + self.node(body)
        values = [c for c in self.values if body.start_byte <= c.at < body.end_byte] if self.values else []
        values = [c for c in values if self.innermost(c.at).id == node.id]
        if not bodies and not values:
            return self.plain(node)
        block = self.node(body)
        returned = node.child_by_field_name("return_type")
        returned = self.text[returned.start_byte : returned.end_byte].decode() if returned else "()"
        if returned.startswith("impl") and "Iterator" in returned:
            for change in values:
                item = re.fullmatch(r"::std::iter::(empty\(\)|once\((.*)\))", change.replacement, re.S)
                if item:
                    once = item[2] or ""
                    if "&mut" not in returned:
                        once = once.replace("Box::leak", "&*Box::leak")
                    block = self.iterators(change, f"vec![{once}].into_iter()", block)
            for change in bodies:
                block = self.iterators(change, change.body, block)
        else:
            early = "".join(f"\nif {on(c)} {{ return {c.replacement}; }}\n" for c in values)
            block = "{" + early + block[1:]
            for change in bodies:
                block = f"{{ if {on(change)} {change.body} else {block} }}"
        return self.plain(node, {body.id: block}.items())

    def iterators(self, change, this, that):
        either = "crate::mutant::Either"
        return f"{{ if {on(change)} {{ {either}::This({this}) }} else {{ {either}::That({that}) }} }}"

    @property
    def values(self):
        return [c for (genre, _), cs in self.at.items() if genre == "FnValue" for c in cs]

    def innermost(self, at):
        node = self.tree.root_node.descendant_for_byte_range(at, at + 1)
        while node.type != "function_item" or node.start_byte == at:
            node = node.parent
        return node

    def binary_expression(self, node):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        token = node.child_by_field_name("operator")
        changes = self.take("BinaryOperator", token.start_byte)
        if not changes:
            return self.plain(node)
        l, r = self.node(left), self.node(right)
        op = self.text[token.start_byte : token.end_byte].decode()
        if op in ("&&", "||") and len(changes) == 1:
            [change] = changes
            if change.replacement in ("&&", "||"):
                same, no = ("!=", "") if op == "&&" else ("==", "!")
                m = on(change)
                return f"(if ({l}) {same} {m} {{ {r} }} else {{ {no}{m} }})"
        if op in ("==", "!=") and len(changes) == 1:
            return f"({on(changes[0])} ^ ({l} {op} {r}))"
        return self.either(l, op, r, changes)

    def either(self, l, op, r, changes):
        out = f"{{ {l} {op} {r} }}"
        for change in changes:
            out = f"{{ if {on(change)} {{ {l} {change.replacement} {r} }} else {out} }}"
        return f"({out})"

    def compound_assignment_expr(self, node):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        token = node.child_by_field_name("operator")
        changes = self.take("BinaryOperator", token.start_byte)
        if not changes:
            return self.plain(node)
        op = self.text[token.start_byte : token.end_byte].decode()
        return self.either(self.node(left), op, self.node(right), changes)

    def unary_expression(self, node):
        changes = self.take("UnaryOperator", node.start_byte)
        if not changes:
            return self.plain(node)
        [change] = changes
        if self.text[node.start_byte : node.start_byte + 1] == b"!":
            return f"({on(change)} ^ ({self.plain(node)}))"
        operand = self.node(node.children[1])
        return f"(if {on(change)} {{ {operand} }} else {{ {self.plain(node)} }})"

    def match_arm(self, node):
        gone = self.take("MatchArm", node.start_byte)
        pattern = node.child_by_field_name("pattern")
        guard = pattern.child_by_field_name("condition")
        guards = self.take("MatchArmGuard", guard.start_byte) if guard else []
        if guard and guard.type in ("let_chain", "let_condition") or not gone and not guards:
            return self.plain(node)
        condition = self.node(guard) if guard else "true"
        for change in guards:
            if change.replacement == "true":
                condition = f"({on(change)} || ({condition}))"
            else:
                condition = f"(!{on(change)} && ({condition}))"
        for change in gone:
            condition = f"(!{on(change)} && ({condition}))"
        if guard:
            new = self.plain(pattern, {guard.id: condition}.items())
        else:
            new = f"{self.plain(pattern)} if {condition}"
        return self.plain(node, {pattern.id: new}.items())

    def field(self, node):
        changes = self.take("StructField", node.start_byte)
        base = [c for c in node.parent.children if c.type == "base_field_initializer"]
        if not changes or not base:
            return self.plain(node)
        [change] = changes
        rest = self.text[base[0].start_byte + 2 : base[0].end_byte].decode()
        kind = node.parent.parent.child_by_field_name("name")
        kind = self.text[kind.start_byte : kind.end_byte].decode()
        if rest == "Default::default()":
            rest = f"<{kind} as Default>::default()"
        if node.type == "shorthand_field_initializer":
            name = value = self.text[node.start_byte : node.end_byte].decode()
        else:
            name = node.child_by_field_name("field")
            name = self.text[name.start_byte : name.end_byte].decode()
            value = self.node(node.child_by_field_name("value"))
        return f"{name}: if {on(change)} {{ ({rest}).{name} }} else {{ {value} }}"

    field_initializer = shorthand_field_initializer = field


def functions(text):
    """Every function of a file: where it stands, its head, its body, and where it begins."""
    found, counts = {}, {}
    for node in descend(PARSER.parse(text).root_node):
        body = node.child_by_field_name("body") if node.type == "function_item" else None
        if body is None:
            continue
        key, up = [], node
        while up:
            name = up.child_by_field_name("type" if up.type == "impl_item" else "name")
            if up.type in ("impl_item", "function_item", "mod_item", "trait_item"):
                key.append(text[name.start_byte : name.end_byte].decode())
            up = up.parent
        counts[tuple(key)] = counts.get(tuple(key), 0) + 1
        found[tuple(key) + (counts[tuple(key)],)] = (
            text[node.start_byte : body.start_byte],
            text[body.start_byte : body.end_byte],
            node.start_byte,
        )
    return found


def rules(wanted):
    """The patches, as changed bodies of functions; and those that change something else."""
    changes, alone = [], []
    scratch = WORK / "patched"
    for number, patch in enumerate(sorted(ROOT.glob("tests/rules/*.patch"), key=order), 1):
        if wanted and not any(patch.stem.startswith(want) for want in wanted):
            continue
        shutil.rmtree(scratch, ignore_errors=True)
        files = re.findall(r"^--- a/(\S+)", patch.read_text(), re.M)
        for file in files:
            (scratch / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, scratch / file)
        done = subprocess.run(
            ["patch", "--quiet", "--strip=1", "--fuzz=1", "--input", patch], cwd=scratch, capture_output=True, text=True
        )
        if done.returncode:
            alone.append((patch.stem, "it does not apply"))
            continue
        of_this = []
        for file in files:
            old, new = (ROOT / file).read_bytes(), (scratch / file).read_bytes()
            before, after = functions(old), functions(new)
            rest_old, rest_new = old, new
            for key, (head, body, start) in before.items():
                changed = after.get(key)
                if changed is None:
                    continue
                rest_old, rest_new = rest_old.replace(body, b"", 1), rest_new.replace(changed[1], b"", 1)
                if changed[1] != body:
                    of_this.append(Change(number, patch.stem, file, "body", at=start, body=changed[1].decode()))
                if changed[0] != head:
                    # Who else may call it changes nothing by itself.
                    of_this.append(Change(0, patch.stem, file, "head", at=start, body=changed[0].decode()))
                    seen = re.compile(rb"^pub(\(\w+\))? ")
                    if seen.sub(b"", changed[0]) != seen.sub(b"", head):
                        rest_new = None
                        break
                    rest_old, rest_new = rest_old.replace(head, b"", 1), rest_new.replace(changed[0], b"", 1)
            imports = re.compile(rb"^\s*use [^;]*;", re.M)
            if rest_new is None or imports.sub(b"", rest_old) != imports.sub(b"", rest_new):
                of_this = []
                break
        if of_this:
            changes += of_this
        else:
            alone.append((patch.stem, "it changes more than bodies of functions"))
    return changes, alone


def order(patch):
    return (int(re.match(r"\d+", patch.stem)[0]), patch.stem)


def engine(listed):
    changes = []
    cache = {}
    for number, mutant in enumerate(json.load(open(listed)), 1):
        file = mutant["file"]
        if file not in cache:
            text = (ROOT / file).read_bytes()
            starts = [0]
            for line in text.split(b"\n"):
                starts.append(starts[-1] + len(line) + 1)
            cache[file] = text, starts
        at = offset(*cache[file], mutant["span"]["start"])
        changes.append(Change(number, mutant["name"], file, mutant["genre"], mutant["replacement"], at))
    return changes


def sources():
    tracked = ["Cargo.toml", "Cargo.lock", "src", "benches", "docs", "examples", "fuzz", "meshes", "tests", "scripts"]
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *tracked],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout.split("\0")
    return sorted(name for name in names if name and (ROOT / name).exists())


def forget_older(arguments):
    """Results of other sources count for nothing."""
    stamp = hashlib.sha256(repr(arguments[:1]).encode())
    for name in sources():
        if not name.startswith("docs/"):
            stamp.update(name.encode() + (ROOT / name).read_bytes())
    known = WORK / "stamp"
    if not known.exists() or known.read_text() != stamp.hexdigest():
        for results in WORK.glob("*.tsv"):
            results.unlink()
        known.write_text(stamp.hexdigest())


def generate(changes):
    """The copy, with all changes in it."""
    COPY.mkdir(parents=True, exist_ok=True)
    by_file = {}
    for change in changes:
        change.used = False
        by_file.setdefault(change.file, []).append(change)
    for name in sources():
        content = (ROOT / name).read_bytes()
        if name in by_file:
            content = File(content, by_file[name]).rewritten().encode()
        if name == "src/lib.rs":
            lints = b"#![allow(arithmetic_overflow, unconditional_panic, warnings)]\n"
            content = lints + content + b"#[doc(hidden)]\npub mod mutant;\n"
        if name == "Cargo.toml":
            level = os.environ.get("TX_MUTANTS_OPT", "1").encode()
            content += b"\n[profile.dev.package.tx]\nopt-level = " + level + b"\n"
        write(COPY / name, content)
    write(COPY / "src/mutant.rs", SWITCH.encode())


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def cargo(*arguments):
    done = subprocess.run(
        ["cargo", *arguments, "--message-format=json"], cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done, messages


def build(changes):
    """Builds the tests; leaves out what does not compile. Returns the program and what was left out."""
    left_out = WORK / "unviable.tsv"
    unviable = []
    if left_out.exists():
        known = dict(line.rstrip("\n").split("\t") for line in left_out.open())
        unviable = [(c, known[c.name]) for c in changes if c.name in known]
        changes = [c for c in changes if c.name not in known]
    while True:
        generate(changes)
        path, done, messages = program("--lib")
        if path:
            return path, changes, unviable
        arms = {c.number for c in changes if c.genre == "MatchArm"}
        bad = {}
        for message in messages:
            error = message.get("message")
            if message["reason"] != "compiler-message" or error["level"] != "error" or not error["spans"]:
                continue
            for span in sorted(error["spans"], key=lambda span: not span["is_primary"])[:1]:
                text = (COPY / span["file_name"]).read_text().encode()
                marks = [(m.start(), int(m[1])) for m in re.finditer(rb"crate::mutant::is\((\d+)\)", text)]
                place = bisect.bisect_right(marks, (span["byte_start"], 1 << 40)) - 1
                if (error["code"] or {}).get("code") == "E0004":
                    # An arm without which a match is incomplete stands after the place of the error.
                    place = next(i for i in range(place + 1, len(marks)) if marks[i][1] in arms)
                if place >= 0:
                    bad.setdefault(marks[place][1], error["message"])
        if not bad:
            sys.exit(done.stderr[-4000:] + json.dumps(messages[-3:])[:4000])
        print(f"{len(bad)} changes do not compile", flush=True)
        unviable += [(c, bad[c.number]) for c in changes if c.number in bad]
        changes = [c for c in changes if c.number not in bad]
        left_out.write_text("".join(f"{c.name}\t{why.replace(chr(10), ' ')}\n" for c, why in unviable))


def simulation():
    path, done, messages = program("--test", "sim")
    if not path:
        errors = [m["message"]["rendered"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
        sys.exit("\n".join(errors) + done.stderr[-4000:])
    return path


def program(*which):
    """The path of a test program of the copy, if it compiles."""
    done, messages = cargo("test", "--locked", "--no-run", *which)
    if done.returncode:
        return None, done, messages
    artifacts = [m for m in messages if m["reason"] == "compiler-artifact" and m["profile"]["test"]]
    [path] = [m["executable"] for m in artifacts if m["executable"]]
    return path, done, messages


def run(program, number, tests, seconds, **variables):
    """The first test that fails with a change, `timeout`, or nothing. The seconds are of the
    processor, so that a busy machine ends nothing that works."""
    variables |= {"TX_MUTANT": str(number), "RUSTC_BOOTSTRAP": "1", "RUST_BACKTRACE": "0"}
    environment = os.environ | variables
    limits = f'ulimit -v 3000000 -t {seconds}; exec "$0" "$@"'
    command = ["timeout", "--kill-after=1", str(60 + 20 * seconds), "bash", "-c", limits, program]
    command += ["-Zunstable-options", "--fail-fast", "--test-threads=1", "--exact", *tests]
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode in (124, -signal.SIGXCPU, 128 + signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGKILL):
        return "timeout"
    if done.returncode == 0:
        return None
    failed = re.findall(r"^test (\S+) \.\.\. FAILED$", done.stdout, re.M)
    return failed[0] if failed else f"exit {done.returncode}"


def cover(program, which):
    """Which tests reach which change, and how long each test takes."""
    folder = WORK / "cover"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = os.environ | {"TX_MUTANT": "cover", "TX_MUTANT_COVER": str(folder), "RUSTC_BOOTSTRAP": "1"}
    command = [program, "-Zunstable-options", "--report-time", "--test-threads=2", *which]
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the tests fail without a change:\n{done.stdout[-3000:]}")
    times = {m[1]: float(m[2]) for m in re.finditer(r"^test (\S+) \.\.\. ok <([\d.]+)s>", done.stdout, re.M)}
    reached = {}
    for test in times:
        path = folder / test
        if path.exists():
            reached[test] = {int(line) for line in path.read_text().split()}
    return times, reached


def tried(program, number, covering, times):
    if not covering:
        return "unreached"
    quick = [test for test in covering[6:] if times[test] <= 1]
    slow = [test for test in covering[6:] if times[test] > 1]
    for tests in (covering[:6], quick, slow):
        if tests:
            by = run(program, number, tests, math.ceil(2 + 3 * sum(times[test] for test in tests)))
            if by:
                return by
    return "survived"


def try_all(program, numbers, which, named, results):
    """Tries each change; `named` tests come first. Results are written as they come."""
    times, reached = cover(program, which)
    print(f"{len(times)} tests take {sum(times.values()):.1f} s", flush=True)
    width = {test: len(numbers_) for test, numbers_ in reached.items()}
    by_change = {}
    for test, those in reached.items():
        for number in those:
            by_change.setdefault(number, []).append(test)
    known = read(results)
    todo = [number for number in numbers if number not in known]

    def one(number):
        covering = sorted(by_change.get(number, []), key=lambda t: (t != named.get(number), times[t] > 1, width[t]))
        return number, tried(program, number, covering, times), len(covering)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("TX_MUTANTS_JOBS", str(os.cpu_count())))) as pool, results.open("a") as out:
        for number, by, count in pool.map(one, todo):
            known[number] = by
            out.write(f"{number}\t{by}\t{count}\n")
            out.flush()
    return known


def lives(program, numbers, tests, seeds, results):
    """Tries changes with lives of the simulation."""
    known = read(results)
    with results.open("a") as out:
        for number in numbers:
            if number not in known:
                by = run(program, number, tests, 900, TX_SIM_SEEDS=str(seeds))
                known[number] = f"{seeds} lives: {by}" if by else "survived"
                out.write(f"{number}\t{known[number]}\n")
                out.flush()
    return known


def read(results):
    if not results.exists():
        return {}
    return {int(line.split("\t")[0]): line.rstrip("\n").split("\t")[1] for line in results.open()}


MISSED = ("survived", "unreached")
TYPING = ["typing::nothing_is_typed_where_it_does_not_belong"]
PROMISES = [
    "run::promises_hold_over_many_seeds",
    "run::promises_hold_with_blocks_and_pools",
    "machines::machines_keep_their_promises",
]


def try_rules(program_, names, named):
    """The test that each patch names, others of the engine and the panes, and lives."""
    typing = [number for number in names if named[number].startswith("typing::")]
    known = try_all(program_, [n for n in names if n not in typing], ["engine::", "pane::"], named, WORK / "results.tsv")
    missed = [number for number, by in known.items() if by in MISSED]
    if typing or missed:
        sim = simulation()
        known |= lives(sim, typing, TYPING, 1000, WORK / "typing.tsv")
        known |= lives(sim, missed, PROMISES, 40, WORK / "lives.tsv")
    print("| patch | caught by |\n|---|---|")
    for number, name in names.items():
        by = known[number]
        print(f"| {name} | {'NOTHING' if by in MISSED else by} |")
    return sum(known[number] in MISSED for number in names)


def try_engine(program_, names):
    """The tests of the engine, all of the library, and lives."""
    known = try_all(program_, list(names), ["engine::"], {}, WORK / "results.tsv")
    missed = [number for number in names if known[number] in MISSED]
    known |= try_all(program_, missed, ["--skip", "engine::"], {}, WORK / "library.tsv")
    missed = [number for number in names if known[number] in MISSED]
    if missed:
        known |= lives(simulation(), missed, PROMISES, 20, WORK / "lives.tsv")
    counts = {}
    for number, name in names.items():
        by = known[number]
        kind = by if by in MISSED + ("timeout",) else by.split(":")[0].replace("engine", "caught")
        counts[kind] = counts.get(kind, 0) + 1
        if by in MISSED:
            print(f"{by}\t{name}")
    print(counts)
    return 0


def main():
    began = time.time()
    WORK.mkdir(parents=True, exist_ok=True)
    what, *arguments = sys.argv[1:]
    os.environ.setdefault("CARGO_TARGET_DIR", str(WORK / "target"))
    forget_older(sys.argv[1:])
    failed = 0
    if what == "rules":
        changes, alone = rules(arguments)
        for name, why in alone:
            print(f"| {name} | NOTHING: {why} |")
        failed += len(alone)
    else:
        changes = engine(arguments[0])
    program_, changes, unviable = build(changes)
    names = {c.number: c.name for c in changes if c.used}
    unused = [c.name for c in changes if not c.used and c.number]
    print(f"{len(names)} changes, {len(unviable)} more do not compile, {len(unused)} cannot be expressed", flush=True)
    if what == "rules":
        for change, why in unviable:
            print(f"| {change.name} | NOTHING: it does not compile: {why} |")
        named = {}
        for number, name in names.items():
            line = (ROOT / f"tests/rules/{name}.patch").read_text().splitlines()[1]
            named[number] = line.removeprefix("Caught by: ")
        failed += len(unviable) + try_rules(program_, names, named)
    else:
        try_engine(program_, names)
    print(f"{time.time() - began:.0f} s")
    if failed:
        sys.exit(f"{failed} broken rules were not noticed")


if __name__ == "__main__":
    main()
