#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resident_truth.py CASE...: 'heapwise resident' beside the kernel, and its cause beside what gives the memory back.

Each program fills its heap and frees most of it. At 20 looks the sum of the bill must be within 1 % of what the kernel
says at that moment (smaps_rollup). Then the cause is judged by an oracle, which acts on the same process: malloc_trim,
MEMORY PURGE and activedefrag of redis; and by a further run with MALLOC_ARENA_MAX=1. Prints a table.

redis-libc, redis-libc-large   redis built with MALLOC=libc, values of 100 and of 4,000 bytes: malloc_trim
redis-jemalloc                 the installed redis, values of 4,000 bytes: MEMORY PURGE
redis-defrag                   redis built with its own jemalloc, values of 400 bytes: activedefrag, which moves blocks until none pins a page
python3                        objects of Python, PYTHONMALLOC=malloc: malloc_trim
service                        a C++ service whose sessions are freed by other threads: malloc_trim, MALLOC_ARENA_MAX=1
vim                            a large file is edited, and left: malloc_trim"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HEAPWISE = os.environ["HEAPWISE"]
LOOKS, LIMIT = 20, 0.01
KEYS_BYTES = 200 << 20
PYTHON = """
import ctypes, signal, time
signal.signal(signal.SIGUSR1, lambda *_: ctypes.CDLL(None).malloc_trim(0))
made = []
for part in range(20):
    made += [{'number': i, 'text': f'text of number {i} ' * 3} for i in range(20000)]
    time.sleep(0.2)
kept = made[::10]
for part in range(20):
    del made[-20000:]
    time.sleep(0.2)
while True:
    time.sleep(1)
"""


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def run(*command, text=None, check=True):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise Failed(f"{' '.join(map(str, command))[:100]}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"needs {program}")


def child_of(pid):
    """The program that this heapwise records, once it is there."""
    for _ in range(1000):
        for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            for child in file.read_text().split():
                if os.path.realpath(f"/proc/{child}/exe") != os.path.realpath(f"/proc/{pid}/exe"):
                    return int(child)
        time.sleep(0.01)
    raise Failed("the program did not start")


def settle(pid):
    """Waits until as much is resident as two seconds before."""
    seen = -1
    for _ in range(20):
        now = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        if abs(now - seen) * 100 <= now:
            return
        seen = now
        time.sleep(2)


def trim(pid):
    """By libtrim.so."""
    os.kill(pid, signal.SIGRTMIN + 5)


def trim_by_itself(pid):
    os.kill(pid, signal.SIGUSR1)


# ---- programs: a command, what makes it fill and free its heap, the oracles, how it ends ----

class Redis:
    trims = True

    def __init__(self, build, value_bytes):
        self.build, self.value_bytes = build, value_bytes
        self.keys = KEYS_BYTES // (value_bytes + 100)

    def command(self):
        needs("redis-cli")
        server = built_redis(self.build) if self.build else "redis-server"
        needs(server)
        return [server, "--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no",
                "--enable-debug-command", "yes", "--loglevel", "warning"]

    @staticmethod
    def ask(*words, text=None):
        return run("redis-cli", "-s", "socket", *words, text=text)

    def drive(self, _):
        for _ in range(300):
            if os.path.exists("socket") and "PONG" in run("redis-cli", "-s", "socket", "ping", check=False):
                break
            time.sleep(0.1)
        for part in range(10):
            self.ask("debug", "populate", (part + 1) * self.keys // 10, "key", self.value_bytes)
            time.sleep(0.5)
        for part in range(10):
            gone = range(part * self.keys // 10, (part + 1) * self.keys // 10)
            self.ask("--pipe", text="".join(f"DEL key:{i}\r\n" for i in gone if i % 10))
            time.sleep(0.5)
        time.sleep(1)

    def oracle(self, pid):
        if self.build:
            trim(pid)
        else:
            self.ask("memory", "purge")

    def end(self, _):
        run("redis-cli", "-s", "socket", "shutdown", "nosave", check=False)


class Defragmented(Redis):
    """All that is pinned or kept comes back if the live blocks move together."""
    moves = True

    def oracle(self, pid):
        for name, value in (("activedefrag", "yes"), ("active-defrag-ignore-bytes", "4mb"), ("active-defrag-threshold-lower", "10"),
                            ("active-defrag-cycle-min", "50"), ("active-defrag-cycle-max", "75")):
            self.ask("config", "set", name, value)
        for _ in range(120):
            time.sleep(1)
            if "\nactive_defrag_running:0" in self.ask("info", "memory").replace("\r", ""):
                break


class Python:
    @staticmethod
    def command():
        os.environ["PYTHONMALLOC"] = "malloc"
        return [sys.executable, "-c", PYTHON]

    @staticmethod
    def drive(_):
        time.sleep(14)

    oracle = staticmethod(trim_by_itself)

    @staticmethod
    def end(pid):
        os.kill(pid, signal.SIGTERM)


class Service:
    @staticmethod
    def command():
        return [os.path.join(os.environ["HEAPWISE_TARGETS"], "service"), "100000", "8", "60"]

    @staticmethod
    def drive(_):
        time.sleep(20)

    oracle = staticmethod(trim_by_itself)

    @staticmethod
    def end(pid):
        os.kill(pid, signal.SIGTERM)


class Vim:
    trims = True

    @staticmethod
    def command():
        needs("vim")
        with open("text", "w", encoding="utf-8") as out:
            for i in range(300000):
                out.write(f"line {i} of a text that somebody edits, which has some words {i * i}\n")
        commands = ["set undolevels=1000", "edit text"]
        for i in range(10):
            commands += ["sleep 300m", f"%s/{i}/<{i}>/", "sleep 300m", f"g/{i}7/delete"]
        commands += ["sleep 500m", "undo", "sleep 500m", "new", "bwipeout! text", "sleep 60"]
        with open("edit.vim", "w", encoding="utf-8") as out:
            out.write("\n".join(commands) + "\n")
        return ["vim", "-u", "NONE", "-n", "-e", "-s", "-S", "edit.vim"]

    @staticmethod
    def drive(pid):
        used = -1
        while used != (used := int(pathlib.Path(f"/proc/{pid}/stat").read_text().split()[13])):
            time.sleep(3)

    oracle = staticmethod(trim)

    @staticmethod
    def end(pid):
        os.kill(pid, signal.SIGTERM)


def built_redis(malloc):
    place = pathlib.Path(os.environ["HEAPWISE_BUILD_DIR"]) / "packages" / f"redis-{malloc}"
    server = place / "src" / "redis-server"
    if not server.exists():
        source = pathlib.Path(os.environ["HEAPWISE_SOURCE_DIR"]) / "bench" / "debian-source"
        if subprocess.run([source, "redis", place], check=False).returncode:
            raise Skipped("cannot download the source of redis")
        # Debian's patch takes an undefined macro for "yes".
        run("make", "-C", place / "src", "-j2", f"MALLOC={malloc}", "CFLAGS=-O2 -DUSE_SYSTEM_JEMALLOC=1", "redis-server")
    return str(server)


CASES = {"redis-libc": Redis("libc", 100), "redis-libc-large": Redis("libc", 4000), "redis-jemalloc": Redis(None, 4000),
         "redis-defrag": Defragmented("jemalloc", 400),
         "python3": Python, "service": Service, "vim": Vim}


# ---- a run, and what is read of it ----

def record(program, trace, **environment):
    if getattr(program, "trims", False):
        environment["LD_PRELOAD"] = os.path.join(os.environ["HEAPWISE_TARGETS"], "libtrim.so")
    heapwise = subprocess.Popen([HEAPWISE, "run", "-q", "--no-symbols", "--leak-scan=off", "-o", trace, "--"] + program.command(),
                                env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pid = child_of(heapwise.pid)
    try:
        program.drive(pid)
        run(HEAPWISE, "ctl", pid, "snapshot")
        time.sleep(0.3)  # it answers before the look is taken
        program.oracle(pid)
        time.sleep(1)
        settle(pid)
        run(HEAPWISE, "ctl", pid, "snapshot")
        program.end(pid)
        heapwise.wait(60)
    finally:
        if heapwise.poll() is None:
            os.kill(pid, signal.SIGKILL)
            heapwise.wait()


def moments(trace):
    """Times of looks and of marks, in ns."""
    looks, marks = [], []
    for line in run(HEAPWISE, "trace", "dump", "--facts", trace).splitlines():
        words = line.split()
        if line.startswith("# memory time_ns"):
            looks.append(int(words[3]))
        elif len(words) > 2 and words[2] == "mark":
            marks.append(int(words[0]))
    return looks, marks


def bill(trace, time_ns):
    found = json.loads(run(HEAPWISE, "resident", "--no-symbols", "--at", f"{time_ns / 1e9:.9f}s", "--format", "json", trace))
    found["bytes"] = {row["part"]: row["bytes"] for row in found["parts"]}
    return found


def spread(looks, count):
    if len(looks) < count:
        raise Failed(f"{len(looks)} looks, not {count}")
    return [looks[i * (len(looks) - 1) // (count - 1)] for i in range(count)]


def free_bytes(found):
    return sum(found["bytes"].get(part, 0) for part in ("pinned", "cached", "thread_caches"))


def moved(cause, before, released):
    """What an oracle says that moves blocks: None if it agrees."""
    free = free_bytes(before)
    if not cause.startswith("pinned"):
        return f"{released} of {free} free bytes came back once blocks had moved"
    return None if abs(released - free) * 100 <= 15 * free else f"{released} came back, not {free}"


def judged(cause, before, released, fewer):
    """What the oracles say: None if they agree."""
    free = free_bytes(before)
    live = before["bytes"]["requested"] + before["bytes"]["slack"]
    if cause == "live":
        return None if live >= free else f"{free} bytes are free"
    if cause == "arenas":
        return None if fewer is not None and fewer * 2 >= free else f"one arena has {fewer} bytes fewer, of {free} free"
    given_back = released * 2 >= free
    if cause == "not_given_back":
        return None if given_back else f"only {released} of {free} free bytes could be given back"
    if cause.startswith("pinned"):
        return None if not given_back else f"{released} of {free} free bytes could be given back"
    return f"unexpected cause {cause}"


def megabytes(number):
    return f"{number / 1e6:.1f}"


def check(name):
    program, trace = CASES[name], "trace.hwt"
    record(program, trace)
    run(HEAPWISE, "trace", "index", trace)
    looks, marks = moments(trace)
    off = [abs(one["sum_bytes"] - one["rss_bytes"]) / one["rss_bytes"] for one in (bill(trace, at) for at in spread(looks, LOOKS))]
    before, after = (bill(trace, min((look for look in looks if look >= mark), default=looks[-1])) for mark in marks)
    released, fewer = before["rss_bytes"] - after["rss_bytes"], None
    if name == "service":
        record(program, "one.hwt", MALLOC_ARENA_MAX="1")
        looks, marks = moments("one.hwt")
        fewer = before["rss_bytes"] - bill("one.hwt", min(look for look in looks if look >= marks[0]))["rss_bytes"]
    cause = before["cause"]
    wrong = moved(cause, before, released) if getattr(program, "moves", False) else judged(cause, before, released, fewer)
    print(" | ".join(["", name, f"{100 * max(off):.2f} %", *map(megabytes, (before["rss_bytes"], *(
        before["bytes"][part] for part in ("requested", "slack", "pinned", "cached")))), before["slack_basis"], cause,
        megabytes(released), megabytes(fewer) if fewer is not None else "", "yes" if not wrong else f"no: {wrong}", ""]).strip(), flush=True)
    if max(off) > LIMIT:
        raise Failed(f"{name}: the sum is off by {100 * max(off):.2f} %")
    if wrong:
        raise Failed(f"{name}: the cause is {cause}: {wrong}")


def main():
    failed, skipped = 0, 0
    print("| program | worst sum | resident, MB | live | slack | pinned | cached | slack is known | cause | oracle gives back | fewer with one arena | right |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                check(name)
            except Skipped as why:
                print(f"skipped: {why}")
                skipped += 1
            except Failed as why:
                print(f"FAILED: {why}")
                failed += 1
            os.chdir("/")
    return 1 if failed else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
