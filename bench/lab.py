# SPDX-License-Identifier: MIT
"""Runs a workload under a variant (plain, Heapwise, heaptrack) and returns what was measured.

A variant only says how the command line looks and where its output goes; `measure` (measure.c) does
the timing for all of them alike. Nothing here computes ratios or prints.
"""
import fcntl
import glob
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """A run that cannot be used: wrong exit status, or the program's output changed."""


def build_tools(folder, compiler):
    """Compiles the C files of this folder; returns name → path."""
    tools = {}
    os.makedirs(folder, exist_ok=True)
    for name in ("stamp", "measure", "micro", "threads"):
        source = os.path.join(HERE, name + ".c")
        tools[name] = os.path.join(folder, name)
        if os.path.exists(tools[name]) and os.path.getmtime(tools[name]) > os.path.getmtime(source):
            continue
        subprocess.run([compiler, "-std=gnu11", "-O2", source, "-o", tools[name], "-lpthread"],
                       check=True)
    return tools


class Variant:
    """One way to run a program. stamped: the program's own time is known, not only the whole's."""
    name = ""
    title = ""
    stamped = True
    asked = False  # runs only if --variant names it

    def command(self, lab, workload, output):
        raise NotImplementedError

    def file(self, output):
        return output

    def report_command(self, output):
        return None


class Plain(Variant):
    name = "plain"
    title = "the program alone"

    def command(self, lab, workload, output):
        return [lab.tools["stamp"], lab.fifo] + workload.argv


class Heapwise(Variant):
    def __init__(self, name, binary, options):
        self.name = name
        self.binary = binary
        self.options = options
        self.title = " ".join(["heapwise run"] + options)

    def command(self, lab, workload, output):
        return ([self.binary, "run", "-o", output] + self.options +
                ["--", lab.tools["stamp"], lab.fifo] + workload.argv)

    def report_command(self, output):
        return [self.binary, "report", output]


class Heaptrack(Variant):
    name = "heaptrack"
    title = "heaptrack -o: preload, interpreter and compressor"
    # heaptrack takes itself out of the environment at the first exec, so stamp cannot come between.
    stamped = False

    def __init__(self, script):
        self.script = script
        self.printer = os.path.join(os.path.dirname(script), "heaptrack_print")

    def command(self, lab, workload, output):
        return [self.script, "-o", output] + workload.argv

    def file(self, output):
        for suffix in (".zst", ".gz"):
            if os.path.exists(output + suffix):
                return output + suffix
        return output

    def report_command(self, output):
        return [self.printer, self.file(output)]


class HeaptrackRaw(Variant):
    name = "heaptrack-raw"
    title = "heaptrack's preload library alone, writing to a file: no interpreter, no compressor"

    def __init__(self, script):
        self.library = os.path.join(os.path.dirname(script), "../lib/heaptrack/libheaptrack_preload.so")
        self.library = os.path.realpath(self.library)

    def command(self, lab, workload, output):
        return [lab.tools["stamp"], lab.fifo, "LD_PRELOAD=" + self.library,
                "DUMP_HEAPTRACK_OUTPUT=" + output] + workload.argv


class Valgrind(Variant):
    stamped = False
    asked = True

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.title = " ".join(["valgrind"] + options)

    def command(self, lab, workload, output):
        return ([shutil.which("valgrind"), "-q", "--log-file=" + output] + self.options +
                [option + output for option in ("--dhat-out-file=",) if self.name == "dhat"] + workload.argv)


class Jemalloc(Variant):
    """Its profile is that of what is live at the end; a sample of 512 KiB, as by default."""
    name = "jemalloc"
    title = "jemalloc instead of glibc's malloc, with its profiler"
    asked = True

    def __init__(self, library):
        self.library = library

    def command(self, lab, workload, output):
        return [lab.tools["stamp"], lab.fifo, "LD_PRELOAD=" + self.library,
                "MALLOC_CONF=prof:true,prof_final:true,prof_prefix:" + output] + workload.argv

    def file(self, output):
        return next(iter(glob.glob(output + ".*.heap")), output)


def find_others():
    """What is compared only on request: some take minutes, one is another allocator."""
    libraries = glob.glob("/usr/lib/*/libjemalloc.so.2")
    tools = [Valgrind("memcheck", ["--leak-check=full"]), Valgrind("dhat", ["--tool=dhat"])]
    return (tools if shutil.which("valgrind") else []) + [Jemalloc(library) for library in libraries[:1]]


def find_variants(heapwise):
    """The variants that can run here, and a line for each that cannot."""
    found, missing = [Plain()] + find_others(), []
    if os.access(heapwise, os.X_OK):
        found += [Heapwise("heapwise", heapwise, []),
                  Heapwise("heapwise-free", heapwise, ["--leak-scan=off"]),
                  Heapwise("heapwise-nofree", heapwise, ["--no-free-stacks", "--leak-scan=off"])]
    else:
        missing.append("heapwise: no executable %s (build it with make, or give --heapwise)" % heapwise)
    script = shutil.which("heaptrack")
    if not script:
        return found, missing + ["heaptrack: not installed"]
    script = os.path.realpath(script)
    found.append(HeaptrackRaw(script))
    if os.path.exists(os.path.join(os.path.dirname(script), "heaptrack_gui")):
        missing.append("heaptrack -o: heaptrack_gui is installed and would be opened by every run")
    else:
        found.append(Heaptrack(script))
    return found, missing


class Lab:
    """Runs and measures. Outputs of profilers are in `scratch` and are deleted after each run. Two runs in
    one folder would delete each other's files, and disturb each other anyway: the second is refused."""

    def __init__(self, folder, tools):
        self.lock = open(os.path.join(folder, "lock"), "w", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise Failed("another run is using %s" % folder) from problem
        self.tools = tools
        self.scratch = os.path.join(folder, "scratch")
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        self.fifo = os.path.join(self.scratch, "fifo")

    def environment(self, workload):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": self.scratch,
               "TMPDIR": self.scratch}
        env.update(workload.env if workload else {})
        return env

    def measure(self, command, workload=None, rss=False, stdout="/dev/null"):
        errors = os.path.join(self.scratch, "stderr")
        line = [self.tools["measure"], "--fifo", self.fifo, "--stdout", stdout, "--stderr", errors,
                "--stdin", workload.stdin if workload else "/dev/null"] + (["--rss"] if rss else [])
        done = subprocess.run(line + command, env=self.environment(workload), stdout=subprocess.PIPE,
                              check=True)
        result = json.loads(done.stdout)
        if result["status"] != 0:
            with open(errors, errors="replace") as text:
                raise Failed("%s: exit status %d\n%s" % (
                    " ".join(command), result["status"], text.read()[-2000:]))
        return result

    def output(self, variant):
        return os.path.join(self.scratch, "out." + variant.name)

    def discard(self, variant):
        """Before and after a run: heaptrack does not truncate, and dirty pages would disturb the next."""
        path = self.output(variant)
        for name in (path, path + ".zst", path + ".gz"):
            if os.path.exists(name):
                os.unlink(name)

    def timed(self, variant, workload):
        self.discard(variant)
        output = self.output(variant)
        result = self.measure(variant.command(self, workload, output), workload)
        if variant.stamped and "target_ns" not in result:
            raise Failed("%s: the program's start was not seen" % variant.name)
        path = variant.file(output)
        sample = {"wall_ns": result["wall_ns"], "cpu_ns": result["user_ns"] + result["sys_ns"],
                  "target_ns": result.get("target_ns"),
                  "target_cpu_ns": at_least_0(result.get("target_cpu_ns")),
                  "trace_bytes": os.path.getsize(path) if os.path.exists(path) else None}
        self.discard(variant)
        return sample

    def examine(self, variant, workload, reports):
        """One untimed run: memory, the program's output, event counts, and the time of the report."""
        self.discard(variant)
        output = self.output(variant)
        stdout = os.path.join(self.scratch, "stdout." + variant.name)
        result = self.measure(variant.command(self, workload, output), workload, True, stdout)
        facts = {"memory": memory(result, workload), "counts": counts(variant, output)}
        with open(stdout, "rb") as text:
            facts["output"] = text.read()
        os.unlink(stdout)
        if isinstance(variant, Heaptrack):
            # The script's own lines are on the same stream: the program's output is not compared.
            facts["output"] = None
        command = variant.report_command(output)
        if command:
            runs = [self.measure(command) for _ in range(reports)]
            facts["report_ns"] = min(run["wall_ns"] for run in runs)
        self.discard(variant)
        return facts


def at_least_0(value):
    """measure says -1 where the kernel does not allow to count a program's CPU time."""
    return value if value is not None and value >= 0 else None


def memory(result, workload):
    """Peak memory of the program, and of everything else in the tree together."""
    comm = os.path.basename(workload.argv[0])[:15]
    target = {"hwm_kb": 0, "anon_kb": 0, "shmem_kb": 0}
    others = 0
    for process in result["processes"]:
        if process["pid"] == result.get("target_pid") or process["comm"] == comm:
            target = {key: process[key] for key in target}
        else:
            others += process["hwm_kb"]
    return {"target": target, "others_kb": others}


def counts(variant, output):
    if isinstance(variant, Heapwise):
        done = subprocess.run([variant.binary, "report", "--no-symbols", "--format", "json", output],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failed("no report: " + done.stderr.decode(errors="replace"))
        report = json.loads(done.stdout)
        keys = ("allocations", "frees", "lost_events", "complete", "contexts", "points", "threads")
        return {key: report.get(key) for key in keys}
    if isinstance(variant, HeaptrackRaw):
        found = {"allocations": 0, "frees": 0}
        with open(output, "rb") as lines:
            for line in lines:
                if line.startswith(b"+"):
                    found["allocations"] += 1
                elif line.startswith(b"-"):
                    found["frees"] += 1
        return found
    return None
