#!/usr/bin/env python3
"""Scripted model endpoint on 127.0.0.1 for real coding-agent CLIs (stdlib only).

Speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini
generateContent, streaming (SSE) or not.  It is STATELESS: what to do is written
in the prompt itself, as a line of the form  @@verb argument :

  @@say TEXT          answer TEXT
  @@lines TEXT        the same, \\n in TEXT is a new line
  @@call TOOL JSON    call any tool that the client has, with these arguments
  @@write PATH TEXT   call the client's file-writing tool (\\n in TEXT is a new line)
  @@shell COMMAND     call the client's shell tool
  @@escalate COMMAND  the same, asking to leave the sandbox (Codex)
  @@ask QUESTION      call the client's question tool, where it has one
  @@slow SECONDS      stream an answer that takes that long (busy state)
  @@think SECONDS     wait that long before the first token (busy state)
  @@limit SECONDS     answer as a spent usage quota that resets then (429, vendor's own form)
  @@status CODE       answer with that HTTP status (429, 500, 529, 401 ...)
                      (@@limit and @@status are passed over while there is a file `room` beside LOG)

A line of tx that names a file (`tx: a task from core, "...": read /path/x.md and do it.`)
and no @@ line: the file is read first, with the client's own tool, and the @@ line in it
is the script.

Several steps of one turn stand on one line, separated by " ;; "; the step is the
number of assistant messages after the prompt.  After the last it answers "DONE".
Only the LAST @@ line counts: clients merge a failed prompt with the next one.
Each request is logged to LOG as one JSON line (path, user texts, tool names).
The next answer to codex that is a text has used as many tokens as a file `tokens` beside LOG says: so codex compacts.
Every answer to gemini has used as many: it gives up a compression that makes a conversation longer than that.
Every answer waits for the seconds in a file `slow` beside LOG, if there is one: for what no prompt scripts (/compact).
Then it waits for as long as there is a file `hold` beside LOG, and makes a file `held`: so a test kills a client in the
middle of its turn.
Usage: fake_model.py PORT LOG
"""
import json, os, re, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, LOG = int(sys.argv[1]), sys.argv[2]
LOCK = threading.Lock()
VERB = re.compile(r"^[\s\"]*@@(say|lines|call|write|shell|escalate|ask|slow|think|status|limit)\s+(.*?)\"?$", re.M)  # "opencode run" quotes its message


TX = re.compile(r"(?:^|[\s>\x22])tx: .*?\bread (/\S+)", re.M)


# ---- read a request of any dialect as [(role, text)], with tool results as role "tool" ----
def text_of(c):
    if isinstance(c, str):
        return c
    return "\n".join(p.get("text", "") for p in c or []
                     if isinstance(p, dict) and isinstance(p.get("text"), str))

def turns(kind, b):
    out = []
    if kind == "gemini":
        for m in b.get("contents", []):
            calls = any("functionCall" in p for p in m.get("parts", []))
            t = text_of(m.get("parts"))
            said = [p["functionResponse"].get("response") or {} for p in m.get("parts", []) if "functionResponse" in p]
            out += [("tool", r["output"] if isinstance(r.get("output"), str) else json.dumps(r)) for r in said]
            if m.get("role") == "model" or t:
                out.append(("assistant" if m.get("role") == "model" else "user", t or ("<call>" if calls else "")))
    elif kind == "responses":
        items = b.get("input", [])
        for m in [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else items:
            ty = m.get("type", "message")
            if ty == "message":
                out.append((m.get("role"), text_of(m.get("content"))))
            elif ty.endswith("_call"):
                out.append(("assistant", "<call>"))
            elif ty.endswith("_output"):
                out.append(("tool", m["output"] if isinstance(m.get("output"), str) else text_of(m.get("output"))))
    else:                                             # anthropic and chat
        for m in b.get("messages", []):
            t = text_of(m.get("content"))
            if m["role"] == "tool":
                out.append(("tool", t))
            elif isinstance(m.get("content"), list):
                out += [("tool", text_of(p.get("content"))) for p in m["content"] if p.get("type") == "tool_result"]
            if m["role"] == "assistant":
                out.append(("assistant", t or "<call>"))
            elif m["role"] == "user" and t:
                out.append(("user", t))
    return out

def system(b):
    own = [m.get("content") for m in b.get("messages") or [] if m.get("role") in ("system", "developer")]
    parts = [b.get("system"), b.get("instructions"), (b.get("systemInstruction") or {}).get("parts")] + own
    return "\n".join(text_of(part) for part in parts)

def tools(kind, b):
    out = {}
    for t in b.get("tools") or []:
        if kind == "gemini":
            for f in t.get("functionDeclarations", []):
                out[f["name"]] = f.get("parametersJsonSchema") or f.get("parameters") or {}
        elif kind == "chat":
            out[t["function"]["name"]] = t["function"].get("parameters") or {}
        else:
            out[t.get("name") or t.get("type")] = t.get("input_schema") or t.get("parameters") or {"_type": t.get("type")}
    return out


# ---- decide: ("text", s) | ("call", name, args) | ("custom", name, input) | ("slow", n) | ("status", n) ----
def pick(have, *names):
    return next((n for n in names if n in have), None)

def props(schema):
    return schema.get("properties") or {}

NUMBER = re.compile(r"^ *\d+(?:→|\t|[|:] ?)", re.M)   # readers number the lines

def read(have, path):
    name = pick(have, "Read", "read_file", "read")
    if name:
        key = pick(props(have[name]), "file_path", "filePath", "path", "absolute_path") or "file_path"
        return ("call", name, {key: path})
    return shell(have, "cat '%s'" % path) or ("text", "no tool to read; have %s" % sorted(have))

def shell(have, command):
    name = pick(have, "Bash", "run_shell_command", "bash", "shell_command", "exec_command", "shell")
    if name is None:
        return None
    p = props(have[name])
    if "cmd" in p: a = {"cmd": command}
    elif name == "shell": a = {"command": ["bash", "-lc", command]}
    else: a = {"command": command}
    if "description" in p: a["description"] = "scripted command"
    return ("call", name, a)

def decide(kind, b):
    ts, have = turns(kind, b), tools(kind, b)
    at = max((i for i, (r, t) in enumerate(ts) if r == "user" and (VERB.search(t) or TX.search(t))), default=None)
    if not have and kind != "chat":                   # titles, summaries, probes
        return ("text", "probe session")
    if at is None:
        return ("text", "OK, ready. I have seen %d user texts." % sum(r == "user" for r, _ in ts))
    script, n = ts[at][1], sum(1 for r, _ in ts[at + 1:] if r == "assistant")
    if not VERB.search(script):
        path = TX.findall(script)[-1]
        results = [t for r, t in ts[at + 1:] if r == "tool"]
        if not results:
            return read(have, path)
        script, n = NUMBER.sub("", results[0]), n - 1
        if not VERB.search(script):
            return ("text", "There is no @@ line in %s." % path)
    line = [m.group(0) for m in VERB.finditer(script)][-1]
    steps = [VERB.match(s).groups() for s in line.strip().split(" ;; ")]
    if os.path.exists(os.path.join(os.path.dirname(LOG) or ".", "room")):
        steps = [s for s in steps if s[0] not in ("limit", "status")]
    if n >= len(steps):
        return ("text", "DONE. I have seen %d user texts." % sum(r == "user" and bool(VERB.search(t)) for r, t in ts))
    verb, arg = steps[n]
    if verb == "say":
        return ("text", arg)
    if verb == "lines":
        return ("text", arg.replace("\\n", "\n"))
    if verb == "call":
        name, _, args = arg.partition(" ")
        return ("call", name, json.loads(args)) if name in have else ("text", "no tool %s; have %s" % (name, sorted(have)))
    if verb in ("slow", "think", "status", "limit"):
        return (verb, float(arg))
    if verb == "ask":
        opts = [{"label": "Red", "description": "the red one"}, {"label": "Blue", "description": "the blue one"}]
        name = pick(have, "AskUserQuestion", "ask_user", "question", "request_user_input")
        q = {"question": arg, "header": "Choice", "options": opts, "multiSelect": False}
        if name == "question": q = {"question": arg, "header": "Choice", "options": opts}
        if name == "ask_user": q["type"] = "choice"
        if name == "request_user_input": q = {"id": "q1", "header": "Choice", "question": arg, "options": opts}
        return ("call", name, {"questions": [q]}) if name else ("text", arg)
    if verb == "write":
        path, _, body = arg.partition(" ")
        body = (body or "hello from the scripted model").replace("\\n", "\n") + "\n"
        name = pick(have, "Write", "write_file", "write")
        if name:
            p = props(have[name])
            key = pick(p, "file_path", "filePath", "path") or "file_path"
            return ("call", name, {key: path, "content": body})
        if "apply_patch" in have:
            return ("custom", "apply_patch", "*** Begin Patch\n*** Add File: %s\n+%s*** End Patch" % (path, body))
        if kind == "chat" and not have:               # aider "whole" edit format
            return ("text", "Here it is.\n\n%s\n```\n%s```\n" % (path, body))
        arg = "mkdir -p $(dirname %s) && echo %r > %s" % (path, body.strip(), path)
    called = shell(have, arg)
    if called is None:
        return ("text", "no tool for %s; have %s" % (verb, sorted(have)))
    if verb == "escalate" and "sandbox_permissions" in props(have[called[1]]):
        called[2].update(sandbox_permissions="require_escalated", justification="scripted escalation")
    return called


class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass

    def send_json(self, obj, code=200, extra=()):
        d = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(d)))
        for k, v in extra: self.send_header(k, v)
        self.end_headers()
        self.wfile.write(d)

    def sse_open(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def sse(self, obj, event=None):
        s = ("event: %s\n" % event if event else "") + "data: %s\n\n" % (obj if isinstance(obj, str) else json.dumps(obj))
        self.wfile.write(s.encode()); self.wfile.flush()

    def do_HEAD(self): self.send_json({})
    def do_GET(self):
        with LOCK, open(LOG, "a") as f: f.write(json.dumps({"t": time.time(), "get": self.path}) + "\n")
        if "/models" in self.path:
            return self.send_json({"object": "list", "data": [{"id": "fake-model", "object": "model", "created": 1, "owned_by": "us"}]})
        self.send_json({"error": "no such page"}, 404)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        enc = self.headers.get("content-encoding", "")
        try: b = json.loads(raw)
        except Exception: b = {"_unparsed": len(raw), "_encoding": enc}
        p = self.path
        kind = ("anthropic" if "/messages" in p else "responses" if p.endswith("/responses") else
                "chat" if "/chat/completions" in p else "gemini" if "enerateContent" in p else None)
        if "count_tokens" in p or "countTokens" in p:
            return self.send_json({"input_tokens": 100, "totalTokens": 100})
        if kind is None:
            with LOCK, open(LOG, "a") as f: f.write(json.dumps({"t": time.time(), "post": p, "body": raw[:300].decode("latin1")}) + "\n")
            return self.send_json({"error": "no such page"}, 404)
        act = decide(kind, b)
        try: time.sleep(float(open(os.path.join(os.path.dirname(LOG) or ".", "slow")).read()))
        except (OSError, ValueError): pass
        beside = os.path.dirname(LOG) or "."
        sums_up = "summarize this partial conversation" in system(b)   # aider, before it asks what it was told
        while os.path.exists(os.path.join(beside, "hold")) and not sums_up:
            open(os.path.join(beside, "held"), "w").close()
            time.sleep(0.05)
        with LOCK, open(LOG, "a") as f:
            f.write(json.dumps({"t": time.time(), "post": p, "kind": kind, "model": b.get("model"), "stream": b.get("stream"),
                                "system": system(b)[-20000:],
                                "turns": [(r, t if len(t) <= 4000 else t[:2000] + " … " + t[-2000:]) for r, t in turns(kind, b)], "tools": sorted(tools(kind, b)), "act": act}) + "\n")
        if len(sys.argv) > 3:                         # keep the last full body for study
            open("%s/%s-%d.json" % (sys.argv[3], kind, time.time() * 1000), "w").write(json.dumps(b, indent=1))
        if act[0] == "status":
            c = int(act[1])
            ty = {429: "rate_limit_error", 401: "authentication_error", 529: "overloaded_error"}.get(c, "api_error")
            return self.send_json({"type": "error", "error": {"type": ty, "message": "scripted %d" % c, "code": ty, "status": "UNAUTHENTICATED" if c == 401 else "RESOURCE_EXHAUSTED"}}, c, [("retry-after", "1")])
        if act[0] == "limit":
            at, sec = int(time.time() + act[1]), int(act[1])
            if kind == "gemini":
                return self.send_json({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota", "details": [
                    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "%ds" % sec}]}}, 429)
            return self.send_json({"type": "error", "error": {"type": "rate_limit_error" if kind == "anthropic" else "usage_limit_reached", "message": "usage limit reached",
                                   "plan_type": "plus", "resets_at": at, "resets_in_seconds": sec}}, 429,
                                  [("anthropic-ratelimit-unified-status", "rejected"), ("anthropic-ratelimit-unified-reset", str(at)),
                                   ("anthropic-ratelimit-unified-representative-claim", "five_hour"), ("x-should-retry", "false")])
        stream = bool(b.get("stream")) or "streamGenerateContent" in p
        try: getattr(self, "api_" + kind)(b, act, stream)
        except (BrokenPipeError, ConnectionResetError): self.close_connection = True

    def pieces(self, act):                            # text in pieces, slow if so told
        if act[0] == "think":
            time.sleep(act[1]); yield "THINK-DONE"
        elif act[0] == "slow":
            n = int(act[1] * 4)
            for i in range(n):
                yield "tick %d " % i
                time.sleep(0.25)
            yield "SLOW-DONE"
        else:
            yield act[1]

    def api_anthropic(self, b, act, stream):
        msg = {"id": "msg_" + uuid.uuid4().hex[:20], "type": "message", "role": "assistant", "model": b.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
        call = act[0] == "call"
        stop = "tool_use" if call else "end_turn"
        tid = "toolu_" + uuid.uuid4().hex[:20]
        if not stream:
            msg["content"] = [{"type": "tool_use", "id": tid, "name": act[1], "input": act[2]}] if call else [{"type": "text", "text": "".join(self.pieces(act))}]
            msg["stop_reason"] = stop
            return self.send_json(msg)
        self.sse_open()
        e = lambda o: self.sse(o, o["type"])
        e({"type": "message_start", "message": msg})
        block = {"type": "tool_use", "id": tid, "name": act[1], "input": {}} if call else {"type": "text", "text": ""}
        e({"type": "content_block_start", "index": 0, "content_block": block})
        if call: e({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": json.dumps(act[2])}})
        else:
            for s in self.pieces(act): e({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": s}})
        e({"type": "content_block_stop", "index": 0})
        e({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 20}})
        e({"type": "message_stop"})

    def api_responses(self, b, act, stream):
        rid, iid = "resp_" + uuid.uuid4().hex, "item_" + uuid.uuid4().hex
        if act[0] == "call":
            item = {"type": "function_call", "id": iid, "call_id": "call_" + iid[5:17], "name": act[1], "arguments": json.dumps(act[2]), "status": "completed"}
        elif act[0] == "custom":
            item = {"type": "custom_tool_call", "id": iid, "call_id": "call_" + iid[5:17], "name": act[1], "input": act[2], "status": "completed"}
        else: item = None
        tokens, said = 100, os.path.join(os.path.dirname(LOG) or ".", "tokens")
        if item is None and os.path.exists(said):
            tokens = int(open(said).read())
            os.remove(said)
        usage = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        resp = {"id": rid, "object": "response", "created_at": int(time.time()), "model": b.get("model"), "status": "in_progress", "output": [], "usage": None, "error": None}
        seq = [0]
        def e(o):
            o["sequence_number"] = seq[0]; seq[0] += 1
            if stream: self.sse(o, o["type"])
        if stream: self.sse_open()
        e({"type": "response.created", "response": resp})
        if item is None:
            m = {"type": "message", "id": iid, "role": "assistant", "status": "in_progress", "content": []}
            e({"type": "response.output_item.added", "output_index": 0, "item": m})
            e({"type": "response.content_part.added", "item_id": iid, "output_index": 0, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}})
            full = ""
            for s in self.pieces(act):
                full += s
                e({"type": "response.output_text.delta", "item_id": iid, "output_index": 0, "content_index": 0, "delta": s})
            part = {"type": "output_text", "text": full, "annotations": []}
            e({"type": "response.output_text.done", "item_id": iid, "output_index": 0, "content_index": 0, "text": full})
            e({"type": "response.content_part.done", "item_id": iid, "output_index": 0, "content_index": 0, "part": part})
            item = dict(m, status="completed", content=[part])
        else:
            e({"type": "response.output_item.added", "output_index": 0, "item": item})
        e({"type": "response.output_item.done", "output_index": 0, "item": item})
        done = dict(resp, status="completed", output=[item], usage=usage)
        e({"type": "response.completed", "response": done})
        if not stream: self.send_json(done)

    def api_chat(self, b, act, stream):
        cid = "chatcmpl-" + uuid.uuid4().hex[:12]
        base = {"id": cid, "created": int(time.time()), "model": b.get("model")}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        tc = [{"index": 0, "id": "call_" + cid[9:], "type": "function", "function": {"name": act[1], "arguments": json.dumps(act[2])}}] if act[0] == "call" else None
        fin = "tool_calls" if tc else "stop"
        if not stream:
            m = {"role": "assistant", "content": None if tc else "".join(self.pieces(act))}
            if tc: m["tool_calls"] = tc
            return self.send_json(dict(base, object="chat.completion", choices=[{"index": 0, "message": m, "finish_reason": fin}], usage=usage))
        self.sse_open()
        d = lambda delta, f=None, **k: self.sse(dict(base, object="chat.completion.chunk", choices=[{"index": 0, "delta": delta, "finish_reason": f}], **k))
        d({"role": "assistant", "content": ""})
        if tc: d({"tool_calls": tc})
        else:
            for s in self.pieces(act): d({"content": s})
        d({}, fin, usage=usage)
        self.sse("[DONE]")

    def api_gemini(self, b, act, stream):
        said = os.path.join(os.path.dirname(LOG) or ".", "tokens")
        tokens = int(open(said).read()) if os.path.exists(said) else 100
        def chunk(parts, fin=None):
            c = {"content": {"role": "model", "parts": parts}, "index": 0}
            if fin: c["finishReason"] = fin
            return {"candidates": [c], "modelVersion": "fake", "usageMetadata": {"promptTokenCount": tokens, "candidatesTokenCount": 10, "totalTokenCount": tokens + 10}}
        parts = lambda: ([{"functionCall": {"name": act[1], "args": act[2]}}],) if act[0] == "call" else ([{"text": s}] for s in self.pieces(act))
        if not stream:
            return self.send_json(chunk([x for p in parts() for x in p], "STOP"))
        self.sse_open()
        for p in parts(): self.sse(chunk(p))
        self.sse(chunk([{"text": ""}], "STOP"))


if __name__ == "__main__":
    print("listening on 127.0.0.1:%d" % PORT, flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), H).serve_forever()
