#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""toml.py TRACE FILE COUNT   makes files of budgets, damages most of them, and compares what `heapwise check`
takes with what tomllib takes: nothing that is no TOML may pass, and limits must be read as they are written."""
import json
import os
import random
import subprocess
import sys
import tomllib

trace, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(7)
PIECES = ["=", "[", "]", "[[", "]]", '"', "'", "\n", "\r\n", "\r", "#", ",", ".", "_", "\\", "\t", "{", "}", "é", "\x00",
          "1", "0", "true", "'''", "-", "+", " ", "\x7f", "\\u00e9", "max-peak", "[[budget]]\n", "1979-05-27", "inf"]


def quoted(text):
    return random.choice(['"%s"', "'%s'"]) % text


def limit():
    return random.choice(["1_000", "0", "+5", '"64K"', "'1.5M'", "4096", '"\\u0034K"'])


def good():
    lines = ["# limits", "max-peak = " + limit()]
    if random.random() < 0.5:
        lines.append("\"max-bytes\"\t=\t%s # comment é" % limit())
    if random.random() < 0.5:
        lines.append("max-allocs = 1_2")
    for i in range(random.randrange(3)):
        lines += ["", "[[ budget ]]", "function = " + quoted("f%d*" % i), "max-kept = " + limit()]
    return random.choice(["\n", "\r\n"]).join(lines) + random.choice(["", "\n"])


def damaged(text):
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(text) + 1)
        if random.random() < 0.5:
            text = text[:at] + random.choice(PIECES) + text[at:]
        else:
            text = text[:at] + text[at + random.randrange(1, 4):]
    return text


def size(value):
    if isinstance(value, int):
        return value
    factor = {"K": 1024, "M": 1024**2}.get(value[-1:])
    return int(float(value[:-1]) * factor) if factor else int(value)


taken = both = here = 0
for number in range(count):
    text = good() if number % 4 == 0 else damaged(good())
    with open(path, "wb") as out:
        out.write(text.encode())
    try:
        with open(path, "rb") as file:
            wanted = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        wanted = None
    run = subprocess.run([os.environ["HEAPWISE"], "check", "--budget", path, "--format", "json", trace],
                         capture_output=True, check=False)
    if run.returncode in (2, 3):
        both += wanted is None
        here += wanted is not None
        if number % 4 == 0:
            sys.exit("refused a good file: %s\n%s" % (run.stderr.decode(), text))
        if run.returncode == 3 and (path + ":").encode() not in run.stderr:
            sys.exit("an error without a place: %s" % run.stderr.decode())
        continue
    if run.returncode not in (0, 1):
        sys.exit("status %d for\n%s" % (run.returncode, text))
    if wanted is None:
        sys.exit("took what is no TOML:\n%r" % text)
    taken += 1
    limits = [(row["rule"], row["limit"]) for row in json.loads(run.stdout)["limits"]]
    told = [(key, size(value)) for key, value in wanted.items() if key.startswith("max-")]
    told += [(key, size(value)) for budget in wanted.get("budget", []) for key, value in budget.items()
             if key.startswith("max-")]
    if sorted(limits) != sorted(told):
        sys.exit("read %s, not %s, from\n%s" % (sorted(limits), sorted(told), text))
print("%d files: %d taken, %d refused by both, %d refused here only" % (count, taken, both, here))
