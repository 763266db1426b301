#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""watch_screen.py HEAPWISE PROGRAM...   types keys at the screen of `heapwise watch` in a terminal of its own; says what went wrong."""
import os, pty, re, select, sys, termios, time

pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "watch", "--policy", "all", "--leak-after", "1s", "--interval", "250", *sys.argv[2:]])
shown, failures = "", []


def read_for(seconds):
    """What comes within so many seconds, added to what was shown."""
    global shown
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                return False
    return True


def screen():
    return shown.rsplit("\x1b[H\x1b[J", 1)[-1]


def expect(what, pattern, wait=8.0, gone=False):
    """The screen says so, before long; with gone it does not."""
    end = time.monotonic() + wait
    while time.monotonic() < end:
        read_for(0.2)
        if bool(re.search(pattern, screen())) != gone:
            return
    failures.append(f"{what}: '{pattern}' is {'still' if gone else 'not'} on the screen:\n{screen()}")


def press(keys):
    os.write(terminal, keys.encode())


expect("begins", r"untouched for 1.00 s: [1-9]")
lines = termios.tcgetattr(terminal)[3]
if lines & (termios.ICANON | termios.ECHO):
    failures.append("keys are not taken one by one")
press("h")
expect("help", r"p pause")
press("h")
expect("help goes", r"p pause", gone=True)
press("s")
expect("sorted", r"by areas")
press("/nobody\n")
expect("filter", r'with "nobody"\n?')
expect("filter leaves nothing", r"of \d+ areas?", gone=True)
press("/case_known\n")
expect("filter leaves something", r"of \d+ areas?.*case_known")
press("p")
expect("paused", r"PAUSED")
before = screen().split("\n")[0]
read_for(1)
if screen().split("\n")[0] != before:
    failures.append("it goes on while it is paused")
press("p")
expect("goes on", r"PAUSED", gone=True)
press("w")
expect("snapshot", r"snapshot written to \S+\.hwt")
press("q")
while read_for(0.5):
    pass
_, status = os.waitpid(pid, 0)
if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == 15 or os.WIFEXITED(status) and os.WEXITSTATUS(status) == 143):
    failures.append(f"q: status {status}")
if "untouched for 1.00 s" not in screen():
    failures.append("no summary at the end")
print("\n".join(failures))
sys.exit(bool(failures))
