#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""owners_truth.py PROGRAM...: does 'heapwise owners' tell the truth about programs of the distribution?

Each program is made to build something, and is scanned while it waits for more input. From the pointers that 'heapwise trace dump --facts'
prints, and the symbol tables that readelf prints, this script makes the graph of docs/METHODS.md, "Owners", without any code of heapwise.
For random chunks it removes the chunk and searches again: the bytes that nothing leads to any more must be the retained bytes that
'heapwise owners --path' prints, and the chunk that holds it must be its immediate dominator by networkx."""
import bisect
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

try:
    import networkx
except ImportError:
    print("skipped: needs package python3-networkx")
    sys.exit(77)

HEAPWISE = os.environ["HEAPWISE"]
CHUNKS = 18  # that are looked at, of each program
TIMEOUT_S = 300
PROGRAM, LOST = "program", "lost"


class Failed(Exception):
    """The answer is wrong, or there is none."""


# ---- programs ----

def lines(count, text):
    return "".join(text % ((number,) * text.count("%d")) for number in range(count))


# Of each program: its arguments, what it reads, and the environment. It prints "ready", and goes on reading.
PROGRAMS = {
    "sqlite3": (["sqlite3", ":memory:"], "create table t(id integer primary key, name text); create index i on t(name);\n"
                + lines(600, "insert into t values(%d, 'a name of some length, number %d');\n") + "select 'ready';\n", {}),
    "jq": (["jq", "-n", "--unbuffered", '[range(600) | {number: ., name: "name \\(.)"}] as $all | ("ready", input, $all[0])'], "", {}),
    "xmllint": (["xmllint", "--shell", "input"], "cat //ready\n", {}),
    "python3": (["/usr/bin/python3", "-c", "known = {str(i): [i, str(i)] for i in range(600)}\nprint('ready', flush=True)\ninput()"], "",
                {"PYTHONMALLOC": "malloc"}),
    "git": (["git", "-C", "repository", "fast-import", "--quiet"], "".join(
        f"blob\nmark :{2 * i + 1}\ndata <<END\ntext {i}\nEND\n\ncommit refs/heads/b{i % 50}\nmark :{2 * i + 2}\ncommitter A <a@b> {i} +0000\n"
        f"data <<END\nm\nEND\nM 644 :{2 * i + 1} folder{i % 90}/file{i}\n\n" for i in range(400)) + "progress ready\n", {}),
    "lua5.4": (["lua5.4", "-e", "t = {} for i = 1, 600 do t[i] = {name = 'name ' .. i, of = t[i - 1]} end print('ready') io.stdout:flush()"
                " io.stdin:read()"], "", {}),
    "perl": (["perl", "-e", "$| = 1; for my $i (1 .. 600) { $all{$i} = {name => \"name $i\", list => [1, $i]} } print qq(ready\\n); <STDIN>"],
             "", {}),
    "bash": (["bash", "-c", "declare -A all; for ((i = 0; i < 600; i++)); do all[$i]=\"name $i\"; done; echo ready; read -r"], "", {}),
    "ninja": (["ninja", "-C", ".", "-f", "build.ninja"], "", {}),
    "vim": (["vim", "-u", "NONE", "-i", "NONE", "-es", "input"], "let all = map(range(600), '{\"number\": v:val}')\n%d\nundo\n"
            "call writefile(['ready'], '/dev/stdout')\n", {}),
    "redis": (["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--daemonize", "no"], None, {}),
}


def prepare(name):
    """The files that the programs need, in the current folder."""
    if name == "xmllint":
        text = "<all>" + lines(150, "<one number='%d'><name>name %d</name></one>") + "<ready>ready</ready></all>"
        pathlib.Path("input").write_text(text, encoding="ascii")
    if name == "vim":
        pathlib.Path("input").write_text(lines(600, "line %d\n"), encoding="ascii")
    if name == "git":
        subprocess.run(["git", "init", "--quiet", "repository"], check=True)
    if name == "ninja":
        text = "rule wait\n  command = echo ready && head -1 /dev/stdin\n  pool = console\nrule copy\n  command = cp $in $out\nbuild first: wait\n"
        text += lines(600, "build out/%d: copy first | first\n") + "default first\n"
        pathlib.Path("build.ninja").write_text(text, encoding="ascii")


def fill_redis():
    commands = lines(300, "set key:%d value:%d\nhset hash:%d field value\nrpush list element:%d\nsadd set member:%d\nzadd sorted %d m:%d\n")
    for _ in range(600):
        done = subprocess.run(["redis-cli", "-s", "socket"], input=commands, text=True, capture_output=True, check=False)
        if done.returncode == 0:
            return
        subprocess.run(["sleep", "0.1"], check=True)
    raise Failed("redis-server does not answer")


def await_ready(process, name):
    """What it prints until it says that it is ready."""
    seen = b""
    while b"ready" not in seen:
        more = os.read(process.stdout.fileno(), 1 << 16)
        if not more:
            raise Failed(f"{name} ended before it was ready: {seen[-300:]!r}")
        seen += more
    return seen


def record(name, trace, fill=fill_redis, after=None):
    """What the program has printed. Redis is filled by a function; after the scan another may ask."""
    command, text, environment = PROGRAMS[name]
    if not shutil.which(command[0]):
        print(f"skipped: needs package {command[0]}")
        sys.exit(77)
    prepare(name)
    with subprocess.Popen([HEAPWISE, "run", "-q", "--leak-scan", "off", "-o", trace, "--", *command], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env={**os.environ, **environment}) as process:
        try:
            if text:
                process.stdin.write(text.encode())
                process.stdin.flush()
            printed = fill() if name == "redis" else await_ready(process, name)
            run([HEAPWISE, "ctl", process.pid, "scan", "--owners"])
            if after:
                after()
            if name == "redis":
                subprocess.run(["redis-cli", "-s", "socket", "shutdown", "nosave"], check=True)
            process.communicate(b"\n", timeout=TIMEOUT_S)
            return printed
        finally:
            process.kill()


# ---- the graph ----

def run(command, text=None):
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                          check=False)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


class Variables:
    """What readelf says of a file and of its debug file: the extents of variables."""

    def __init__(self, path):
        found = set(self.read(path)) if os.path.exists(path) else set()
        build_id = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-nW", path])) if found or os.path.exists(path) else None
        debug = build_id and f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug"
        if debug and os.path.exists(debug):
            found.update(self.read(debug))
        self.extents = sorted(found)
        self.starts = [start for start, _ in self.extents]

    @staticmethod
    def read(path):
        for line in run(["readelf", "-sW", path]).splitlines():
            words = line.split()
            if len(words) >= 8 and words[3] == "OBJECT" and words[6] not in ("UND", "ABS") and int(words[2], 0):
                start = int(words[1], 16)
                yield start, start + int(words[2], 0)

    def find(self, address):
        """The extent that the address is in, of several the one that begins last; or the word itself."""
        at = bisect.bisect_right(self.starts, address)
        for start, end in reversed(self.extents[max(0, at - 64):at]):
            if address < end:
                return start, end
        return address, address + 8


SYSTEM = re.compile(r"(libc\.so|libc-|ld-linux|ld-2|libstdc\+\+\.so|libc\+\+|libgcc_s|libm\.so|libpthread|libdl\.so|libheapwise)")
RANKS = {"data": 0, "tls": 0, "system": 1, "mapping": 2, "stack": 3, "register": 4}


class Graph:
    def __init__(self, dump):
        self.bytes = {}     # by chunk
        self.stacks = {}    # by chunk, if the dump has them
        self.pointers = {}  # from a chunk, or a root, to chunks
        self.ends = {}      # the same, just behind their last byte
        self.places = {}    # of chunks: offsets and what they point to
        self.roots = {}     # its turn, by its name
        self.variables = {}
        self.read(dump)

    def root_of(self, root, offset):
        if root["kind"] != "data":
            return ("root", root["number"])
        variables = self.variables.setdefault(root["name"], None) or Variables(root["name"])
        self.variables[root["name"]] = variables
        return ("variable", root["name"], variables.find(root["address"] + offset - root["code"])[0] + root["code"])

    def read(self, dump):
        roots, born, died = {}, {}, {}
        for line in dump.splitlines():
            words = line.split()
            if not line.startswith("#"):
                if len(words) > 5 and words[5] != "-":
                    if words[2] in ("free", "delete", "delete_array", "realloc_free", "munmap"):
                        died[int(words[5])] = int(words[0])
                    else:
                        born[int(words[5])] = int(words[0]), int(words[4])
                        self.stacks[int(words[5])] = line.split(" ", 9)[-1]
            elif words[1] == "graph":
                self.told = {words[i]: int(words[i + 1]) for i in range(2, len(words) - 1, 2)}
                # the program went on while pointers were sorted
                self.bytes = {chunk: size for chunk, (time, size) in born.items()
                              if time <= self.told["time_ns"] < died.get(chunk, time + self.told["time_ns"] + 1)}
            elif words[1] == "root":
                roots[int(words[2])] = {"number": int(words[2]), "kind": words[3], "tid": int(words[5]), "address": int(words[7], 16),
                                        "code": int(words[11], 16), "name": line.split(" name ", 1)[1]}
            elif words[1] == "pointer":
                source = int(words[3]) if words[2] == "chunk" else self.root_of(roots[int(words[3])], int(words[5]))
                self.places.setdefault(source, []).append((int(words[5]), int(words[7])))
                if words[2] == "root":
                    self.roots[source] = roots[int(words[3])]
                target, at = int(words[7]), int(words[9])
                (self.ends if at and at == self.bytes.get(target) else self.pointers).setdefault(source, set()).add(target)
        if not self.bytes or len(self.bytes) != self.told["chunks"]:
            raise Failed(f"{len(self.bytes)} chunks are live by the events, {self.told.get('chunks')} by the scan")

    def doubt(self, text):
        """Pointers in these chunks, which hold text, hold only what no other does; as those to ends do."""
        for chunk in text & self.pointers.keys():
            self.ends.setdefault(chunk, set()).update(self.pointers.pop(chunk))

    def turns(self):
        """Ranks and sets of roots, the strongest first: those of one set are equal."""
        def key(root):
            kind = root["kind"]
            rank = RANKS["system" if kind == "data" and SYSTEM.match(os.path.basename(root["name"])) else kind]
            return (rank, root["tid"], -root["address"]) if kind == "stack" else (rank,)
        by_key = {}
        for name, root in self.roots.items():
            by_key.setdefault(key(root), []).append(name)
        return [(one[0], by_key[one]) for one in sorted(by_key)]

    def see(self, starts, turn, seen, ends):
        """What they lead to that no earlier turn has seen."""
        waiting = [start for start in starts if start not in seen]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen[node] = turn
                waiting.extend(self.pointers.get(node, ()))
                waiting.extend(self.ends.get(node, ()) if ends else ())

    def counting(self):
        """By node, the turn that it was seen in, and the turns of ends: before the first frame, and at last."""
        seen, turn, last = {}, 0, []
        for rank, roots in [*self.turns(), (None, ())]:
            if rank is None or (rank >= RANKS["stack"] and not last):
                turn += 1
                last.append(turn)
                self.see([end for node in list(seen) for end in self.ends.get(node, ())], turn, seen, True)
            turn += 1
            self.see(roots, turn, seen, False)
        return seen, last

    def digraph(self):
        """What counts: edges from 'program' to roots, from what a turn reaches first to what no earlier turn does, and 'lost'."""
        graph = networkx.DiGraph()
        graph.add_edge(PROGRAM, LOST)
        graph.add_edges_from((PROGRAM, root) for root in self.roots)
        seen, last = self.counting()
        for pointers, turns in ((self.pointers, None), (self.ends, last)):
            for source, targets in pointers.items():
                if source in seen:
                    graph.add_edges_from((source, target) for target in targets
                                         if seen.get(target, 0) >= seen[source] and (turns is None or seen[target] in turns))
        rest = self.bytes.keys() - seen.keys()
        lost = networkx.DiGraph()
        lost.add_nodes_from(rest)
        lost.add_edges_from((source, target) for pointers in (self.pointers, self.ends) for source in rest
                            for target in pointers.get(source, ()) if target in rest)
        groups = networkx.condensation(lost)
        graph.add_edges_from((LOST, min(groups.nodes[group]["members"])) for group in groups if not groups.in_degree(group))
        graph.add_edges_from(lost.edges)
        return self.without_shared(graph)

    def without_shared(self, graph):
        """Without pointers of others to what several roots lead to, but one owns."""
        holders = networkx.immediate_dominators(graph, PROGRAM)
        held = {node: self.bytes.get(node, 0) for node in graph}
        tops = {}
        depths = networkx.single_source_shortest_path_length(
            networkx.DiGraph((holder, node) for node, holder in holders.items() if node != PROGRAM), PROGRAM)
        for node in sorted(depths, key=depths.get, reverse=True):
            if node != PROGRAM:
                held[holders[node]] += held[node]
        for node in sorted(depths, key=depths.get):
            tops[node] = node if node == PROGRAM or holders[node] == PROGRAM else tops[holders[node]]
        unowned = []
        for chunk in self.bytes:
            direct = [node for node in graph.predecessors(chunk) if node in self.roots]
            if holders[chunk] != PROGRAM or held[chunk] <= held[PROGRAM] // 50 or len(direct) != 1:
                continue
            if all(held[other] < held[direct[0]] for other in networkx.ancestors(graph, chunk) & self.roots.keys() - {direct[0]}):
                unowned += [(node, chunk) for node in graph.predecessors(chunk) if tops[node] not in (chunk, direct[0])]
        graph.remove_edges_from(unowned)
        return graph


# ---- the comparison ----

def reachable(graph, without):
    seen, waiting = {PROGRAM}, [PROGRAM]
    while waiting:
        for target in graph.successors(waiting.pop()):
            if target not in seen and target != without:
                seen.add(target)
                waiting.append(target)
    return seen


def check_chunk(chunk, bytes_of, graph, holders, told):
    freed = sum(bytes_of.values()) - sum(bytes_of[node] for node in reachable(graph, chunk) if isinstance(node, int))
    holder = holders[chunk]
    if told["retained_bytes"] != freed:
        raise Failed(f"chunk {chunk} retains {told['retained_bytes']} bytes; without it {freed} are unreachable")
    if told["holder_chunk"] != (holder if isinstance(holder, int) else None):
        raise Failed(f"chunk {chunk} is held by {told['holder']} ({told['holder_chunk']}), not by {holder}")
    return freed


def check(name):
    trace = os.path.abspath(name + ".hwt")
    record(name, trace)
    graph = Graph(run([HEAPWISE, "trace", "dump", "--facts", trace]))
    text = json.loads(run([HEAPWISE, "query", "--top", "0", "--format", "json", trace, 'all | where type == "char"']))
    graph.doubt({row["chunk"] for row in text["rows"]})
    counted = graph.digraph()
    holders = networkx.immediate_dominators(counted, PROGRAM)
    if set(holders) | {PROGRAM} < set(graph.bytes):
        raise Failed("chunks have no holder")
    chunks = sorted(graph.bytes)
    # at random, of all and of those that hold others, and those that hold most
    held = Counter(holder for holder in holders.values() if isinstance(holder, int))
    source = random.Random(33)
    chosen = {chunk for some in (chunks, sorted(held)) for chunk in source.sample(some, min(CHUNKS // 3, len(some)))}
    chosen |= {chunk for chunk, _ in held.most_common(CHUNKS // 3)}
    largest = 0
    for chunk in sorted(chosen):
        told = json.loads(run([HEAPWISE, "owners", "--no-symbols", "--path", chunk, "--format", "json", trace]))
        largest = max(largest, check_chunk(chunk, graph.bytes, counted, holders, told))
    print(f"{name}: {len(chosen)} of {len(chunks)} chunks agree, {sum(graph.bytes.values())} bytes, {len(graph.roots)} roots, "
          f"{sum(map(len, graph.pointers.values()))} pointers, {sum(map(len, graph.ends.values()))} to ends; the largest of them retains {largest} bytes", flush=True)


def main():
    os.environ["LC_ALL"] = "C"
    status = 0
    with tempfile.TemporaryDirectory(prefix="heapwise-owners-") as folder:
        os.chdir(folder)
        for name in sys.argv[1:]:
            try:
                check(name)
            except (Failed, subprocess.SubprocessError) as error:
                print(f"FAILED: {name}: {error}")
                status = 1
        os.chdir("/")
    sys.exit(status)


if __name__ == "__main__":
    main()
