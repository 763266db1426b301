#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""blocks.py [--update] PAGE   runs the fenced blocks of a page from top to bottom, in one shell and a folder of their own.

What a block is depends on its language, or on a comment in the line before it:
  ```console              lines after "$ " are commands ("> " continues one), the others what they print
  ```diff                 is applied with patch, in the current folder
  <!-- file: NAME -->     is written to that file, in the current folder
  <!-- not run: WHY -->   is shown only
Comments elsewhere: <!-- before: COMMAND --> is run, and its output not looked at; <!-- needs: PROGRAM PACKAGE --> skips the page where the
program is missing.
Any other block is an error, so that none is left out by accident. A console block fails if a command ends with another status than 0, or
than STATUS of <!-- status: STATUS --> before it, or prints something else. A line "…" stands for any number of lines, "…" within a line for
any text. Spaces do not count. All numbers may differ after <!-- numbers vary -->; else times, rates, percentages and sizes of traces may differ, other numbers by a tenth.

--update writes what was printed into the page where it differs."""
import difflib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 240  # for one command
BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DIGITS = re.compile(r"\d+(?:[,.]\d+)*(?: (?:B|KiB|MiB|GiB|ns|us|ms|s)\b)?")
NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?: ?(B|KiB|MiB|GiB|%|ns|us|ms|s)\b|(%)| (%))?")


class Block:
    def __init__(self, line, language, comment, text):
        self.line, self.language, self.comment, self.text = line, language, comment, text


def blocks(page):
    """The fenced blocks of a page, with the comment in the line before each."""
    found, inside, before = [], None, ""
    for number, line in enumerate(page.split("\n"), 1):
        fence = re.match(r"```(\S*)", line)
        hidden = re.match(r"<!-- before: (.*) -->$", line)
        if inside is None and hidden:
            found.append(Block(number, "before", hidden.group(1), []))
        if inside is None and fence:
            inside = Block(number, fence.group(1), before, [])
        elif inside is not None and line.startswith("```"):
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.text.append(line)
        before = line
    return found


def steps(block):
    """The commands of a console block, each with the lines that it should print."""
    result = []
    for line in block.text:
        if line.startswith("$ "):
            result.append([line[2:], []])
        elif line.startswith("> ") and result and not result[-1][1]:
            result[-1][0] += "\n" + line[2:]
        elif result:
            result[-1][1].append(line)
        else:
            raise SystemExit(f"line {block.line}: the block begins with no command")
    return result


# ---- comparison ----

def pieces(line):
    """A line as ("word", text), ("number", value), or ("any", 0) for numbers that may differ."""
    result, end = [], 0
    for match in NUMBER.finditer(line):
        result += [("word", word) for word in line[end:match.start()].split()]
        value, unit = float(match.group(1).replace(",", "")), match.group(2) or match.group(3) or match.group(4)
        if unit in BYTES:
            result.append(("number", value * BYTES[unit]))
        else:
            result.append(("any", 0) if unit else ("number", value))
        end = match.end()
    return result + [("word", word) for word in line[end:].split()]


def same_pieces(expected, actual):
    if expected[0] == "number" and actual[0] == "number":
        return abs(expected[1] - actual[1]) <= 0.1 * max(expected[1], actual[1], 10)
    return expected == actual


def same_line(expected, actual, vary=False):
    if expected.endswith(" bytes per event"):
        expected = re.sub(r", .*(?= bytes)", ", …", expected)
    if "…" in expected:
        parts = [re.escape(DIGITS.sub("#", part.strip())) for part in expected.split("…")]
        pattern = ".*".join(re.sub(r"(\\ )+", r"\\s+", part) for part in parts)
        return re.fullmatch(r"\s*" + pattern + r"\s*", DIGITS.sub("#", actual)) is not None
    left, right = (pieces(re.sub(r"\d[\d,.]*( \w+)? a second\b", "1 s", line)) for line in (expected, actual))
    if vary:
        left, right = ([piece if piece[0] == "word" else ("any", 0) for piece in side] for side in (left, right))
    return len(left) == len(right) and all(map(same_pieces, left, right))


def segments(expected):
    result = [[]]
    for line in expected:
        if line.strip() == "…":
            result.append([])
        else:
            result[-1].append(line)
    return result


def begins_at(segment, actual, at, vary):
    return at + len(segment) <= len(actual) and all(same_line(line, actual[at + i], vary) for i, line in enumerate(segment))


def difference(expected, actual, vary):
    """None, or the first expected line that was not printed in its place."""
    parts, at = segments(expected), 0
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if i == 0:
            starts = [0]
        elif last and part:
            starts = [len(actual) - len(part)]
        else:
            starts = range(at, len(actual) + 1)
        start = next((s for s in starts if s >= at and begins_at(part, actual, s, vary)), None)
        if start is None:
            wrong = [line for j, line in enumerate(part) if not (i == 0 and j < len(actual) and same_line(line, actual[j], vary))]
            return wrong[0] if wrong else "(more was printed)"
        at = start + len(part)
    if len(parts) == 1 and at != len(actual):
        return "(nothing more)"
    return None


def likeness(left, right):
    left, right = (DIGITS.sub("#", " ".join(" ".join(lines).split())) for lines in (left, right))
    return difflib.SequenceMatcher(None, left, right).ratio()


def renewed(expected, actual):
    """What the page should show: all that was printed, or of each part between dots what is most like it. Lines that have dots and still
    fit stay."""
    parts, dotted = segments(expected), [line for line in expected if "…" in line.strip()[1:]]
    actual = [next((old for old in dotted if same_line(old, line)), line) for line in actual]
    if len(parts) == 1:
        return actual
    result, at = [], 0
    for i, part in enumerate(parts):
        starts = range(at, max(at, len(actual) - len(part)) + 1)
        if i == 0:
            starts = starts[:1]
        elif i == len(parts) - 1:
            starts = starts[-1:]
        best = max(starts, key=lambda start: likeness(part, actual[start:start + len(part)]))
        result += ["…"] * (i > 0) + actual[best:best + len(part)] if part else ["…"] * (i > 0)
        at = best + len(part) if part else at
    return result


# ---- the shell ----

class Shell:
    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True)

    def run(self, command):
        """Exit status and the lines of one command."""
        mark = f"end-of-command-{os.getpid()}"
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n%s %d\\n' {mark} $?\n".encode())
        self.process.stdin.flush()
        output, deadline = b"", time.monotonic() + LIMIT_S
        while True:
            if select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                part = os.read(self.process.stdout.fileno(), 65536)
                output += part
            else:
                part = b""
            ended = re.search(rb"\n" + mark.encode() + rb" (\d+)\n", output)
            if ended:
                text = output[:ended.start()].decode("utf-8", "replace").rstrip()
                return int(ended.group(1)), text.split("\n") if text else []
            if not part:
                return -1, output.decode("utf-8", "replace").split("\n")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
            os.killpg(self.process.pid, signal.SIGTERM)  # what it left running
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def tidy(lines, folder):
    """What was printed, without the names of this machine's folders, which may be cut short already."""
    own = re.compile(r"\S*" + re.escape(os.path.basename(folder)) + r"/(\S*/)?|(?<!\S)…/examples/(\S*/)?")
    return [own.sub("…/", line).rstrip() for line in lines]


class Page:
    def __init__(self, path, update):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.path, self.update, self.wrong, self.ran = path, update, [], 0
        self.lines = self.text.split("\n")

    def run_console(self, block, shell, folder):
        wanted = re.search(r"<!-- status: (\d+) -->", block.comment)
        shown = []
        for command, expected in steps(block):
            status, actual = shell.run(command)
            actual = tidy(actual, folder)
            while expected and not expected[-1].strip():
                expected.pop()
            shown += ["$ " + command.replace("\n", "\n> ")]
            self.ran += 1
            if status != int(wanted.group(1) if wanted else 0):
                self.wrong.append((block.line, command, f"ended with {status}", actual))
            missing = difference(expected, actual, "<!-- numbers vary -->" in block.comment)
            if missing is not None and not self.update:
                self.wrong.append((block.line, command, "expected: " + missing, actual))
            shown += expected if missing is None else renewed(expected, actual)
        block.text = "\n".join(shown).split("\n")

    def run_block(self, block, shell, folder):
        file = re.search(r"<!-- file: (\S+) -->", block.comment)
        if "<!-- not run: " in block.comment:
            return
        if block.language == "before":
            shell.run(block.comment)
            return
        if file:
            status, actual = shell.run(f"cat >{file.group(1)} <<'END OF FILE'\n" + "\n".join(block.text) + "\nEND OF FILE")
        elif block.language == "diff":
            status, actual = shell.run("patch -p1 <<'END OF PATCH'\n" + "\n".join(block.text) + "\nEND OF PATCH")
        elif block.language == "console":
            self.run_console(block, shell, folder)
            return
        else:
            status, actual = 1, ["the block is neither console nor diff, and no comment says what it is"]
        if status:
            self.wrong.append((block.line, block.comment or block.language, f"ended with {status}", actual))

    def write(self, before, after):
        for old, new in reversed(list(zip(before, after))):
            self.lines[old.line:old.line + len(old.text)] = new.text
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))


def run(path, update):
    page = Page(path, update)
    source = os.environ.get("HEAPWISE_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../.."))
    build = os.environ.get("HEAPWISE_BUILD_DIR", os.path.join(source, "build"))
    with tempfile.TemporaryDirectory(prefix="heapwise-docs-") as folder:
        folder = os.path.realpath(folder)
        shutil.copytree(os.path.join(source, "examples"), os.path.join(folder, "examples"))
        environment = dict(os.environ, PATH=os.path.abspath(build) + ":" + os.environ["PATH"], HOME=folder,
                           XDG_CACHE_HOME=folder + "/.cache", XDG_RUNTIME_DIR=folder, LC_ALL="C.UTF-8")
        shell = Shell(folder, environment)
        after = blocks(page.text)
        for block in after:
            page.run_block(block, shell, folder)
        shell.close()
    if update:
        page.write(blocks(page.text), after)
    return page


def main():
    os.environ["PATH"] += ":/usr/sbin"  # where Debian has servers, and not every user looks
    arguments = sys.argv[1:]
    update = "--update" in arguments
    paths = [argument for argument in arguments if argument != "--update"]
    if len(paths) != 1:
        raise SystemExit(__doc__)
    with open(paths[0], encoding="utf-8") as file:
        needed = re.findall(r"^<!-- needs: (\S+) (\S+) -->$", file.read(), re.M)
        for program, package in [("patch", "patch"), ("gcc", "gcc"), ("g++", "g++")] + needed:
            if not shutil.which(program):
                print(f"skipped: needs package {package}")
                return 77
    page = run(paths[0], update)
    for line, command, what, actual in page.wrong:
        print(f"{paths[0]}:{line}: {command}\n  {what}\n  printed:")
        print("\n".join("    " + text for text in actual))
    print(f"{paths[0]}: {page.ran} commands, {len(page.wrong)} wrong")
    return 1 if page.wrong or not page.ran else 0


if __name__ == "__main__":
    sys.exit(main())
