# SPDX-License-Identifier: MIT
# fleet_check.py WHAT HEAPWISE STORE FOLDER...   what a store answers, against the traces in the folders. All numbers here
# come from single traces: from their chunks in an SQLite export, and from the commands for one trace.
import concurrent.futures, glob, itertools, json, math, os, sqlite3, statistics, subprocess, sys, tempfile, time

what, heapwise, store, folders = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
wrong = 0


def fail(text):
    global wrong
    wrong += 1
    print("FAILED:", text)


def run(*words):
    return json.loads(subprocess.run([heapwise, *words], check=True, capture_output=True).stdout)


def ask(*words):
    return run("fleet", *words, "--to", store, "--format", "json")


def near(a, b, share=1e-6):
    return a == b or abs(a - b) <= share * max(abs(a), abs(b))


def traces(folder):
    return sorted(glob.glob(folder + "/*.hwt"), key=lambda path: int(os.path.basename(path)[:-4]))


def key_of(functions):
    """Functions from the innermost to main, as stacks are compared across builds."""
    key = []
    for name in functions:
        key.append(name)
        if name == "main":
            break
    return tuple(key)


class Trace:
    """One trace: sums by stack, from its chunks; its scores and leaks, by the commands for one trace."""

    def __init__(self, path):
        self.scores = self.lost = None
        if what == "questions":
            self.scores = run("scores", "-n", "0", "--format", "json", path)["points"]
            self.lost = run("leaks", "--format", "json", "-k", "all", "-n", "0", path)["lost"]["bytes"] or 0
        with tempfile.TemporaryDirectory() as folder:
            name = folder + "/t.db"
            subprocess.run([heapwise, "export", "--to", "sqlite", "-o", name, path], check=True, capture_output=True)
            db = sqlite3.connect(name)
            self.end = db.execute("SELECT duration_ns FROM runs").fetchone()[0]
            self.totals = db.execute("SELECT bytes, allocations, peak_bytes, kept_bytes FROM runs").fetchone()
            stacks = {}
            for stack, function in db.execute(
                "SELECT s.stack, fn.name FROM stacks s JOIN frames f ON f.frame = s.frame"
                " JOIN functions fn ON fn.function = f.function ORDER BY s.stack, s.depth"
            ):
                stacks.setdefault(stack, []).append(function)
            self.places = {}
            for point, stack, peak in db.execute("SELECT point, stack, own_peak_bytes FROM points"):
                row = self.places.setdefault(key_of(stacks[stack]), {"bytes": 0, "count": 0, "time": 0.0, "kept": 0, "peak": 0})
                row["peak"] = max(row["peak"], peak)
                for size, born, died, end in db.execute(
                    "SELECT size, alloc_ns, free_ns, end FROM chunks WHERE point = ?", (point,)
                ):
                    row["bytes"] += size
                    row["count"] += 1
                    row["time"] += size * ((self.end if died is None else died) - born) / 1e9
                    row["kept"] += size if end == "kept" else 0


def load():
    """Each trace once. Nearly all of the time goes to processes that are started for it, on each CPU one."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {folder: list(pool.map(Trace, traces(folder))) for folder in folders}
    print(f"{sum(map(len, runs.values()))} traces read in {time.monotonic() - began:.1f} s")
    return runs


def functions_of(row):
    return key_of([frame["function"] for frame in row["stack"]])


def sums(all_runs):
    places = {}
    for trace in all_runs:
        for key, row in trace.places.items():
            total = places.setdefault(key, {"bytes": 0, "count": 0, "time": 0.0, "kept": 0, "runs": 0, "peak": 0})
            for name in ("bytes", "count", "time", "kept"):
                total[name] += row[name]
            total["peak"] = max(total["peak"], row["peak"])
            total["runs"] += 1
    return places


def check_top(all_runs, exact_names=True):
    want = sums(all_runs)
    rows = ask("top", "-n", "0")["rows"]
    if len(rows) != len(want):
        fail(f"top has {len(rows)} places, the traces {len(want)}")
    if any(a["byte_seconds"] < b["byte_seconds"] for a, b in zip(rows, rows[1:])):
        fail("top is not in order")
    if not exact_names:
        return
    for row in rows:
        place = want.get(functions_of(row))
        if not place:
            fail(f"top has a place that no trace has: {functions_of(row)}")
            continue
        got = (row["bytes"], row["allocations"], row["kept_bytes"], row["runs"], row["max_peak_bytes"])
        if got != (place["bytes"], place["count"], place["kept"], place["runs"], place["peak"]):
            fail(f"top says {got} of {functions_of(row)[:2]}, the traces {place}")
        # Chunks' times are whole nanoseconds, which is what a byte may be off; sums are of ticks, at the mean rate of the run.
        off = abs(row["byte_seconds"] - place["time"])
        if off > place["bytes"] / 1e9 + 1e-4 * place["time"]:
            fail(f"bytes x time of {functions_of(row)[:2]} is {row['byte_seconds']}, by the chunks {place['time']}")


def mann_whitney(a, b):
    """By counting pairs, and all ways to choose who is b: another way than the one that is checked."""
    u = sum((y > x) + (y == x) / 2 for x in a for y in b)
    delta = 2 * u / (len(a) * len(b)) - 1
    both = a + b
    if len(set(both)) == len(both) and max(len(a), len(b)) <= 20:
        far = abs(u - len(a) * len(b) / 2)
        count = extreme = 0
        for chosen in itertools.combinations(range(len(both)), len(b)):
            side = set(chosen)
            other = sum(
                both[j] > both[i] for j in chosen for i in range(len(both)) if i not in side
            )
            count += 1
            extreme += abs(other - len(a) * len(b) / 2) >= far - 1e-9
        return extreme / count, delta
    n, m, N = len(a), len(b), len(both)
    ties = sum(both.count(v) ** 3 - both.count(v) for v in set(both))
    sd = math.sqrt(n * m / 12 * (N + 1 - ties / (N * (N - 1))))
    z = max(0, (abs(u - n * m / 2) - 0.5) / sd) if sd else 0
    return math.erfc(z / math.sqrt(2)), delta


def check_growth(runs, old, new, since):
    answer = ask("growth", "-n", "0", "--old", old, "--new", new, "--min-growth", "1", "--by", "bytes")
    values = lambda build, key: [trace.places.get(key, {"bytes": 0})["bytes"] for trace in runs[build]]
    keys = {key for build in (old, new) for trace in runs[build] for key in trace.places}
    tests = []
    for key in keys:
        a, b = values(old, key), values(new, key)
        growth = statistics.mean(b) - statistics.mean(a)
        if growth >= 1:
            tests.append((*mann_whitney(a, b), growth, key))
    tests.sort()
    least, want = 1, {}
    for i in reversed(range(len(tests))):
        p, delta, growth, key = tests[i]
        least = min(least, p * len(keys) / (i + 1))
        if least <= 0.05 and delta >= 0.15:
            want[key] = (growth, delta, p, least)
    got = {functions_of(row): row for row in answer["rows"]}
    if set(got) != set(want):
        fail(f"growth {old} {new} names {len(got)} places, the traces {len(want)}")
    for key in set(got) & set(want):
        growth, delta, p, q = want[key]
        row = got[key]
        if abs(row["growth"] - growth) > 1 or not near(row["effect"], delta) or not near(row["p"], p) or not near(row["q"], q):
            fail(f"growth of {key[:2]}: {row['growth'], row['effect'], row['p'], row['q']}, by the traces {want[key]}")
    if since:
        if not got:
            fail(f"nothing grew from {old} to {new}")
        early = sum(row["first_build"] != since for row in got.values())
        if early > 0.1 * len(got):
            fail(f"{early} of {len(got)} places did not grow in {since}")


def check_hosts(runs):
    groups = {}
    for build in ("b1", "b2", "b3"):
        for i, trace in enumerate(runs[build]):
            groups.setdefault(build, {}).setdefault(f"host{i % 5}", []).append(trace.totals[2])
    want = {}
    for build, hosts in groups.items():
        medians = {host: statistics.median(values) for host, values in hosts.items()}
        centre = statistics.median(medians.values())
        spread = statistics.median(abs(v - centre) for v in medians.values()) / 0.67449
        spread = spread or statistics.mean(abs(v - centre) for v in medians.values()) / 0.797885
        for host, value in medians.items():
            if spread and abs(value - centre) / spread >= 3.5:
                want[host, build] = (value - centre) / spread
    got = {(row["host"], row["build"]): row["distance"] for row in ask("hosts", "-n", "0")["rows"]}
    if set(got) != set(want) or any(not near(got[k], want[k], 1e-4) for k in want):
        fail(f"hosts: {got}, by the traces {want}")


def check_scores(all_runs):
    points = [point for trace in all_runs for point in trace.scores]
    answer = ask("scores")
    bins = answer["bins"]
    for score in ("lifetime", "usage", "useful"):
        known = [p[score] for p in points if p.get(score) is not None]
        want = [0] * 10
        for value in known:
            want[min(9, int(math.floor(value * 10 + 1e-7)))] += 1
        got = [row["points"] for row in bins if row["score"] == score]
        # A score is stored in 24 bits: one that lies at the edge of a bin may fall to either side.
        if sum(got) != len(known) or sum(abs(a - b) for a, b in zip(got, want)) > 2:
            fail(f"bins of {score}: {got}, by the traces {want}")
        row = [row for row in answer["scores"] if row["score"] == score][0]
        if row["points"] != len(known) or (known and not near(row["mean"], statistics.mean(known), 1e-4)):
            fail(f"{score}: {row}, by the traces {len(known)} with mean {statistics.mean(known)}")


def check_leaks(runs):
    want = {}
    for folder in folders:
        for trace in runs[folder]:
            row = want.setdefault("lost" if folder == "lost" else folder, [0, 0, 0])
            row[0] += 1
            row[1] += trace.lost
            row[2] += trace.totals[3]
    got = {}
    for row in ask("leaks", "-n", "0")["builds"]:
        name = row["build"] if row["build"] in want else "lost"
        got[name] = [row["runs"], row["lost_bytes"], row["kept_bytes"]]
    if got != want:
        fail(f"leaks: {got}, by the traces {want}")
    if "lost" in want and want["lost"][1] == 0:
        fail("the program that loses memory lost none")


def check_totals(runs):
    want = sorted(trace.totals for folder in runs.values() for trace in folder)
    got = sorted((row["bytes"], row["allocations"], row["peak_bytes"], row["kept_bytes"]) for row in ask("runs", "-n", "0")["rows"])
    if got != want:
        fail(f"totals of {len(got)} runs differ from those of {len(want)} traces")


def check_whole():
    """The points of each run that is seen add up to the run."""
    hosts = store.split("@")[-1].split("/")[0].split(",")
    for host in hosts:
        for select in (
            "SELECT push, sum(bytes), count() FROM fleet.points WHERE push IN (SELECT push FROM fleet.runs) GROUP BY push",
            "SELECT push, bytes, points FROM fleet.runs",
        ):
            rows = subprocess.run(["curl", "-s", f"http://{host}/", "--data-binary", select + " ORDER BY push"], capture_output=True).stdout
            if select.endswith("runs"):
                if rows != before:
                    fail(f"points of runs at {host} do not add up")
            before = rows


if what == "questions":
    runs = load()
    everything = [trace for folder in runs.values() for trace in folder]
    check_totals(runs)
    check_top(everything)
    check_growth(runs, "b1", "b2", None)
    check_growth(runs, "b2", "b3", "b3")
    check_growth(runs, "b1", "b3", "b3")
    check_hosts(runs)
    check_scores(everything)
    check_leaks(runs)
elif what == "totals":
    runs = load()
    check_totals(runs)
    check_top([trace for folder in runs.values() for trace in folder])
elif what == "whole":
    check_whole()
else:
    fail("what?")
sys.exit(wrong != 0)
