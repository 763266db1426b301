# SPDX-License-Identifier: MIT
"""How far an adaptive recording is from an exact one of the same program. Measures no time.

The program is the same in both, allocation by allocation, but not its speed. So a last access is placed by
events: in the exact recording it lies between two events of the program, and in the adaptive one the same two
events have their own times. What the adaptive recording says is too early by at least the distance to the
first of the two; how much more is not known, which `resolution_ns` tells: the longest time between two events.
"""
import bisect
import subprocess

# As `heapwise trace dump` names them; other lines (durations of calls, marks) come by chance.
BEGINS = ("malloc", "calloc", "realloc", "memalign", "new", "new_array")
ENDS = ("free", "realloc_free", "delete", "delete_array")


class Recording:
    """Times of events in order, and per chunk its last access and counts."""

    def __init__(self, heapwise, path):
        self.events, self.accesses, self.live_peak, self.bytes_peak = [], {}, 0, 0
        text = subprocess.run([heapwise, "trace", "dump", path], stdout=subprocess.PIPE, check=True).stdout.decode()
        live = live_bytes = 0
        for line in text.splitlines():
            words = line.split()
            if words[:2] == ["#", "access"]:
                facts = dict(zip(words[3::2], words[4::2]))
                self.accesses[int(words[2])] = facts
            elif words and words[0] != "#" and words[2] in BEGINS + ENDS:
                self.events.append(int(words[0]))
                begins = words[2] in BEGINS
                live += 1 if begins else -1
                live_bytes += int(words[4]) if begins else -int(words[4])
                self.live_peak = max(self.live_peak, live)
                self.bytes_peak = max(self.bytes_peak, live_bytes)

    def total(self, what):
        return sum(int(facts[what]) for facts in self.accesses.values())


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0


def compare(exact, adaptive):
    """None if the two are not of the same sequence of events."""
    if len(exact.events) != len(adaptive.events):
        return None
    late = []
    for chunk, facts in exact.accesses.items():
        other = adaptive.accesses.get(chunk)
        if facts["last_ns"] == "-" or not other:
            continue
        before = bisect.bisect_right(exact.events, int(facts["last_ns"])) - 1
        seen = int(other["last_ns"]) if other["last_ns"] != "-" else 0
        late.append(max(0, adaptive.events[max(before, 0)] - seen))
    gaps = [b - a for a, b in zip(adaptive.events, adaptive.events[1:])]
    return {"chunks": len(late), "reads": adaptive.total("reads") / max(1, exact.total("reads")),
            "writes": adaptive.total("writes") / max(1, exact.total("writes")),
            "late_max_ns": max(late, default=0), "late_p99_ns": percentile(late, 0.99),
            "resolution_ns": max(gaps, default=0),
            "estimated_chunks": sum("estimated" in f["flags"] for f in adaptive.accesses.values())}
