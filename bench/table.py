# SPDX-License-Identifier: MIT
"""From samples to numbers, and from numbers to tables. Measures nothing.

Added time is the minimum under a profiler less the minimum of the plain runs. Ratios say how many times
less Heapwise adds than heaptrack: larger is better for Heapwise.
"""

# How many times less than heaptrack: (must, goal). "other" workloads are shown and have no limit.
LIMITS = {
    "common": {"nofree": (6, 8), "default": (4, 6)},
    "clang": {"nofree": (2.2, 3), "default": (1.6, 2)},
    "other": {},
}
WHOLE_LIMIT = (8, None)
TRACE_BYTES_LIMIT = 6
MEMORY_FIXED_KB = 8 * 1024
MEMORY_PER_CONTEXT_BYTES = 64
MEMORY_PER_THREAD_KB = 128


def least(samples, key):
    values = [s[key] for s in samples or [] if s.get(key) is not None]
    return min(values) if values else None


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def ratio(theirs, ours):
    """None: not measured. inf: ours is below what can be measured."""
    if theirs is None or ours is None:
        return None
    return theirs / ours if ours > 0 else float("inf")


def settled(samples, limit):
    """The minimum is worth its name when a second run came close to it."""
    best = sorted(s["target_ns"] or s["wall_ns"] for s in samples)
    return len(best) > 1 and best[1] <= best[0] * (1 + limit)


class Numbers:
    """All derived numbers of one workload."""

    def __init__(self, record):
        self.record = record
        self.samples = record["samples"]
        self.facts = record["facts"]
        self.name = record["name"]
        self.limits = LIMITS[record["limits"]]

    def fact(self, variant, *path):
        value = self.facts.get(variant)
        for key in path:
            value = value.get(key) if value else None
        return value

    def events(self):
        for variant in ("heapwise", "heaptrack-raw"):
            counts = self.fact(variant, "counts")
            if counts and counts.get("allocations") is not None:
                return counts["allocations"] + counts["frees"]
        return None

    def event_difference(self):
        """(allocations, frees) that heaptrack counted more than Heapwise."""
        ours, theirs = self.fact("heapwise", "counts"), self.fact("heaptrack-raw", "counts")
        if not ours or not theirs:
            return None
        return theirs["allocations"] - ours["allocations"], theirs["frees"] - ours["frees"]

    def seconds(self, variant, key):
        value = least(self.samples.get(variant), key)
        return value / 1e9 if value is not None else None

    def added(self, variant, key):
        value, plain = least(self.samples.get(variant), key), least(self.samples["plain"], key)
        return value - plain if value is not None and plain is not None else None

    def added_per_event(self, variant, key):
        added, events = self.added(variant, key), self.events()
        return added / events if added is not None and events else None

    def to_plain(self, variant, key):
        return ratio(self.seconds(variant, key), self.seconds("plain", key))

    def against(self, theirs, ours, key):
        return ratio(self.added(theirs, key), self.added(ours, key))

    def noise(self):
        walls = [s["target_ns"] for s in self.samples["plain"]]
        return median(walls) / min(walls) - 1

    def unsettled(self, limit):
        return [name for name, samples in self.samples.items() if not settled(samples, limit)]

    def trace_per_event(self, variant):
        size, events = least(self.samples.get(variant), "trace_bytes"), self.events()
        return size / events if size is not None and events else None

    def recorder_memory_kb(self):
        """Private memory that the recorder added to the program, and what it may: without the shared
        pages, which are the rings and the context nodes. Not exact: the two heaps differ a little."""
        plain, ours = self.fact("plain", "memory", "target"), self.fact("heapwise", "memory", "target")
        counts = self.fact("heapwise", "counts")
        if not plain or not ours or not counts:
            return None
        used = ours["hwm_kb"] - ours["shmem_kb"] - plain["hwm_kb"]
        may = (MEMORY_FIXED_KB + (counts.get("contexts") or 0) * MEMORY_PER_CONTEXT_BYTES / 1024 +
               (counts.get("threads") or 1) * MEMORY_PER_THREAD_KB)
        return used, may

    def summary(self):
        """What goes into the JSON file beside the samples."""
        out = {"events": self.events(), "heaptrack_counts_more": self.event_difference(),
               "plain_noise": self.noise(), "variants": {}}
        for variant in self.samples:
            out["variants"][variant] = {
                "wall_seconds": self.seconds(variant, "wall_ns"),
                "target_seconds": self.seconds(variant, "target_ns"),
                "target_cpu_seconds": self.seconds(variant, "target_cpu_ns"),
                "added_target_cpu_ns_per_event": self.added_per_event(variant, "target_cpu_ns"),
                "cpu_seconds": self.seconds(variant, "cpu_ns"),
                "added_wall_ns_per_event": self.added_per_event(variant, "wall_ns"),
                "added_target_ns_per_event": self.added_per_event(variant, "target_ns"),
                "added_cpu_ns_per_event": self.added_per_event(variant, "cpu_ns"),
                "wall_ratio_to_plain": self.to_plain(variant, "wall_ns"),
                "cpu_ratio_to_plain": self.to_plain(variant, "cpu_ns"),
                "trace_bytes_per_event": self.trace_per_event(variant),
                "report_seconds": (self.fact(variant, "report_ns") or 0) / 1e9 or None,
            }
        out["goals"] = [dict(zip(("name", "value", "must", "goal", "verdict"), g)) for g in self.goals()]
        return out

    def goals(self):
        """(name, value, must, goal, verdict) of everything that has a limit for this workload."""
        pairs = [("raw / no-free-stacks", "nofree", "heapwise-nofree"),
                 ("raw / free stacks", "default", "heapwise-free")]
        found = []
        for name, limit, ours in pairs:
            if limit in self.limits:
                value = self.against("heaptrack-raw", ours, "target_ns")
                found.append((name, value) + self.limits[limit] + (verdict(value, *self.limits[limit]),))
        value = self.against("heaptrack", "heapwise", "wall_ns")
        found.append(("whole / whole", value) + WHOLE_LIMIT + (verdict(value, *WHOLE_LIMIT),))
        size = self.trace_per_event("heapwise")
        found.append(("trace bytes per event", size, TRACE_BYTES_LIMIT, None,
                      at_most(size, TRACE_BYTES_LIMIT)))
        memory = self.recorder_memory_kb()
        if memory:
            found.append(("recorder memory KB", memory[0], memory[1], None, at_most(*memory)))
        return found


def verdict(value, must, goal):
    if value is None:
        return "not measured"
    if goal is not None and value >= goal:
        return "goal"
    return "met" if value >= must else "MISSED"


def at_most(value, limit):
    if value is None:
        return "not measured"
    return "met" if value <= limit else "MISSED"


def text(value, form):
    if value is None:
        return "-"
    if value == float("inf"):
        return "inf"
    return form % value


def number(value):
    return text(value, "%.0f" if value is not None and abs(value) >= 100 else "%.1f")


def times(value):
    return "-" if value is None else text(value, "%.1f") + "x"


def render(title, heads, rows, left=1):
    """Aligned columns; the first `left` ones hold words, the others numbers."""
    widths = [max(len(row[i]) for row in [heads] + rows) for i in range(len(heads))]
    lines = [title]
    for row in [heads] + rows:
        cells = [cell.ljust(w) if i < left else cell.rjust(w)
                 for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def program_table(all_numbers):
    heads = ["workload", "events", "plain s", "noise", "no-free ns", "free ns", "with scan ns",
             "raw ns", "no-free/plain", "free/plain", "raw/plain", "raw:no-free", "raw:free"]
    rows = [[n.name, text(n.events(), "%d"), text(n.seconds("plain", "target_ns"), "%.3f"),
             "%.0f %%" % (n.noise() * 100)] +
            [number(n.added_per_event(v, "target_ns"))
             for v in ("heapwise-nofree", "heapwise-free", "heapwise", "heaptrack-raw")] +
            [text(n.to_plain(v, "target_ns"), "%.2f")
             for v in ("heapwise-nofree", "heapwise-free", "heaptrack-raw")] +
            [times(n.against("heaptrack-raw", v, "target_ns"))
             for v in ("heapwise-nofree", "heapwise-free")]
            for n in all_numbers]
    return render("The program itself, start to exit (wall): added ns per event, ratio to plain, "
                  "heaptrack's raw recorder against Heapwise", heads, rows)


def whole_table(all_numbers):
    heads = ["workload", "plain s", "heapwise s", "heaptrack s", "default ns", "no scan ns",
             "no-free ns", "heaptrack ns", "heapwise/plain", "heaptrack/plain", "heaptrack:heapwise"]
    rows = [[n.name] + [text(n.seconds(v, "wall_ns"), "%.3f") for v in ("plain", "heapwise", "heaptrack")] +
            [number(n.added_per_event(v, "wall_ns"))
             for v in ("heapwise", "heapwise-free", "heapwise-nofree", "heaptrack")] +
            [text(n.to_plain(v, "wall_ns"), "%.2f") for v in ("heapwise", "heaptrack")] +
            [times(n.against("heaptrack", "heapwise", "wall_ns"))] for n in all_numbers]
    return render("The whole run until the profiler is done (wall): added ns per event", heads, rows)


def cpu_table(all_numbers):
    heads = ["workload", "plain s", "no-free ns", "free ns", "raw ns", "raw:no-free", "raw:free",
             "| all no-free", "free", "heaptrack", "raw:no-free", "raw:free", "heaptrack:heapwise"]
    ours = ("heapwise-nofree", "heapwise-free")
    rows = [[n.name, text(n.seconds("plain", "cpu_ns"), "%.3f")] +
            [number(n.added_per_event(v, "target_cpu_ns")) for v in ours + ("heaptrack-raw",)] +
            [times(n.against("heaptrack-raw", v, "target_cpu_ns")) for v in ours] +
            [number(n.added_per_event(v, "cpu_ns")) for v in ours + ("heaptrack",)] +
            [times(n.against("heaptrack-raw", v, "cpu_ns")) for v in ours] +
            [times(n.against("heaptrack", "heapwise", "cpu_ns"))] for n in all_numbers]
    return render("CPU time, user + sys: added ns per event in the program itself | in all processes of the "
                  "whole run, monitor included", heads, rows)


def space_table(all_numbers):
    heads = ["workload", "B/event", "no-free B/ev", "heaptrack B/ev", "raw B/ev", "plain MB", "target MB",
             "ht target MB", "monitor MB", "ht others MB", "report s", "ht_print s"]

    def megabytes(n, variant, *path):
        value = n.fact(variant, "memory", *path)
        return text(value / 1024 if value is not None else None, "%.0f")

    rows = []
    for n in all_numbers:
        row = [n.name] + [text(n.trace_per_event(v), "%.2f") for v in (
            "heapwise", "heapwise-nofree", "heaptrack", "heaptrack-raw")]
        row += [megabytes(n, v, "target", "hwm_kb") for v in ("plain", "heapwise", "heaptrack")]
        row += [megabytes(n, v, "others_kb") for v in ("heapwise", "heaptrack")]
        for variant in ("heapwise", "heaptrack"):
            report = n.fact(variant, "report_ns")
            row.append(text(report / 1e9 if report else None, "%.2f"))
        rows.append(row)
    return render("Trace size, peak memory, time to print the report of a finished trace", heads, rows)


def goals_table(all_numbers):
    rows = [[n.name, name, text(value, "%.2f"), text(must, "%.1f"), text(goal, "%.1f"), result]
            for n in all_numbers for name, value, must, goal, result in n.goals()]
    lines = render("Goals: `raw` and `whole` are how many times less Heapwise adds, the rest are upper limits",
                   ["workload", "what", "value", "must", "goal", "verdict"], rows, left=2)
    measured = [row[5] for row in rows if row[5] != "not measured"]
    missed = measured.count("MISSED")
    return lines + "%d of %d met, %d missed, %d not measured\n" % (
        len(measured) - missed, len(rows), missed, len(rows) - len(measured))


def caveats(all_numbers, limit):
    lines = []
    for n in all_numbers:
        if n.unsettled(limit):
            lines.append("%s: not settled, the two best runs are more than %.0f %% apart: %s" % (
                n.name, limit * 100, ", ".join(n.unsettled(limit))))
        difference = n.event_difference()
        if difference and difference != (0, 0):
            lines.append("%s: heaptrack counts %+d allocations and %+d frees" % ((n.name,) + difference))
        counts = n.fact("heapwise", "counts")
        if counts and (counts["lost_events"] or not counts["complete"]):
            lines.append("%s: INCOMPLETE, %s events lost" % (n.name, counts["lost_events"]))
    return "".join(line + "\n" for line in lines)


def render_all(all_numbers, limit):
    parts = [program_table(all_numbers), whole_table(all_numbers), cpu_table(all_numbers),
             space_table(all_numbers), goals_table(all_numbers), caveats(all_numbers, limit)]
    return "\n".join(part for part in parts if part)
