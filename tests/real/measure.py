#!/usr/bin/env python3
"""What hooks cost an agent, and what ten idle agents cost tx.

Usage: measure.py TX hook             `tx hook`, 200 calls with a daemon and 200 without, and the CPU of one call
       measure.py TX idle [LAB]       CPU of the daemon in 60 s with ten idle `command` panes and, with a LAB,
                                      with five idle claudes and five idle codexes
"""
import json, os, socket, subprocess, sys, tempfile, time

TX, WHAT = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))


class Project:
    def __init__(self, agents, run=lambda args: args):
        self.folder = tempfile.TemporaryDirectory(prefix="tx-measure-")
        self.root = os.path.realpath(self.folder.name) + "/project"
        self.run = run
        os.makedirs(self.root + "/meshes/team")
        self.agents = [name for name, _ in agents]
        with open(self.root + "/meshes/team/config.yaml", "w") as file:
            file.write("mesh: team\nagents:\n" + "".join("  - {name: %s, %s}\n" % agent for agent in agents))
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        os.makedirs(self.root + "/.ai/tx/msgs")

    def tx(self, *args):
        return subprocess.run(self.run([TX, "-C", self.root, *args]), check=True, capture_output=True, text=True).stdout

    def drop(self, name, text):
        with open("%s/.ai/tx/msgs/.%s" % (self.root, name), "w") as file:
            file.write(text)
        os.rename("%s/.ai/tx/msgs/.%s" % (self.root, name), "%s/.ai/tx/msgs/%s" % (self.root, name))

    def states(self):
        return {w["agent"]: w["state"] for w in json.loads(self.tx("status", "--json"))["workers"]}

    def wait(self, word):
        for _ in range(1200):
            states = self.states()
            if all(states.get("team/" + name) == word for name in self.agents):
                return
            time.sleep(0.1)
        sys.exit("never %s: %s" % (word, self.states()))

    def end(self):
        subprocess.run(self.run([TX, "-C", self.root, "stop", "--kill-agents"]), capture_output=True)


def hook():
    project = Project([("a", "runtime: command, mode: pane, run: [cat]")])
    project.tx("start", "--detach")
    project.drop("t.md", "---\nto: team/a\nfrom: core\nmsg-id: t\nheadline: t\n---\n\nt\n")
    project.wait("working")
    env = dict(os.environ, TX_ROOT=project.root, TX_AGENT="team/a", TX_ATTEMPT=project.root + "/.ai/tx/run/team/a/1")
    call = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "tx: read x and do it"})
    def times(program):
        taken, before = [], os.times()
        for _ in range(200):
            begun = time.perf_counter()
            subprocess.run(program, input=call, text=True, env=env, check=True, cwd=project.root)
            taken.append((time.perf_counter() - begun) * 1000)
        taken.sort()
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return "p50 %.1f ms, p99 %.1f ms; CPU %.1f ms" % (taken[100], taken[197], used * 5)
    print("/bin/true:          ", times(["/bin/true"]))
    print("with a daemon:      ", times([TX, "hook"]))
    project.tx("stop")
    print("without a daemon:   ", times([TX, "hook"]))
    project.end()


def cpu(project, label):
    pid = json.loads(project.tx("status", "--json"))["daemon"]["pid"]
    def used():
        """The CPU of all its threads so far, in ms."""
        fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")
    time.sleep(5)
    before = used()
    time.sleep(60)
    print("%-24s %d ms of CPU in 60 s" % (label, used() - before))


def idle(lab):
    project = Project([("a%d" % no, "runtime: command, mode: pane, run: [cat]") for no in range(10)])
    project.tx("start", "--detach")
    for name in project.agents:
        project.drop(name + ".md", "---\nto: team/%s\nfrom: core\nmsg-id: t%s\nheadline: t\n---\n\nt\n" % (name, name))
    project.wait("working")
    for name in project.agents:
        project.drop(name + "-done.md", "---\nfrom: team/%s\nstatus: complete\nmsg-id: d%s\nheadline: d\n---\n\nd\n" % (name, name))
    project.wait("idle")
    cpu(project, "ten `command` panes:")
    project.end()
    if not lab:
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    home = tempfile.TemporaryDirectory(prefix="tx-measure-")
    mine = os.path.realpath(home.name) + "/lab"
    os.makedirs(mine)
    os.symlink(os.path.abspath(lab) + "/bin", mine + "/bin")
    lab_sh = HERE + "/lab.sh"
    agents = [("claude%d" % no, "runtime: claude, prompt: You build.") for no in range(5)]
    agents += [("codex%d" % no, "runtime: codex, prompt: You build.") for no in range(5)]
    project = Project(agents, lambda args: [lab_sh, "run", mine, port, *args])
    subprocess.run([lab_sh, "home", mine, project.root, port], check=True)
    model = subprocess.Popen(["python3", HERE + "/fake_model.py", port, mine + "/model.jsonl"], stdout=subprocess.DEVNULL)
    try:
        project.tx("start", "--detach")
        for name in project.agents:
            text = "---\\nfrom: team/%s\\nstatus: complete\\nheadline: d\\n---\\n\\nd" % name
            file = "%s/.ai/tx/msgs/%s-done.md" % (project.root, name)
            step = "@@write %s %s" % (file, text)
            if name.startswith("codex"):
                ready = "%s/%s" % (mine, name)
                with open(ready, "w") as prepared:
                    prepared.write(text.replace("\\n", "\n") + "\n")
                step = "@@shell cp %s %s" % (ready, file)
            project.drop(name + ".md", "---\nto: team/%s\nfrom: core\nmsg-id: t%s\nheadline: t\n---\n\n%s\n" % (name, name, step))
        while not all(os.path.exists("%s/.ai/tx/msgs/%s-done.md" % (project.root, name)) for name in project.agents):
            time.sleep(0.5)
        project.wait("idle")
        cpu(project, "ten real panes:")
    finally:
        project.end()
        model.terminate()


hook() if WHAT == "hook" else idle(sys.argv[3] if len(sys.argv) > 3 else None)
