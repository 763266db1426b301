#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of 24 lines: terminal.py [--keys KEYS] COMMAND...
Prints what the terminal got, and ends with the command's status. Keys are pressed when the output pauses."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios

keys = b""
words = sys.argv[1:]
if words[0] == "--keys":
    keys, words = words[1].encode(), words[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(words[0], words)
while True:
    ready = select.select([terminal], [], [], 2 if keys else 300)[0]
    if not ready and not keys:
        sys.exit("the command hangs")
    if not ready:
        os.write(terminal, keys)
        keys = b""
        continue
    try:
        got = os.read(terminal, 65536)
    except OSError:  # the terminal is closed
        break
    if not got:
        break
    sys.stdout.buffer.write(got)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
