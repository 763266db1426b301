#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of live.sh that look into answers of a program that runs. SERVE_URL is the server's, HEAPWISE the program.

live_check.py ticks LINES | reconnect | slow | config | snapshot | endpoints | end EXIT SIGNAL | security | crowd |
              silent PID | scan PID | follow TRACE | documentation PAGE | drop FILE
"""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

HOST, TOKEN = re.match(r"http://([^/]+)/\?token=(\w+)", os.environ["SERVE_URL"]).groups()
NAME, PORT = HOST.rsplit(":", 1)
HANGS_S = 120  # sanitizers take ten times as long, on a busy machine as often again
NOTE = json.dumps({"status": "fixed", "text": "x"})
failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", text)


def equal(what, got, wanted):
    check(got == wanted, f"{what} is {got}, not {wanted}")


def ask(path, method="GET", body=None, headers=None):
    connection = http.client.HTTPConnection(HOST, timeout=60)
    connection.request(method, "/api/v1" + path, body,
                       headers if headers is not None else {"Authorization": "Bearer " + TOKEN, "X-Heapwise": "1"})
    answer = connection.getresponse()
    return answer, answer.read()


def api(path, method="GET", body=None, **parameters):
    """The whole reply; 503 is asked again."""
    query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
    for _ in range(100):
        answer, text = ask(path + query, method, body)
        if answer.status != 503:
            break
        time.sleep(0.2)
    check(answer.status == 200, f"{path}{query} is {answer.status}: {text[:200]}")
    return json.loads(text)


def data(path, **parameters):
    return api(path, **parameters).get("data", {})


class Viewer:
    """Server-Sent Events of /live, read by hand, so that a test can be as slow as it likes."""

    def __init__(self, last=None, receive=None):
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(30)
        self.socket.connect((NAME, int(PORT)))
        extra = f"Last-Event-ID: {last}\r\n" if last is not None else ""
        # HTTP 1.0: no chunks.
        self.socket.sendall(f"GET /api/v1/live HTTP/1.0\r\nHost: {HOST}\r\nAuthorization: Bearer {TOKEN}\r\n{extra}\r\n"
                            .encode())
        self.rest = b""
        self.head = self.block().decode()

    def block(self):
        """Up to an empty line; b"" at the end."""
        while True:
            for end in (b"\r\n\r\n", b"\n\n"):
                if end in self.rest:
                    block, self.rest = self.rest.split(end, 1)
                    return block
            got = self.socket.recv(65536)
            if not got:
                return b""
            self.rest += got

    def event(self):
        """(event, id, data); None at the end."""
        while True:
            block = self.block().decode()
            if not block:
                return None
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
            if "event" in fields:
                return fields["event"], int(fields["id"]) if "id" in fields else None, json.loads(fields["data"])

    def events(self, most=None, seconds=60):
        until = time.time() + seconds
        found = []
        while time.time() < until and (most is None or len(found) < most):
            event = self.event()
            if event is None:
                break
            found.append(event)
        return found

    def close(self):
        self.socket.close()


FIELDS = {"t", "malloc_s", "free_s", "realloc_s", "live", "live_bytes", "monitored", "monitored_bytes", "overhead_pct",
          "working_set", "working_unknown", "age", "age_bytes", "age_unknown", "age_unknown_bytes", "thr", "thr_states", "sizes", "top", "suspects"}
TOP = {"point", "fn", "file", "line", "own", "total", "n", "delta"}


def ticks(lines):
    """All ticks until the end are the reports that --batch prints."""
    viewer = Viewer()
    check("200" in viewer.head and "text/event-stream" in viewer.head and "no-store" in viewer.head, viewer.head)
    events = viewer.events()
    equal("last event", events[-1][0], "end")
    equal("what else there is", {event[0] for event in events[:-1]}, {"tick"})
    numbers = [event[1] for event in events[:-1]]
    equal("numbers", numbers, list(range(numbers[0], numbers[0] + len(numbers))))
    reports = [json.loads(line) for line in open(lines)]
    check(len(numbers) >= 2, f"{len(numbers)} ticks until the end")
    equal("last tick", numbers[-1], len(reports))
    for number, tick in ((event[1], event[2]) for event in events[:-1]):
        report = reports[number - 1]
        equal("fields", set(tick), FIELDS)
        check(all(set(row) == TOP for row in tick["top"]), tick["top"])
        equal("elapsed", tick["t"] // 1000000, report["elapsed_ms"])
        for ours, theirs in (("live", "live_areas"), ("live_bytes", "live_bytes"), ("monitored", "armed_areas"),
                             ("monitored_bytes", "armed_bytes"), ("sizes", "sizes_log2"), ("age_bytes", "age_bytes"),
                             ("age", "ages_s_1_2_4_8_16_32_more"), ("age_unknown", "age_unknown_areas"),
                             ("age_unknown_bytes", "age_unknown_bytes"), ("working_set", "working_bytes"),
                             ("working_unknown", "working_unknown_bytes")):
            equal(f"{ours} of tick {number}", tick[ours], report[theirs])
        rate = report["mallocs"] * 1000 / max(report["interval_ms"], 1)
        if report["interval_ms"] > 100:
            check(abs(tick["malloc_s"] - rate) <= 0.02 * rate + 2, f"{tick['malloc_s']} mallocs a second, not {rate}")
        equal("suspects", tick["suspects"]["n"], report["stale_areas"])
        equal("lost memory is known once it was looked for", tick["suspects"]["lost"] is None, "lost_areas" not in report)
        check(sum(row["own"] for row in tick["top"]) <= tick["live_bytes"], "more than all")
        check(len(json.dumps(tick)) <= 4096, "a tick has 4 kB at most")
        equal("order", [row["own"] for row in tick["top"]], sorted((row["own"] for row in tick["top"]), reverse=True))
    last = events[-2][2]
    equal("lost is known in the end", last["suspects"]["lost"], reports[-1]["lost_areas"])


def points(last):
    """The numbers of points are those of the trace."""
    detail = data("/points", limit=500)
    live = {point["id"]: point["live"] for point in detail["rows"]}
    check(len(last["top"]) == 10, last["top"])
    for row in last["top"]:
        frame = data(f"/stack/{row['point']}")["frames"][0]
        equal(f"function of point {row['point']}", frame["fn"], row["fn"])
        equal(f"line of point {row['point']}", frame["line"], row["line"])
        equal(f"bytes of point {row['point']}", live[row["point"]], row["own"])
    threads(last)


def threads(last):
    """What lives by the thread that allocated it: all together is what the last tick says."""
    told = data("/live/top", limit=200)
    equal("points of all", [{key: row[key] for key in row if key != "delta"} for row in last["top"]], told["rows"][:10])
    equal("bytes of all threads", sum(row["bytes"] for row in told["threads"]), last["live_bytes"])
    parts = [data("/live/top", limit=200, thread=row["thread"]) for row in told["threads"]]
    for row, part in zip(told["threads"], parts):
        equal(f"bytes of thread {row['thread']}", sum(point["own"] for point in part["rows"]), row["bytes"])
        equal("threads", part["threads"], told["threads"])
    equal("nobody's", data("/live/top", thread=4000000)["rows"], [])
    for query in ("thread=x", "limit=0", "limit=201", "tl=1s"):
        equal(f"status of {query}", ask("/live/top?" + query)[0].status, 400)


def reconnect():
    first = Viewer()
    had = first.events(3)[-1][1]
    first.close()
    time.sleep(2.5)
    again = Viewer(last=had)
    events = again.events(3)
    equal("ticks since then", [event[1] for event in events], [had + 1, had + 2, had + 3])
    history = data("/live/history")["ticks"]
    check(len(history) >= had + 2, f"{len(history)} ticks of {had + 2}")
    times = [tick["t"] for tick in history]
    equal("order", times, sorted(times))
    check(events[0][2] in history, "history has what was told")
    later = data("/live/history", **{"from": times[2]})["ticks"]
    equal("from", later[0]["t"], times[2])
    few = api("/live/history", res=2)
    check(len(few["data"]["ticks"]) <= 2 and few["truncated"], "few")
    check(few["data"]["ticks"][-1]["t"] >= times[-1], "the newest is among them")
    # What nobody can have is as if nothing was said.
    odd = Viewer(last=10 ** 12).events(1)
    equal("event", odd[0][0], "tick")
    check(Viewer(last="x' onerror").events(1)[0][0] == "tick", "nonsense")


def slow():
    """Who does not read misses ticks, is told how many, and gets the newest ones after that."""
    api("/live/config", "POST", json.dumps({"tick_ms": 250}))
    viewer = Viewer(receive=4096)
    time.sleep(14)
    events = viewer.events(seconds=20)
    gaps = [event[2]["missed"] for event in events if event[0] == "gap"]
    check(gaps and all(gap > 0 for gap in gaps), f"no gap in {len(events)} events")
    numbers = [event[1] for event in events if event[0] == "tick"]
    equal("numbers that are missing", numbers[-1] - numbers[0] + 1 - len(numbers), sum(gaps))
    equal("last event", events[-1][0], "end")


def config():
    before = data("/live/config")
    equal("as it was started", before, {"tl_ns": 3000000000, "overhead_pct": 2, "tick_ms": 1000})
    now = api("/live/config", "POST", json.dumps({"tl_ns": 1500000000, "overhead_pct": 5, "tick_ms": 250}))["data"]
    equal("in force", now, {"tl_ns": 1500000000, "overhead_pct": 5, "tick_ms": 250})
    equal("still", data("/live/config"), now)
    viewer = Viewer()
    events = viewer.events(9)
    # A busy machine holds single ticks up, not half of them.
    times = [event[2]["t"] / 1e9 for event in events[1:]]
    gaps = sorted(after - before for before, after in zip(times, times[1:]))
    check(0.1 < gaps[len(gaps) // 2] < 0.75, f"ticks of 250 ms are {gaps} s apart")
    equal("one is enough", api("/live/config", "POST", '{"tick_ms": 1000}')["data"],
          {"tl_ns": 1500000000, "overhead_pct": 5, "tick_ms": 1000})
    # Fewer are suspect the longer one waits; with a bound beyond the run's time, none.
    # The program goes on meanwhile: what is asked later finds more, not less.
    counts = [data("/live/suspects", tl=tl)["n"] for tl in ("1000s", "2s", "1s")]
    check(0 == counts[0] <= counts[1] <= counts[2] and counts[2] > 0, f"suspects: {counts}")
    equal("bound", data("/live/suspects")["tl_ns"], 1500000000)
    for body in ('{"tick_ms": 20}', '{"tl_ns": "1s"}', '{"overhead_pct": -1}', '{"overhead_pct": 1e9}', "[]", "{", "",
                 '{"tick": 1}'):
        answer, text = ask("/live/config", "POST", body)
        equal(f"status of {body}", answer.status, 400)
    suspects()


def suspects():
    rows = data("/live/suspects", tl="1s", limit=500)["rows"]
    keys = {"chunk", "point", "fn", "file", "line", "type", "size", "age", "idle", "threshold", "hits", "state"}
    check(rows and all(set(row) == keys for row in rows), rows[:1])
    check(all(row["idle"] >= 1e9 and row["age"] >= row["idle"] and row["state"] in ("unknown", "reachable", "lost") for row in rows),
          "times")
    stale = [row["fn"] for row in rows]
    check(stale.count("leaky_0") and stale.count("leaky_1") and stale.count("leaky_2"), f"{set(stale)}")
    for sort, key in (("-idle", "idle"), ("-size", "size"), ("age", "age"), ("hits", "hits")):
        found = [row[key] for row in data("/live/suspects", tl="1s", sort=sort, limit=50)["rows"]]
        equal(f"order by {sort}", found, sorted(found, reverse=sort[0] == "-"))
    largest = max(row["size"] for row in rows)
    equal("largest first", data("/live/suspects", tl="1s", sort="-size", limit=1)["rows"][0]["size"], largest)
    for query in ("tl=soon", "sort=name", "limit=0", "limit=501", "nothing=1", "tl=0"):
        equal(f"status of {query}", ask("/live/suspects?" + query)[0].status, 400)


def scan():
    """Who looks which memory is lost gets to know it here, too."""
    time.sleep(4)
    # Some may be known already: memory is scanned when there are suspects.
    before = data("/live/suspects", tl="2s", limit=500)
    check(before["rows"], "suspects")
    check(before["scanned"] or {row["state"] for row in before["rows"]} == {"unknown"}, "unknown before a scan")
    check(all(row["state"] != "lost" for row in before["rows"] if row["fn"] == "leaky_0"), "what is reachable")
    # Memory is suspect after 3 s of being watched without a break, which it is sooner or later.
    for _ in range(6):
        subprocess.run([os.environ["HEAPWISE"], "ctl", sys.argv[2], "scan"], check=True, stdout=subprocess.DEVNULL)
        found = data("/live/suspects", tl="3s", limit=500)
        if {"leaky_0", "leaky_1", "leaky_2"} <= {row["fn"] for row in found["rows"]}:
            break
        time.sleep(2)
    check(found["scanned"], "scanned")
    # leaky_0 keeps its pointers, the others lose theirs; what is born later is not known.
    for name, state in (("leaky_0", "reachable"), ("leaky_1", "lost"), ("leaky_2", "lost")):
        states = {row["state"] for row in found["rows"] if row["fn"] == name}
        equal(f"state of {name}", states, {state})
    tick = Viewer().events(3)[-1][2]
    check(tick["suspects"]["lost"] > 0 and tick["suspects"]["lost_bytes"] > 0, tick["suspects"])


def report(path):
    out = subprocess.run([os.environ["HEAPWISE"], "report", "--format", "json", path], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out)


def without_caveats(value):
    if isinstance(value, dict):
        return {key: without_caveats(part) for key, part in value.items() if key not in ("path", "trace")}
    return [without_caveats(part) for part in value] if isinstance(value, list) else value


def snapshot():
    made = [api("/live/snapshot", "POST", "")["data"] for _ in range(2)]
    check(made[0]["id"] != made[1]["id"] and made[0]["name"] != made[1]["name"], made)
    for one in made:
        check(one["id"] in one["url"], one)
        equal("traces", [trace["state"] for trace in data("/status")["traces"] if trace["id"] == one["id"]], ["ready"])
        theirs = report(one["path"])
        ours = data("/report", trace=one["id"])
        equal("report of the snapshot", without_caveats(ours), without_caveats(theirs))
        overview = data("/overview", trace=one["id"])
        check(overview["counts"]["allocs"] > 1000, overview["counts"])
        info = data("/trace", trace=one["id"])
        equal("a snapshot is recorded", info["caps"]["live"], False)
        answer, _ = ask("/overview?trace=" + one["id"])
        check(answer.headers["ETag"], "a snapshot does not change, so that it can be kept")
    earlier, later = (data("/trace", trace=one["id"])["counts"]["chunks"] for one in made)
    check(later > earlier, f"the program goes on: {earlier}, {later}")


def endpoints():
    """Everything that a recorded trace can be asked answers while the program runs, from what is there."""
    page = ask("")[1].decode()
    rows = re.findall(r"<tr><td>(\w+)</td><td>(.*?)</td>", page)
    paths = [re.sub(r"<.*?>", "", path)[len("/api/v1"):] for method, path in rows
             if method == "GET" and "{" not in path and "/api/v1/" in path]
    check(len(paths) > 25, f"{len(paths)} endpoints")
    values = {"/callers": "?fn=main", "/callees": "?fn=main", "/source": "?file=0", "/flame/search": "?s=leaky",
              "/memmap/at": "?addr=0x1000", "/memmap/page": "?addr=0x1000", "/owners/path": "?chunk=0", "/compare": "?base=" + data("/status")["traces"][0]["id"]}
    api("/overview")
    for path in paths:
        if path in ("/live", "/types/fields"):
            continue  # has no end; wants a type, and the program has none
        answer, body = ask(path + values.get(path, ""))
        if path.startswith("/owners"):
            equal(f"status of {path} without pointers", (answer.status, b"no owners" in body), (400, True))
            continue
        check(answer.status in (200, 404), f"{path} is {answer.status}: {body[:100]}")
        if path not in ("/query/boxes",):
            equal(f"cache of {path}", answer.headers["Cache-Control"], "no-store")
        equal(f"tag of {path}", answer.headers["ETag"] if path != "/query/boxes" else None, None)
    status = data("/status")
    equal("state", status["state"], "live")
    equal("state of the trace", status["traces"][0]["state"], "live")
    equal("live", data("/trace")["caps"]["live"], True)
    equal("notes without a file", (data("/trace")["caps"].get("notes"), ask("/notes/leak-1", "PUT", NOTE)[0].status), (False, 409))
    first = api("/overview")
    until = time.time() + 20
    while time.time() < until:
        later = api("/overview")
        if later["epoch"] > first["epoch"]:
            break
        time.sleep(0.3)
    check(later["epoch"] > first["epoch"] > 0, "no new epoch")
    check(later["total"]["chunks"] > first["total"]["chunks"], "the program has gone on")
    names = {row["fn"] for row in data("/points", limit=100)["rows"]}
    check({"leaky_0", "leaky_1", "leaky_2"} <= names, f"names: {names}")


def end():
    """argv: exit signal"""
    events = Viewer().events()
    equal("last event", events[-1][0], "end")
    equal("how", [events[-1][2]["exit"], events[-1][2]["signal"]], [json.loads(word) for word in sys.argv[2:4]])
    status = data("/status")
    equal("state", status["state"], "ready")
    equal("trace", events[-1][2]["trace"], status["traces"][0]["id"])
    info = data("/trace", trace=events[-1][2]["trace"])
    equal("complete", info["complete"], True)
    answer, _ = ask("/overview")
    check(answer.headers["ETag"], "it does not change any more")
    last = [event for event in events if event[0] == "tick"][-1]
    if sys.argv[2] == "0":
        points(last[2])
    again = Viewer(last=last[1]).events()
    equal("who comes later", [event[0] for event in again], ["end"])
    check(len(data("/live/history")["ticks"]) >= 1, "history stays")
    data("/live/suspects", tl="1s")
    data("/live/config")


def security():
    none = {}
    for path in ("/live", "/live/history", "/live/suspects", "/live/top", "/live/config"):
        equal(f"{path} without a token", ask(path, headers=none)[0].status, 401)
        wrong = {"Authorization": "Bearer " + "0" * len(TOKEN)}
        equal(f"{path} with another token", ask(path, headers=wrong)[0].status, 401)
        other = {"Authorization": "Bearer " + TOKEN, "Host": "evil.example"}
        check(ask(path, headers=other)[0].status in (400, 403, 421), f"{path} with another host")
    for path in ("/live/config", "/live/snapshot"):
        equal(f"{path} without a token", ask(path, "POST", "{}", {"X-Heapwise": "1"})[0].status, 401)
        equal(f"{path} of another page", ask(path, "POST", "{}", {"Authorization": "Bearer " + TOKEN})[0].status, 403)
        large = ask(path, "POST", " " * (1 << 20))[0].status
        equal(f"{path} with a large body", large, 413)
    equal("POST", ask("/live", "POST", "")[0].status, 405)
    equal("GET", ask("/live/snapshot")[0].status, 405)
    equal("unknown parameter", ask("/live?x=1")[0].status, 400)
    equal("traces", len(data("/status")["traces"]), 1)
    check("Access-Control-Allow-Origin" not in Viewer().head, "other pages may not read it")


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def crowd():
    """100 viewers at once, and others still get answers."""
    api("/live/config", "POST", json.dumps({"tick_ms": 250}))
    heard = []

    def look():
        events = Viewer().events(8, seconds=30)
        heard.append([event[1] for event in events if event[0] == "tick"])

    threads = [threading.Thread(target=look) for _ in range(100)]
    for thread in threads:
        thread.start()
    start = time.time()
    check(api("/points", limit=1)["data"]["rows"], "an answer among them")
    check(time.time() - start < 15, "it took long")
    for thread in threads:
        thread.join()
    equal("viewers", len(heard), 100)
    check(all(len(numbers) >= 6 for numbers in heard), f"ticks: {sorted(len(numbers) for numbers in heard)[:5]}")


def silent(pid):
    """Viewers that never read cost nothing more the longer they stay."""
    api("/live/config", "POST", json.dumps({"tick_ms": 250}))
    viewers = [Viewer(receive=4096) for _ in range(40)]
    time.sleep(4)
    before = resident(pid)
    time.sleep(9)
    after = resident(pid)
    # Ticks are kept for those who come later: 36 of 4 kB at most. The rest is for the areas of the program.
    check(after - before < 4096, f"{after - before} kB more in 9 s")
    check(data("/live/config"), "others are served")
    for viewer in viewers:
        viewer.close()


def has_keys(example, answer, where):
    if isinstance(example, dict):
        for key, value in example.items():
            check(isinstance(answer, dict) and key in answer, f"{where} has no '{key}'")
            if isinstance(answer, dict) and key in answer:
                has_keys(value, answer[key], f"{where}.{key}")
    elif isinstance(example, list) and example:
        check(isinstance(answer, list) and answer, f"{where} is no list, or empty")
        if answer:
            has_keys(example[0], answer[0], where + "[0]")


def documentation():
    text = open(sys.argv[2], encoding="utf-8").read()
    examples = [row for row in re.findall(r"```http\n(\w+) (\S+)\n(.*?)```\n+```json\n(.*?)```", text, re.S)
                if "/live" in row[1]]
    check(len(examples) >= 5, f"{len(examples)} examples")
    time.sleep(4)
    for method, path, body, shown in examples:
        has_keys(json.loads(shown), api(path[len("/api/v1"):], method, body.strip() or None), f"{method} {path}")
    stream = re.search(r"```\nGET /api/v1/live\n(.*?)```", text, re.S)[1]
    shown = {event: json.loads(words) for event, words in re.findall(r"event: (\w+)\n(?:id: \d+\n)?data: (.*)", stream)}
    equal("events", set(shown), {"tick", "gap", "end"})
    told = {event: words for event, _, words in Viewer().events()}
    for event in ("tick", "end"):
        has_keys(shown[event], told[event], event)


def drop():
    """Sends a trace in pieces, and has it opened."""
    sent = {"upload": 0, "bytes": 0}
    with open(sys.argv[2], "rb") as file:
        while piece := file.read(192 << 10):
            sent = api("/uploads/dropped.hwt", "PUT", piece, offset=sent["bytes"], upload=sent["upload"])["data"]
    api("/traces", "POST", json.dumps({"upload": sent["upload"]}))


def follow():
    """A trace that another heapwise is writing."""
    status = data("/status")
    equal("state", status["state"], "live")
    first = api("/overview")
    equal("live ticks", data("/trace")["caps"]["live"], False)
    equal("ticks", ask("/live")[0].status, 404)
    check("fn" in data("/points", limit=1)["rows"][0], "names")
    api("/notes/leak-1", "PUT", NOTE)
    check(os.path.exists(sys.argv[2] + ".notes.json"), "a note is not beside the trace")
    until = time.time() + HANGS_S
    while time.time() < until and api("/overview")["epoch"] == first["epoch"]:
        time.sleep(0.2)
    later = api("/overview")
    check(later["epoch"] > first["epoch"] > 0, "no new epoch")
    check(later["total"]["chunks"] > first["total"]["chunks"], "it has grown")
    until = time.time() + HANGS_S
    while time.time() < until and data("/status")["state"] == "live":
        api("/overview")
        time.sleep(0.3)
    equal("after the end", data("/status")["state"], "ready")
    equal("complete", data("/trace")["complete"], True)
    equal("notes", [note["finding"] for note in data("/notes")], ["leak-1"])
    equal("report", without_caveats(data("/report")), without_caveats(report(sys.argv[2])))


if __name__ == "__main__":
    case = sys.argv[1]
    if case == "ticks":
        ticks(sys.argv[2])
    elif case == "silent":
        silent(int(sys.argv[2]))
    else:
        {"reconnect": reconnect, "slow": slow, "config": config, "snapshot": snapshot, "endpoints": endpoints,
         "end": end, "security": security, "crowd": crowd, "follow": follow, "documentation": documentation, "scan": scan, "drop": drop}[case]()
    sys.exit(failures > 0)
