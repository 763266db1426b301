# SPDX-License-Identifier: MIT
"""From samples of access recording to ratios, limits and tables. Measures nothing.

Times are of the whole run, from the command's start until the profiler's file is there.
"""
from table import at_most, least, render, text

ADAPTIVE_TO_PLAIN = 3
ADAPTIVE_TO_IDLE = 1.6
VALGRIND_LIMIT = 1.5
TOTALS_LIMIT = 0.10
CHUNK_BYTES = 96
SHADOW_SHARE = 1 / 8
FIXED_KB = 8 * 1024  # the recorder itself; the same allowance as without accesses
COLUMNS = ("idle", "exact", "adaptive", "valgrind", "dhat")


class Numbers:
    """All derived numbers of one program."""

    def __init__(self, record):
        self.record = record
        self.name = record["name"]
        self.samples = record["samples"]
        self.facts = record["facts"]

    def seconds(self, variant):
        value = least(self.samples.get(variant), "wall_ns")
        return value / 1e9 if value is not None else None

    def ratio(self, variant, to):
        ours, theirs = self.seconds(variant), self.seconds(to)
        return ours / theirs if ours is not None and theirs else None

    def memory(self):
        """(private KB that exact recording adds to the program, KB that it may add); see README.md."""
        facts, accuracy = self.facts, self.record.get("accuracy")
        if not accuracy or "exact" not in facts or "plain" not in facts:
            return None
        plain, ours = facts["plain"]["memory"]["target"], facts["exact"]["memory"]["target"]
        may = FIXED_KB + (CHUNK_BYTES * accuracy["live_peak"] + SHADOW_SHARE * accuracy["bytes_peak"]) / 1024
        return ours["hwm_kb"] - ours["shmem_kb"] - plain["hwm_kb"], may

    def goals(self):
        """(name, value, limit, verdict) of everything that has a limit."""
        exact, limit = self.ratio("exact", "dhat"), self.record["exact_limit"]
        idle = self.ratio("idle", "plain")
        slowest = max(ADAPTIVE_TO_PLAIN, ADAPTIVE_TO_IDLE * idle) if idle else ADAPTIVE_TO_PLAIN
        found = [("exact : DHAT, time", exact, limit),
                 ("adaptive : plain, time", self.ratio("adaptive", "plain"), slowest),
                 ("valgrind : DHAT, time", self.ratio("valgrind", "dhat"), 1 / VALGRIND_LIMIT)]
        accuracy = self.record.get("accuracy")
        if accuracy and accuracy["compared"]:
            found += [("reads, estimated : true, off by", abs(accuracy["reads"] - 1), TOTALS_LIMIT),
                      ("writes, estimated : true, off by", abs(accuracy["writes"] - 1), TOTALS_LIMIT),
                      ("last access too early, epochs", accuracy["late_max_ns"] / accuracy["epoch_ns"], 1)]
        else:
            found += [("accuracy", None, 0)]
        if self.memory():
            found.append(("memory of exact, MB", self.memory()[0] / 1024, self.memory()[1] / 1024))
        return [goal + (at_most(goal[1], goal[2]),) for goal in found]

    def summary(self):
        return {"seconds": {v: self.seconds(v) for v in self.samples},
                "to_plain": {v: self.ratio(v, "plain") for v in self.samples},
                "to_dhat": {v: self.ratio(v, "dhat") for v in self.samples},
                "goals": [dict(zip(("name", "value", "limit", "verdict"), g)) for g in self.goals()]}


def time_table(numbers):
    heads = ["program", "plain s"] + [v + " s" for v in COLUMNS] + [v + "/plain" for v in COLUMNS] + \
            [v + "/DHAT" for v in COLUMNS[1:-1]]
    rows = [[n.name, text(n.seconds("plain"), "%.3f")] +
            [text(n.seconds(v), "%.3f") for v in COLUMNS] +
            [text(n.ratio(v, "plain"), "%.2f") for v in COLUMNS] +
            [text(n.ratio(v, "dhat"), "%.2f") for v in COLUMNS[1:-1]] for n in numbers]
    return render("The whole run (wall), ratios to the plain program and to DHAT", heads, rows)


def accuracy_table(numbers):
    heads = ["program", "chunks", "estimated", "accesses", "reads", "writes", "early max ms", "99 % ms",
             "events at most ms apart", "epoch ms"]
    rows = []
    for n in numbers:
        a = n.record.get("accuracy")
        if a and a["compared"]:
            rows.append([n.name, "%d" % a["chunks"], "%d" % a["estimated_chunks"], "%d" % a["accesses"],
                         "%.3f" % a["reads"], "%.3f" % a["writes"], "%.1f" % (a["late_max_ns"] / 1e6),
                         "%.1f" % (a["late_p99_ns"] / 1e6), "%.1f" % (a["resolution_ns"] / 1e6),
                         "%.0f" % (a["epoch_ns"] / 1e6)])
    return render("Adaptive against exact: sums of reads and writes (1 = the same), and how much too early the "
                  "last access is at least", heads, rows) if rows else ""


def goals_table(numbers):
    rows = [[n.name, name, text(value, "%.3f"), text(limit, "%.3f"), verdict]
            for n in numbers for name, value, limit, verdict in n.goals()]
    missed = [row for row in rows if row[4] == "MISSED"]
    unknown = [row for row in rows if row[4] == "not measured"]
    return render("Limits: each value may be at most this", ["program", "what", "value", "limit", "verdict"], rows,
                  left=2) + "%d of %d met, %d missed, %d not measured\n" % (
                      len(rows) - len(missed) - len(unknown), len(rows), len(missed), len(unknown))


def render_all(numbers):
    return "\n".join(part for part in (time_table(numbers), accuracy_table(numbers), goals_table(numbers)) if part)
