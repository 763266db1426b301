#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The corpus of truth: does the first finding name the flaw that was planted?

Each program of this folder has one flaw of a known kind, place and size among the noise of noise.h; those with kind=none have none.
The truth is in a comment of its first lines, in words without spaces:

  // verdict: kind=KIND[,KIND...] function=NAME[,NAME...] [module=NAME,...] [type=NAME] [not=NAME,...] [bytes=N] [chunks=N] [calls=N]
  //          [options=OPTION,...] [build=cc] [status=N]          (all on one line)

kind      of FITS below, or none; where any of several will do, the row of the table is the first one's
function  who is to be named, as the finding's place or its caller; any of several will do
module    or a place in this file will do: of libraries without names
type      or a finding about this type will do
not       wrappers: a finding whose place is one of these blames the wrong function
bytes, chunks, calls    the flaw's size: a finding's own number within a tenth of it is counted as right
options   of 'heapwise run'; build=cc: compiled by 'heapwise cc'; status: what the program ends with (0)

Programs of the folder published are the distribution's, with flaws or costs that others have described: a script makes an input and
records them, and says after "source:" who says so. 'verdicts.py published' judges these only. They have a row of their own in the table.

The others are compiled with -O1 -g, recorded by 'heapwise run', and judged by 'heapwise findings --format json'. Printed is a row for each
of them and the table: right cause first, in the first three (with those), missed; and false alarms: programs without a flaw for which a
finding above minor is listed. "Noise named" counts programs with a flaw for which a finding above minor is about noise.h. Names of kinds
and fields are in the tables FITS and FIELDS and nowhere else.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# Kinds of the truth, and which kinds of findings say it.
FITS = {
    "lost": {"leak"},
    "growth": {"grows", "grows_in", "growth"},
    "tidy": {"grows", "grows_in", "growth", "peak", "burst", "pinned", "left_behind", "not_given_back", "arenas"},  # freed at the end; what it is depends on the moment of the look
    "peak": {"peak"},
    "burst": {"burst", "peak"},
    "pinned": {"pinned"},
    "left_behind": {"left_behind"},
    "not_given_back": {"not_given_back"},
    "arenas": {"arenas"},
    "churn": {"churn"},
    "steps": {"growing"},
    "unused": {"unused", "write_only", "coverage"},
    "tiny": {"tiny", "overhead", "peak"},
    "slack": {"slack", "coverage", "peak"},
    "duplicates": {"duplicates", "twice", "peak"},
    "misuse": {"misuse"},
}

# What is read of a finding: the first of these fields that it has.
FIELDS = {
    "kind": ("kind",),
    "level": ("level", "severity"),
    "function": ("function",),
    "where": ("where",),
    "type": ("type",),
    "bytes": ("bytes",),
    "chunks": ("chunks",),
    "calls": ("allocations", "chunks"),
}
MINOR = "minor"
NOISE = re.compile(r"\bnoise(_|::)")

# What has to hold with --check.
WANTED_FIRST, WANTED_THREE = 0.9, 1.0
TIMEOUT_S = 1800


class Failed(Exception):
    """A program could not be judged."""


class Missing(Exception):
    """A package is not installed."""


def field(finding, name):
    for key in FIELDS[name]:
        if finding.get(key) is not None:
            return finding[key]
    return None


def truth_of(path):
    with open(path, encoding="utf-8") as file:
        for line in list(file)[:5]:
            if "verdict:" in line:
                words = line.split("verdict:")[1].split()
                truth = dict(word.split("=", 1) for word in words)
                truth["kinds"] = truth["kind"].split(",")
                truth["kind"] = truth["kinds"][0]
                if truth["kind"] != "none" and not FITS.keys() >= set(truth["kinds"]):
                    sys.exit(f"{path.name}: unknown kind in {truth['kinds']}")
                truth["published"] = path.parent != HERE
                return truth
    sys.exit(f"{path.name}: no verdict in its first lines")


def listed(truth, key):
    return [word for word in truth.get(key, "").split(",") if word]


def has_name(text, name):
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text or "") is not None


def right_place(finding, truth):
    if any(has_name(field(finding, "function"), name) for name in listed(truth, "not")):
        return False
    place = (field(finding, "where") or "").split(", called by ")[0]
    if any(f"({name})" in place or place.startswith(f"{name}+0x") for name in listed(truth, "module")):
        return True
    if "type" in truth and has_name(field(finding, "type"), truth["type"]):
        return True
    return any(has_name(field(finding, "where"), name) for name in listed(truth, "function"))


def right(finding, truth):
    return any(field(finding, "kind") in FITS[kind] for kind in truth["kinds"]) and right_place(finding, truth)


def size_is_right(finding, truth):
    for name in ("bytes", "chunks", "calls"):
        got = field(finding, name)
        if name in truth and (got is None or abs(got - int(truth[name])) > 0.1 * int(truth[name])):
            return False
    return True


def run(command, expected=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=TIMEOUT_S,
                          check=False)
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    if status != expected:
        raise Failed(f"{' '.join(map(str, command))}: status {status}: {done.stderr.strip()[-400:]}")
    return done.stdout


def compile_program(heapwise, path, truth, program):
    compiler, *flags = {
        ".c": ["gcc", "-std=gnu11", "-O1", "-g", "-pthread"],
        ".cpp": ["g++", "-std=c++17", "-O1", "-g", "-pthread"],
        ".rs": ["rustc", "-C", "opt-level=1", "-g"],
    }[path.suffix]
    if not shutil.which(compiler):
        raise Missing(compiler)
    run([*([heapwise, "cc"] if truth.get("build") == "cc" else [compiler]), *flags, "-o", program, path])


def record_published(heapwise, script, trace):
    folder = trace.with_suffix("")
    folder.mkdir(exist_ok=True)
    done = subprocess.run([script], cwd=folder, env={**os.environ, "HEAPWISE": str(heapwise), "TRACE": str(trace)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    if done.returncode == 77:
        raise Missing(done.stdout.split()[-1])
    if done.returncode:
        raise Failed(f"{script}: status {done.returncode}: {done.stdout.strip()[-400:]}")


def record_planted(heapwise, path, truth, trace):
    program = trace.with_suffix("")
    compile_program(heapwise, path, truth, program)
    if "valgrind" in truth.get("options", "") and not shutil.which("valgrind"):
        raise Missing("valgrind")
    run([heapwise, "run", "-q", "-o", trace, *listed(truth, "options"), program], int(truth.get("status", 0)))


def findings_of(heapwise, trace):
    """Lists, one for each process."""
    text = run([heapwise, "findings", "--format", "json", "--top", "0", trace])
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise Failed(f"findings of {trace}: no JSON: {error}") from error
    return [one["findings"] for one in (answer if isinstance(answer, list) else [answer])]


def judge(heapwise, path, folder):
    """A row: the truth, where in its list the right finding is (0 = nowhere), and that or the first finding."""
    truth = truth_of(path)
    trace = folder / (path.stem + ".hwt")
    if truth["published"]:
        record_published(heapwise, path, trace)
    else:
        record_planted(heapwise, path, truth, trace)
    lists = findings_of(heapwise, trace)
    row = {"truth": truth, "rank": 0, "size": False, "alarms": [], "noise": False, "finding": next((one[0] for one in lists if one), None)}
    if truth["kind"] == "none":
        row["alarms"] = [one for found in lists for one in found if field(one, "level") != MINOR]
        return row
    row["noise"] = any(field(one, "level") != MINOR and NOISE.search(field(one, "function") or "") for found in lists for one in found)
    for found in lists:
        for at, finding in enumerate(found, 1):
            if right(finding, truth) and (row["rank"] == 0 or at < row["rank"]):
                row.update(rank=at, finding=finding, size=size_is_right(finding, truth))
    return row


def outcome(row):
    if row["truth"]["kind"] == "none":
        return "false alarm" if row["alarms"] else "clean"
    rank = row["rank"]
    return "first" if rank == 1 else "in three" if 1 < rank <= 3 else "missed"


def note(row):
    finding = row["alarms"][0] if row["alarms"] else row["finding"]
    if not finding:
        return "no finding"
    text = f"{field(finding, 'kind')}: {field(finding, 'where')}"
    if row["rank"]:
        size = "" if row["size"] else f" [size: {field(finding, 'bytes')} bytes, {field(finding, 'calls')} calls]"
        return f"{row['rank']}. {text}{size}"
    if row["truth"]["kind"] == "none":
        return text if row["alarms"] else ""
    return ("right place, other kind: " if right_place(finding, row["truth"]) else "instead: ") + text


def print_row(name, row):
    print(f"{name:<26} {outcome(row):<12} {note(row)}", flush=True)


def row_of(truth):
    return "published" if truth["published"] else truth["kind"]


def print_table(rows):
    flawed = [row for row in rows.values() if row["truth"]["kind"] != "none"]
    clean = [row for row in rows.values() if row["truth"]["kind"] == "none"]
    print(f"\n{'planted':<12}{'programs':>9}{'first':>7}{'in three':>10}{'missed':>8}{'size right':>12}{'noise named':>13}")
    for kind in [*FITS, "published", "all"]:
        of_kind = [row for row in flawed if kind in ("all", row_of(row["truth"]))]
        outcomes = [outcome(row) for row in of_kind]
        if of_kind:
            print(f"{kind:<12}{len(of_kind):>9}{outcomes.count('first'):>7}{outcomes.count('first') + outcomes.count('in three'):>10}"
                  f"{outcomes.count('missed'):>8}{sum(row['size'] for row in of_kind):>12}{sum(row['noise'] for row in of_kind):>13}")
    print(f"{'none':<12}{len(clean):>9}   false alarm: {sum(bool(row['alarms']) for row in clean)}")


def holds_of(rows):
    outcomes = [outcome(row) for row in rows]
    flawed = sum(row["truth"]["kind"] != "none" for row in rows)
    first, three = outcomes.count("first"), outcomes.count("first") + outcomes.count("in three")
    return first >= WANTED_FIRST * flawed and three >= WANTED_THREE * flawed and "false alarm" not in outcomes


def holds(rows):
    return all(holds_of([row for row in rows.values() if row["truth"]["published"] == published]) for published in (False, True))


def name_of(path):
    return str(path.relative_to(HERE))


def programs(names):
    paths = sorted(path for path in HERE.iterdir() if path.suffix in (".c", ".cpp", ".rs") and path.stem != "noise")
    paths += sorted((HERE / "published").glob("*.sh"))
    chosen = [path for path in paths if not names or any(name in name_of(path) for name in names)]
    return chosen or sys.exit("no such program")


def judge_all(options, folder):
    """Rows by name, and whether all could be judged."""
    rows, whole = {}, True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {name_of(path): pool.submit(judge, options.heapwise, path, folder) for path in programs(options.names)}
        for name, future in waiting.items():
            try:
                rows[name] = future.result()
                print_row(name, rows[name])
            except Missing as missing:
                print(f"skipped: needs package {missing}: {name}")
            except (Failed, subprocess.TimeoutExpired) as error:
                whole = False
                print(f"{name:<26} FAILED       {error}")
    return rows, whole


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heapwise", default=os.environ.get("HEAPWISE", HERE.parent.parent / "build" / "heapwise"),
                        help="program under test")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="let N busy loops run beside it")
    parser.add_argument("--check", action="store_true",
                        help="fail unless the right cause is first in 9 of 10, planted and published, in the first three in all, and there is no "
                             "false alarm")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="programs at the same time (1)")
    parser.add_argument("--keep", metavar="FOLDER", help="leave programs and traces there")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs with this in their name")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ["LC_ALL"] = "C"
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="heapwise-verdicts-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    options.heapwise = pathlib.Path(options.heapwise).resolve()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.load)]
    try:
        rows, whole = judge_all(options, folder)
    finally:
        for process in busy:
            process.kill()
            process.wait()
        if not options.keep:
            shutil.rmtree(folder)
    print_table(rows)
    sys.exit(not whole or (options.check and not holds(rows)))


if __name__ == "__main__":
    main()
