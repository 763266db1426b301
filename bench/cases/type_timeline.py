#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""type_timeline.py HEAPWISE TRACE [TYPES [FUNCTION]]   live bytes over time, stacked by type, as text.

A letter is a type (the paper's colour), those with the largest peaks of their own from the bottom up; "." are all
others. What FUNCTION (a part of a name) had a hand in has a letter of its own. Joins the events of `heapwise trace dump`
with the types of `heapwise types --chunks`.
"""
import json
import subprocess
import sys

WIDTH, HEIGHT = 76, 16
ENDS = ("free", "delete", "delete_array", "realloc_free")


def ask(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout


def changes(heapwise, trace, function, special):
    """(time, chunk, bytes more or less) of each event that begins or ends a chunk; chunks whose allocation the
    function had a hand in are added to special."""
    size = {}
    for line in ask(heapwise, "trace", "dump", "--stacks", trace).splitlines():
        words = line.split()
        if line.startswith("#") or len(words) < 9 or not words[5].isdigit():
            continue
        chunk = int(words[5])
        if words[2] in ENDS:
            yield int(words[0]), chunk, -size.pop(chunk, 0)
        elif words[3].startswith("0x"):
            size[chunk] = int(words[4])
            if function and function in line:
                special.add(chunk)
            yield int(words[0]), chunk, size[chunk]


def main():
    heapwise, trace = sys.argv[1:3]
    shown = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    chunks = json.loads(ask(heapwise, "types", "--chunks", "--top", "0", "--format", "json", trace))["chunks"]
    type_of = {each["chunk"]: each["type"] or "unknown" for each in chunks}
    function, special = sys.argv[4] if len(sys.argv) > 4 else None, set()
    events = sorted(changes(heapwise, trace, function, special))
    first, last = events[0][0], events[-1][0]
    live, peak, columns = {}, {}, []
    for time, chunk, change in events:
        at = min(WIDTH - 1, (time - first) * WIDTH // max(1, last - first))
        name = type_of.get(chunk, "unknown") + (" by " + function if chunk in special else "")
        live[name] = live.get(name, 0) + change
        peak[name] = max(peak.get(name, 0), live[name])
        while len(columns) <= at:  # the largest sum of each column
            columns.append({})
        if sum(live.values()) >= sum(columns[at].values()):
            columns[at] = dict(live)
    for at, column in enumerate(columns):  # nothing happened: as before
        if not column and at:
            columns[at] = columns[at - 1]
    top = sorted(peak, key=peak.get, reverse=True)[:shown]
    most = max(sum(column.values()) for column in columns)
    for row in range(HEIGHT, 0, -1):
        text = ""
        for column in columns:
            stack = "".join(letter * round(column.get(name, 0) * HEIGHT / most)
                            for letter, name in zip("ABCDEFGHIJ", top))
            stack += "." * (round(sum(column.values()) * HEIGHT / most) - len(stack))
            text += stack[row - 1] if row <= len(stack) else " "
        print("%10d |%s" % (most * row // HEIGHT, text.rstrip()))
    print("%10s +%s %.1f ms" % ("bytes", "-" * WIDTH, (last - first) / 1e6))
    for letter, name in zip("ABCDEFGHIJ", top):
        print("%10s   %s: %d bytes at its peak" % (letter, name, peak[name]))


main()
