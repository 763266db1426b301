#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""idle_libc.py PROGRAM EAGER SHARE   compares what each call of idle_libc gives with and without monitoring; SHARE: every so manieth batch.
What differs between two runs without it, before and after, says nothing: time, addresses, numbers of processes."""
import os
import re
import subprocess
import sys
import tempfile

BATCH = 48
TRIES = 4
# Words that depend on what else the process, the library or the machine did, by function.
VARIES = {
    "getrusage": r"1\.",               # what monitoring costs
    "times": r"0\.",
    "getitimer": r"1\.",               # what is left of the time that a call may take
    "setitimer": r"2\.",
    "(__)?sigaction": r"2\.(?!(0|8|136)$)",  # the library copies a mask of 128 bytes, of which the kernel writes 8
    "(__)?statfs(64)?": r"1\.(24|32|48)$",  # free blocks and files
    "statvfs(64)?": r"1\.(24|32|48|56)$",
    "(__)?[fl]?x?stat(at)?(64)?": r"[123]\.8$",  # the number of a file that was made for this run
    "statx": r"4\.32$",
    "sysinfo": r"0\.(0|8|16|24|40|48|56|72|80)$",  # uptime, load, what is free or shared, processes
    "getcpu": r"0\.0$",                # which CPU it runs on
    "timegm": r"0\.32$",               # the bytes behind tm_isdst are copied with it
}
if os.uname().machine == "aarch64":
    VARIES["getcontext"] = r"0\.328$"  # x18, which nobody need keep
PROGRAM, EAGER = sys.argv[1], sys.argv[2]
kernel_hits = 0


def fresh_folder():
    folder = tempfile.mkdtemp(prefix="idle.", dir=".")
    os.chmod(folder, 0o777)
    with open(folder + "/idle.data", "w") as data:
        data.write("".join(f"line {i}\n" for i in range(500)))
    os.mkdir(folder + "/idle.dir")
    for name in ("/idle.data", "/idle.dir"):
        os.chmod(folder + name, 0o777 if name == "/idle.dir" else 0o666)
    return folder


def run_once(command, first, last):
    """The lines of the cases from first on, as far as they came, and how the program ended."""
    global kernel_hits
    folder = fresh_folder()
    try:
        done = subprocess.run(command + [PROGRAM, str(first), str(last)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=120)
        status, out, err = done.returncode, done.stdout, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        status, out, err = "timeout", late.stdout or b"", ""
    subprocess.run(["rm", "-rf", folder], check=False)
    if found := re.search(r"\bkernel (\d+)", err):
        kernel_hits += int(found[1])
    if status not in (0, "timeout"):
        status = status - 128 if status > 128 else -status if status < 0 else status
    return [line for line in out.decode(errors="replace").split("\n") if re.match(r"\w+/\d:", line)], status


def run(command, first, last):
    """All cases from first to last: after one that ended the program it is started again with the next. NAME/VARIANT -> what came."""
    results = {}
    while first < last:
        lines, status = run_once(command, first, last)
        if not lines and status:
            return results | {f"start {first}": f"status {status}"}
        for line in lines:
            name, result = line.split(":", 1)
            results[name] = result
        first += max(len(lines), 1)
        if first < last or " errno " not in lines[-1]:
            results[name] = f" ended: {status}"
    return results


def words(result):
    """What was before a sign of equality or a blank -> what came behind it."""
    found = re.match(r" errno (\d+) result (\S+)(.*)", result)
    if not found:
        return {"end": result}
    out = {"errno": found[1], "result": found[2]}
    for change in found[3].split():
        at, value = change.split("=")
        out[at] = value
    return out


def differs(name, watched, plains):
    """The words of a result which all plain runs agree in, and which are others now."""
    plains, watched = [words(plain) for plain in plains], words(watched)
    varies = [words for function, words in VARIES.items() if re.fullmatch(function, name.split("/")[0])]
    keys = {key for key in set(watched).union(*plains) if not any(re.match(words, key) for words in varies)}
    return sorted(key for key in keys
                  if len({plain.get(key) for plain in plains}) == 1 and watched.get(key) != plains[0].get(key))


def batch_differs(first, last):
    plains = [run([], first, last)]
    watched = [run([EAGER], first, last)]
    plains.append(run([], first, last))
    for _ in range(TRIES):
        left = {name: keys for name in plains[0]
                if (keys := set.intersection(*(set(differs(name, w.get(name, ""), [p.get(name, "") for p in plains])) for w in watched)))}
        if not left:
            break
        plains.append(run([], first, last))
        watched.append(run([EAGER], first, last))
    for name, keys in left.items():
        print(f"{name}: {' '.join(sorted(keys))}\n\tplain:  {plains[0][name][:300]}\n\twatched:{watched[0].get(name, '')[:300]}", flush=True)
    return len(plains[0]), len(left), [name for name, result in plains[0].items() if " errno " not in result]


def main():
    share = int(sys.argv[3])
    only = sys.argv[4:]
    count = 4 * int(re.search(r"(\d+) cases", subprocess.run([PROGRAM, "--unlisted"], capture_output=True, text=True, check=True).stdout)[1])
    calls = different = 0
    ended = []
    for first in range(int(only[0]) if only else 0, int(only[1]) if only else count, BATCH * share):
        done, left, over = batch_differs(first, min(first + BATCH, count))
        calls, different, ended = calls + done, different + left, ended + over
    print(f"{calls} calls, {different} differ, {len(ended)} ended the program, kernel {kernel_hits}")
    if os.environ.get("IDLE_ENDED"):
        print("ended:", *ended)
    return different != 0


sys.exit(main())
