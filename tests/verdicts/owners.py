#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does 'heapwise owners' name the cache or list that only grows, in programs whose bugs others have described?

Each script of the folder grows builds a program of the distribution with such a bug, as its lines "source:" say, feeds it and records
it. Its line "owner:" has two regular expressions: of the owner, which must be among the first three of the tree, and of what must be
on the way from there to the largest chunks."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import verdicts

HERE = pathlib.Path(__file__).resolve().parent
FIRST = 3


def truth_of(script):
    found = re.search(r"^# owner: (\S+) (\S+)$", script.read_text(encoding="utf-8"), re.M)
    return found.groups() if found else sys.exit(f"{script.name}: no owner in its first lines")


def way_of(tree, at):
    """The owners on the way down from a row: at each step that which retains most."""
    way, depth = [], tree[at]["depth"]
    for row in tree[at:]:
        if row["depth"] < depth or (row["depth"] == tree[at]["depth"] and row is not tree[at]):
            break
        if row["depth"] == depth:
            way.append(row["owner"])
            depth += 1
    return way


def judge(heapwise, script, folder):
    owner, through = truth_of(script)
    trace = folder / (script.stem + ".hwt")
    verdicts.record_published(heapwise, script, trace)
    tree = json.loads(verdicts.run([heapwise, "owners", "--format", "json", "--min-share", "0", trace]))["tree"]
    roots = [at for at, row in enumerate(tree) if row["depth"] == 0][:FIRST]
    for rank, at in enumerate(roots, 1):
        way = way_of(tree, at)
        if re.search(owner, way[0]) and any(re.search(through, step) for step in way[1:]):
            return rank, tree[at], way
    raise verdicts.Failed("instead: " + "; ".join(" → ".join(way_of(tree, at)[:6]) for at in roots))


def main():
    heapwise = pathlib.Path(os.environ.get("HEAPWISE", HERE.parent.parent / "build" / "heapwise")).resolve()
    os.environ["LC_ALL"] = "C"
    os.environ.setdefault("PACKAGES", str(heapwise.parent / "packages"))
    pathlib.Path(os.environ["PACKAGES"]).mkdir(exist_ok=True)
    scripts = [script for script in sorted((HERE / "grows").glob("*.sh")) if not sys.argv[1:] or script.stem in sys.argv[1:]]
    failed = not scripts
    with tempfile.TemporaryDirectory(prefix="heapwise-owners-") as folder:
        for script in scripts:
            try:
                rank, row, way = judge(heapwise, script, pathlib.Path(folder))
                print(f"{script.stem:<16} {rank}. {row['retained_bytes']} bytes, {100 * row['share']:.1f} %: {' → '.join(way[:6])}", flush=True)
            except verdicts.Missing as missing:
                print(f"skipped: needs package {missing}: {script.stem}")
            except (verdicts.Failed, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"{script.stem:<16} FAILED: {error}", flush=True)
    sys.exit(failed)


main()
