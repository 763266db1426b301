# SPDX-License-Identifier: MIT
"""What the case studies share: source package, two builds, interleaved runs, one line of JSON.

A case runs three variants: `plain`, the program as the compiler makes it; `idle`, built with `heapwise cc` and run
alone; `exact`, the same below `heapwise run --access exact`. Times are of the program itself (see stamp.c) and of
the whole command; the minimum counts. All is below one folder, nothing of the system is changed.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
TOP = os.path.dirname(BENCH)
sys.path.insert(0, BENCH)

import lab  # noqa: E402

VARIANTS = ("plain", "idle", "exact")
BUILD_SECONDS = 1800
RUN_SECONDS = 120


class Workload:
    """A command line as lab.py wants it."""

    def __init__(self, argv, env=None):
        self.argv = argv
        self.env = env or {}
        self.stdin = "/dev/null"


class Case:
    def __init__(self, name, rounds):
        parser = argparse.ArgumentParser(prog="bench/cases/" + name)
        parser.add_argument("--heapwise", default=os.path.join(TOP, "build", "heapwise"), metavar="PATH",
                            help="the heapwise executable (default: build/heapwise)")
        parser.add_argument("--folder", metavar="DIR",
                            help="sources, builds and traces (default: bench/cases beside heapwise)")
        parser.add_argument("--compiler", default="clang", metavar="NAME",
                            help="gcc or clang, for both builds (default: clang)")
        parser.add_argument("--rounds", type=int, default=rounds, metavar="N",
                            help="interleaved rounds, the minimum counts (default: %d)" % rounds)
        parser.add_argument("--build-only", action="store_true", help="fetch and build, and measure nothing")
        self.args = parser.parse_args()
        self.name = name
        self.heapwise = os.path.abspath(self.args.heapwise)
        if not os.access(self.heapwise, os.X_OK):
            sys.exit("%s: no executable %s: build it with make, or give --heapwise" % (name, self.heapwise))
        if self.args.rounds < 1:
            sys.exit("%s: --rounds must be at least 1" % name)
        self.folder = os.path.abspath(self.args.folder or os.path.join(
            os.path.dirname(self.heapwise), "bench", "cases"))
        os.makedirs(self.folder, exist_ok=True)
        # Programs copy the names of their files: how often they allocate must not depend on where this is.
        os.chdir(self.folder)

    # ---- building ----

    def source(self, package):
        """The unpacked source package of the distribution."""
        tree = os.path.join(self.folder, "src", package)
        self.run([os.path.join(BENCH, "debian-source"), package, tree])
        return tree

    def builds(self, build, name=None):
        """Calls build(folder, environment) once for each way to compile; returns way → folder. A folder that is
        complete is left as it is, unless it was made by another heapwise."""
        folders = {}
        for way in ("plain", "instrumented"):
            folder = os.path.join(self.folder, "%s-%s-%s" % (name or self.name, self.args.compiler, way))
            done = os.path.join(folder, ".built")
            stub = os.path.join(os.path.dirname(self.heapwise), "heapwise-stub-program-gcc.o")
            if not (os.path.exists(done) and os.path.exists(stub) and
                    (way == "plain" or os.path.getmtime(done) > os.path.getmtime(stub))):
                self.say("building %s, %s" % (name or self.name, way))
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
                build(folder, self.compiler_environment(way))
                with open(done, "w", encoding="ascii"):
                    pass
            folders[way] = folder
        return folders

    def compiler_environment(self, way):
        env = dict(os.environ, HEAPWISE_CC=self.args.compiler)
        if way == "plain":
            env["CC"] = self.args.compiler
            env["CXX"] = {"gcc": "g++", "clang": "clang++"}.get(self.args.compiler, "c++")
        else:
            env["CC"] = self.heapwise + " cc"
            env["CXX"] = self.heapwise + " c++"
        return env

    def cmake(self, source, folder, env, options, targets):
        self.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                  "-DCMAKE_CXX_FLAGS=-g1", "-DBUILD_SHARED_LIBS=OFF"] + options, env=env)
        self.run(["ninja", "-j%d" % len(os.sched_getaffinity(0)), "-C", folder] + targets, env=env)

    def run(self, argv, **more):
        """A command of the preparation: quiet unless it fails."""
        log = os.path.join(self.folder, self.name + ".log")
        with open(log, "ab") as out:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=more.pop("stdout", out), stderr=out,
                                  timeout=BUILD_SECONDS, check=False, **more)
        if done.returncode:
            with open(log, "rb") as text:
                sys.exit("%s: %s failed:\n%s" % (self.name, argv[0],
                                                 text.read()[-2000:].decode(errors="replace")))

    def say(self, line):
        print(line, file=sys.stderr, flush=True)

    # ---- measuring ----

    def measure(self, title, commands, paper):
        """Runs commands["plain"] and commands["instrumented"] in turns and prints the line of JSON."""
        tools = lab.build_tools(os.path.join(self.folder, "bin"), "cc")
        room = lab.Lab(self.folder, tools)
        heapwise = lab.Heapwise("exact", self.heapwise, ["--access", "exact"])
        plans = {"plain": (lab.Plain(), Workload(commands["plain"])),
                 "idle": (lab.Plain(), Workload(commands["instrumented"])),
                 "exact": (heapwise, Workload(commands["instrumented"]))}
        samples = {name: [] for name in VARIANTS}
        for number in range(self.args.rounds):
            turn = number % len(VARIANTS)
            for name in VARIANTS[turn:] + VARIANTS[:turn]:
                samples[name].append(room.timed(*plans[name]))
        memory = {name: self.memory(room, *plans[name]) for name in VARIANTS}
        trace = os.path.join(self.folder, title.replace(" ", "-") + ".hwt")
        room.measure(heapwise.command(room, plans["exact"][1], trace), plans["exact"][1])
        room.lock.close()
        program = {name: min(each["target_ns"] for each in samples[name]) / 1e6 for name in VARIANTS}
        whole = {name: min(each["wall_ns"] for each in samples[name]) / 1e6 for name in VARIANTS}
        self.tell(title, {
            "rounds": self.args.rounds, "program_ms": program, "whole_ms": whole, "memory_kb": memory,
            "slowdown": ratios(program), "whole_slowdown": ratios(whole)["exact"],
            "memory_ratio": memory["exact"] / memory["plain"]}, trace, paper)

    def memory(self, room, variant, workload):
        """Peak resident memory of the program, from a run that is not timed."""
        room.discard(variant)
        output = room.output(variant)
        result = room.measure(variant.command(room, workload, output), workload, rss=True)
        room.discard(variant)
        return lab.memory(result, workload)["target"]["hwm_kb"]

    # ---- telling ----

    def ask(self, command, trace, *options):
        done = subprocess.run([self.heapwise, command, "--format", "json"] + list(options) + [trace],
                              stdout=subprocess.PIPE, timeout=RUN_SECONDS, check=True)
        return json.loads(done.stdout)

    def facts(self, trace):
        """What the paper's tables have: allocations, points and global scores; and the first findings."""
        scores = self.ask("scores", trace, "--top", "0")
        found = self.ask("findings", trace, "--top", "5")
        facts = {"allocations": scores["chunks"], "points": len(scores["points"]), "accesses": scores["access"]}
        for name in ("lifetime", "usage", "useful"):
            known = [point[name] for point in scores["points"] if point[name] is not None]
            # The paper speaks of geometric means; its program computes arithmetic ones.
            facts[name] = {"geometric": scores[name]["mean"], "by_allocations": scores[name]["by_allocations"],
                           "arithmetic": sum(known) / len(known) if known else None}
        facts["findings"] = ["%s (%s): %s: %s" % (each["kind"], each["confidence"], each["where"], each["text"])
                             for each in found["findings"]]
        return facts

    def tell(self, title, numbers, trace, paper):
        line = {"case": title, "compiler": self.args.compiler, **numbers, **self.facts(trace), "paper": paper}
        print(json.dumps(rounded(line)), flush=True)


def ratios(times):
    return {name: times[name] / times["plain"] for name in VARIANTS if name != "plain"}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    return round(value, 3) if isinstance(value, float) else value
