#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of serve.sh that look into answers. SERVE_URL is the server's, HEAPWISE the program.

serve_check.py more | cycles | report_file FILE | endpoints | empty | hostile | parity TRACE | parts TRACE | selections TRACE | base |
               details TRACE | metrics TRACE | idle | open_file FILE | owners TRACE | documentation PAGE
"""
import base64
import gzip
import html
import http.client
import json
import os
import re
import struct
import subprocess
import sys
import time
import urllib.parse

HOST, TOKEN = re.match(r"http://([^/]+)/\?token=(\w+)", os.environ["SERVE_URL"]).groups()
failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", text)


def ask(path, method="GET", body=None, headers=None):
    connection = http.client.HTTPConnection(HOST, timeout=60)
    connection.request(method, path, body,
                       {"Authorization": "Bearer " + TOKEN, "X-Heapwise": "1", **(headers or {})})
    answer = connection.getresponse()
    return answer.status, answer.read()


def api(path, **parameters):
    query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
    status, body = ask("/api/v1/" + path + query)
    body.decode("utf-8")  # always, whatever names there are
    reply = json.loads(body)
    check(status == 200, f"{path}{query} is {status}: {body[:200]}")
    return reply


def data(path, **parameters):
    return api(path, **parameters).get("data")


LIVE = "/api/v1/live"  # of programs that run: see live.sh
PAGES = ("/", "/{file}", "/api/v1")  # no JSON


def routes():
    """(method, path) of all routes, from their list."""
    page = ask("/api/v1")[1].decode()
    rows = re.findall(r"<tr><td>(\w+)</td><td>(.*?)</td>", page)
    return [(method, html.unescape(re.sub(r"<.*?>", "", path))) for method, path in rows]


def command(*words):
    out = subprocess.run([os.environ["HEAPWISE"], *words], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return json.loads(out)


def columns(path, **parameters):
    """The same as JSON and as binary columns."""
    reply = data(path, **parameters)
    status, body = ask("/api/v1/" + path + "?" + urllib.parse.urlencode({**parameters, "format": "columns"}))
    check(status == 200 and body[:4] == b"HWC1", f"{path} has no columns")
    length = struct.unpack_from("<I", body, 4)[0]
    header = json.loads(body[8:8 + length])
    start = (8 + length + 7) // 8 * 8
    for column in header["columns"]:
        code = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d"}[column["t"]]
        binary = struct.unpack_from(f"<{column['l']}{code}", body, start + column["o"])
        for a, b in zip(reply["columns"][column["n"]], binary):
            check((a is None and b != b) or (a is not None and abs(a - b) <= 1e-6 * max(1, abs(a))),
                  f"{path}: {column['n']} is {a} and {b}")
        check(len(binary) == len(reply["columns"][column["n"]]), f"{path}: rows of {column['n']}")
    check(header["strings"] == reply["strings"], f"{path}: strings")
    return reply


# ---- every endpoint ----

def flame_is_sound(flame):
    c = flame["columns"]
    boxes = {i: k for k, i in enumerate(c["id"])}
    for k in range(flame["rows"]):
        check(c["x1"][k] >= c["x0"][k] - 1e-12, "a box ends before it begins")
        parent = boxes.get(c["parent"][k])
        if k and parent is not None and not c["flags"][k] & 32:
            check(c["x0"][k] >= c["x0"][parent] - 1e-9 and c["x1"][k] <= c["x1"][parent] + 1e-9,
                  f"box {c['id'][k]} is not within its parent")
    order = [(c["depth"][k], c["x0"][k]) for k in range(flame["rows"]) if not c["flags"][k] & 32]
    check(order == sorted(order), "boxes are not in order")


def endpoints():
    known = {path for _, path in routes()}
    check(len(known) > 40, "routes of the page")
    trace = data("trace")
    check(trace["counts"]["chunks"] > 0 and trace["caps"]["stacks"], "trace")
    # The answers of every GET without names in its path, with its defaults, are JSON, or say what is missing.
    for method, path in routes():
        if method != "GET" or "{" in path or path in PAGES:
            continue
        if path.startswith(LIVE):
            check(ask(path)[0] == 404, f"{path} of a recorded trace")
            continue
        status, body = ask(path)
        check(status in (200, 400), f"{path} is {status}")
        if path.endswith(".txt"):
            check(body.startswith(b"Memory leaks"), path)
            continue
        reply = json.loads(body)
        check(("data" in reply) == (status == 200), f"{path}: {body[:100]}")
        if status == 200:
            check(reply["v"] == 1 and {"epoch", "took_us", "truncated", "matched", "total"} <= reply.keys(), f"{path}: envelope")
    whole = api("flame")
    check(whole["matched"] == whole["total"], "all is matched")
    for metric in "allocs bytes peak live kept temporary alloc_time chunks_live".split():
        for direction in ("down", "up"):
            flame = columns("flame", metric=metric, dir=direction, px=300)
            flame_is_sound(flame)
    function = [s for s in data("flame")["strings"] if s == "exchange"]
    check(function, "the function of the program is in the flame graph")
    pivot = columns("flame", dir="pivot", pivot="exchange")
    flame_is_sound(pivot)
    found = data("flame/search", s="exchange")
    check(found["frames"] >= 1 and 0 < found["pct"] <= 100.0001, f"search: {found}")
    check(data("flame/search", s="/^exch.*e$/")["total"] == found["total"], "search by expression")
    check(data("flame/search", s="EXCHANGE")["total"] == found["total"], "search in any case")
    root = next(i for i in found["first"])
    zoomed = data("flame", root=root)
    check(abs(zoomed["columns"]["x1"][0] - 1) < 1e-9, "a root fills the width")
    check(data("flame")["path"] == [], "the whole is part of nothing")
    above = zoomed["path"]
    check(above[0]["name"] == "all" and above[-1]["id"] == zoomed["columns"]["parent"][0], f"what the root is part of: {above}")
    check(all(a["total"] >= b["total"] for a, b in zip(above, above[1:])), "and holds")
    folded = data("flame", fold=1)
    start = {"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "__clone3", "clone3"}
    check(not start & set(folded["strings"]) and "exchange" in folded["strings"], "start-up code is folded")
    check(folded["total"] == whole["data"]["total"] and folded["nodes_all"] < data("flame")["nodes_all"], "and its weight stays")
    hidden = data("flame", hide="exchange")
    check("exchange" not in hidden["strings"], "a hidden frame is gone")
    check(hidden["total"] == data("flame")["total"], "and its weight stays")
    for by in "none type module thread point size sev fn".split():
        for metric in "live chunks allocs frees alloc_bytes".split():
            line = data("timeline", by=by, metric=metric, bins=50)
            check(len(line["t"]) == 50 and len(line["total"]["max"]) == 50, f"timeline {by} {metric}")
            if by != "none":
                parts = [s["last"] for s in line["series"]] + ([line["other"]["last"]] if line["other"] else [])
                for i in range(50):
                    total, parted = line["total"]["last"][i], sum(p[i] for p in parts)
                    check(abs(total - parted) <= 1e-6 * max(1, abs(total)),
                          f"timeline {by} {metric}: bin {i} is {total}, its parts {parted}")
    check("exchange" in [s["label"] for s in data("timeline", by="fn")["series"]], "functions over time")
    points = data("points", limit=500, spark=32)
    check(points["total"] == len(points["rows"]) > 0, "points")
    for row in points["rows"]:
        check(len(base64.b64decode(row["spark"])) == 32, "spark")
        detail = data(f"points/{row['id']}")
        check(detail["stats"]["bytes"] == row["bytes"], f"bytes of point {row['id']}")
        check(sum(h["n"] for h in detail["stats"]["size"]["hist"]) == row["chunks"], "sizes of a point")
        own = data(f"points/{row['id']}/timeline", bins=20)
        check(max(own["total"]["max"]) == row["peak"], f"peak of point {row['id']}")
        stack = data(f"stack/{row['id']}")
        check(stack["frames"] == detail["stack"], "stack of a point")
        check(data("chunks", point=row["id"])["chunks"] == row["chunks"], "chunks of a point")
    for sort in ("-bytes", "fn", "type,-peak", "usage", "id"):
        check(len(data("points", sort=sort)["rows"]) == min(100, points["total"]), f"sort {sort}")
    for order in "time size life addr last".split():
        columns("chunks", order=order, rows=50)
    for lane in "row packed thread".split():
        bars = columns("chunks", lane=lane)
        check(bars["mode"] == "rows" and max(bars["columns"]["row"]) < bars["rows_all"], f"lane {lane}")
    check(data("chunks", rows=10, y0=5)["rows"] == 10, "rows in view")
    chunk = data("chunks/5")
    check(chunk["id"] == 5 and chunk["alloc_stack"] and chunk["addr"].startswith("0x"), "chunk")
    middle = trace["duration_ns"] // 2
    for color in "alternate type module thread age sev fn".split():
        memory = data("memmap", color=color, at=middle, w=64, h=64)
        check(len(base64.b64decode(memory["pixels"])) == 64 * 64, f"pixels by {color}")
        check(len(memory["legend"]) > 1, f"legend by {color}")
    regions = data("memmap/regions", at=middle)
    live = data("flame", metric="live", at=middle)["total"]
    check(sum(r["live"] for r in regions["rows"]) == live, "regions hold what is live")
    where = data("memmap/at", at=middle, addr=regions["rows"][0]["start"])
    check(where["chunk"] is not None and where["start"] == regions["rows"][0]["start"], "chunk at an address")
    threads = data("threads")
    check(sum(map(sum, threads["matrix"])) == trace["counts"]["chunks"], "matrix of threads")
    check(sum(r["allocs"] for r in threads["rows"]) == trace["counts"]["chunks"], "allocations of threads")
    check(threads["foreign_frees"] > 0, "threads free each other's chunks")
    began = {r["thread"]: r["begins_in"] for r in threads["rows"]}
    check(began == {n: "exchange" if n else "main" for n in began}, f"threads begin in {began}")
    graph = data("callgraph", center="exchange")
    check(any(n["fn"] == "exchange" and n["id"] == graph["center"] for n in graph["nodes"]), "call graph")
    check(data("callers", fn="exchange")["fn"] == "exchange", "callers")
    data("callees", fn="exchange")
    for file in data("files")["rows"]:
        source = data("source", file=file["id"])
        check(source["file"] == file["file"], "source file")
        if source["found"]:
            check(all(isinstance(line["text"], str) for line in source["lines"]), "lines have text")
            for line in source["lines"]:
                for point in line.get("points", []):
                    row = next(r for r in points["rows"] if r["id"] == point)
                    check(row["line"] == line["n"], "line of a point")
    objects = columns("emad")
    check(objects["objects"] == len(objects["columns"]["id"]), "objects")
    if objects["objects"]:
        tree = data("emad/0/tree", all=1)
        check(tree["rows"] and tree["rows"][0]["frequency"] == objects["columns"]["freq"][0], "tree of an object")
    for kind in "fn type module file thread".split():
        names = data("suggest", kind=kind)
        check(all(set(n) == {"label", "count", "bytes"} for n in names), f"suggest {kind}")
    check(data("suggest", kind="fn", s="exchan")[0]["label"] == "exchange", "completion")
    text = "all | where size >= 300"
    for path, body, key in (("check", {"text": text}, "canonical"), ("graph", {"text": text}, "text")):
        status, reply = ask("/api/v1/query/" + path, "POST", json.dumps(body))
        check(status == 200 and json.loads(reply)["data"][key] == text, f"query/{path}: {reply[:200]}")
    graph = json.loads(reply)["data"]["graph"]
    status, reply = ask("/api/v1/query/compile", "POST", json.dumps({"graph": graph}))
    compiled = json.loads(reply)["data"]["text"]
    check(status == 200 and compiled.split("\n")[0] == text, f"compile: {compiled}")
    status, reply = ask("/api/v1/query/counts", "POST", json.dumps({"graph": graph}))
    counts = json.loads(reply)["data"]
    check([c["chunks"] for c in counts] == [trace["counts"]["chunks"], api("flame", q=text)["matched"]["chunks"]],
          f"counts of boxes: {counts}")
    check(data("query/boxes")["boxes"]["rows"], "boxes")
    for method, want in (("PUT", 200), ("GET", 200), ("DELETE", 200), ("GET", 404)):
        status, reply = ask("/api/v1/graphs/one", method, json.dumps({"graph": graph}) if method == "PUT" else None)
        check(status == want, f"{method} of a graph is {status}: {reply[:200]}")
    for name in (".x", "a%20b", "x" * 65, "a%00b"):
        status, reply = ask("/api/v1/graphs/" + name, "PUT", json.dumps({"text": "all"}))
        check(status in (400, 404), f"a graph named {name} is {status}")


# ---- the numbers of the commands ----

# path, parameters → command, and what of its JSON
SAME = (
    ("report", {}, ["report"], None),
    ("report", {"by": "kept", "top": 3}, ["report", "--by", "kept", "--top", "3"], None),
    ("findings", {"top": 10}, ["findings"], None),
    ("scores", {"top": 10}, ["scores"], None),
    ("scores", {"by": "bytes", "top": 0, "all": 1}, ["scores", "--by", "bytes", "--top", "0", "--all"], None),
    ("leaks", {}, ["leaks"], None),
    ("leaks", {"kinds": "all", "top": 0}, ["leaks", "--kinds", "all", "--top", "0"], None),
    ("types", {"top": 20}, ["types"], None),
    ("types", {"sort": "bytes", "fold": "template", "top": 0}, ["types", "--sort", "bytes", "--fold", "--top", "0"], None),
    ("excessive", {"top": 10}, ["excessive"], None),
    ("excessive", {"method": "iqr", "mu": 3, "rule": "paper", "top": 0},
     ["excessive", "--method", "iqr", "--mu", "3", "--rule", "paper", "--top", "0"], None),
    ("mprof/leaks", {}, ["mprof"], "leaks"),
    ("mprof/leaks", {"verb": "verbose", "depth": 2}, ["mprof", "--verbose", "--depth", "2"], "leaks"),
    ("mprof/bins", {}, ["mprof"], "bins"),
    ("mprof/bins", {"log": 1, "types": 0}, ["mprof", "--bins", "log", "--no-types"], "bins"),
    ("mprof/direct", {}, ["mprof"], "direct"),
    ("mprof/graph", {}, ["mprof"], "graph"),
    ("mprof/graph", {"cycles": 1}, ["mprof", "--cycles", "keep"], "graph"),
)


def all_rows(path, **parameters):
    """Of a table of which pages are sent."""
    rows, total = [], 1
    while len(rows) < total:
        reply = api(path, offset=len(rows), **parameters)
        total = reply["rows_total"]
        rows += reply["data"]["rows"]
        check(reply["truncated"] == (len(rows) < total), f"{path}: truncated")
    return rows


def same(trace, where=None, brief=False):
    """Answers equal what the commands print, of all chunks or of those that a query chooses: each key of each."""
    asked = set()
    for path, parameters, words, part in SAME:
        if brief and path in asked:
            continue
        asked.add(path)
        words = [words[0], "--format", "json", *words[1:], *(["--where", where] if where else []), trace]
        chosen = {**parameters, **({"q": where} if where else {})}
        printed = command(*words)
        answered = all_rows(path, **chosen) if part else data(path, **chosen)
        if part:
            printed = printed[part]
        check(answered == printed, f"{path} {parameters} is not what '{' '.join(words)}' prints")


# What is not known of a part: by which call a chunk ended, and what belongs to none.
UNKNOWN_OF_PARTS = {".calls.free", ".calls.delete", ".calls.pool_free", ".calls.mmap", ".calls.munmap", ".calls.total",
                    ".failed_calls", ".unknown_frees", ".frees", ".misuse_certain", ".misuse_possible",
                    ".misuse_not_judged", ".leaks.misuse", ".leaks.misuse_possible"}


def differences(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            if key not in ("caveats", "schema"):
                yield from differences(a.get(key), b.get(key), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{path}[{i}]")
    elif a != b:
        yield path, a, b


def parts(trace):
    """Analyses of a selection: equal to the commands', to the query's own sums, and of all chunks to those of no selection."""
    sizes = sorted(e["size"] for e in data("entries", limit=500)["rows"])
    middle = sizes[len(sizes) // 2]
    for text in (f"all | where size >= {middle}", "all | where not freed", "all | where life < 100us",
                 "all | where size < 0", f"all | where thread == 0 and size < {middle} | limit 7"):
        same(trace, text, brief=True)
        asked = command("query", "--format", "json", trace, text)["matched"]
        report, overview = data("report", q=text), api("overview", q=text)
        got = {"chunks": report["allocations"], "bytes": report["bytes"]}
        check(got == asked == overview["matched"], f"{text}: {got}, {overview['matched']} and {asked}")
        overview = overview["data"]
        check(overview["counts"]["allocs"] == asked["chunks"] and overview["bytes"]["total"] == asked["bytes"],
              f"overview of {text}: {overview['counts']}")
        direct = data("mprof/direct", q=text)["rows"][0]
        check((direct["calls"], direct["bytes"]) == (asked["chunks"], asked["bytes"]), f"mprof of {text}: {direct}")
        types = data("types", q=text)
        check(types["total_chunks"] == asked["chunks"], f"types of {text}: {types['total_chunks']}")
        objects = data("emad", q=text)
        check(objects["objects"] == 0 or sum(objects["columns"]["freq"]) <= asked["chunks"], f"objects of {text}")
        check(data("callgraph", q=text)["total"] == asked["chunks"], f"call graph of {text}")
        points = data("points", q=text, limit=500)
        check(report["points"] == overview["counts"]["points"] == points["total"], f"points of {text}")
        peak = data("flame", q=text, metric="peak")
        check(report["peak"]["bytes"] == peak["total"] and (not peak["total"] or report["peak"]["time_ns"] == peak["at"]),
              f"{text}: the peak is {report['peak']} and {peak['total']} at {peak['at']}")
        own = {r["point"]: r for r in data("report", q=text, by="bytes", top=500)["top"]["bytes"]}
        for row in points["rows"]:
            if row["bytes"] and row["id"] in own:
                r = own[row["id"]]
                check((r["allocations"], r["bytes"], r["peak_bytes"], r["kept_bytes"], r["temporary"]) ==
                      (row["chunks"], row["bytes"], row["peak"], row["kept"], row["temporary"]),
                      f"{text}: point {row['id']} is {row} and {r}")
    for path, parameters, *_ in SAME:
        for where, a, b in differences(data(path, **parameters), data(path, **parameters, q="all | where size >= 0")):
            check(where in UNKNOWN_OF_PARTS, f"{path}: {where} is {a}, and {b} of a selection of all")
    # windows: the heap line and the peak are those inside
    births = data("chunks")["columns"]["t0"]
    low, high = births[len(births) // 4], births[3 * len(births) // 4]
    for mode in ("overlap", "alloc", "free"):
        window = {"t0": low, "t1": high, "tm": mode}
        overview, line = api("overview", **window), data("timeline", bins=400, **window)
        check(overview["matched"] == api("timeline", **window)["matched"], f"chunks of window {mode}")
        check(overview["data"]["heap"]["max"] == line["total"]["max"], f"heap line of window {mode}")
        check(overview["data"]["bytes"]["peak"] == max(line["total"]["max"]) ==
              data("flame", metric="peak", **window)["total"], f"peak of window {mode}")
        check(data("report", **window)["allocations"] == overview["matched"]["chunks"], f"report of window {mode}")


def parity(trace):
    same(trace)
    report = command("report", "--format", "json", "--top", "0", trace)
    scores = command("scores", "--format", "json", "--top", "0", trace)
    overview = data("overview")
    # path of the API → path of the command
    for got, want in (
        (overview["bytes"]["total"], report["bytes"]), (overview["bytes"]["peak"], report["peak"]["bytes"]),
        (overview["bytes"]["peak_t"], report["peak"]["time_ns"]), (overview["bytes"]["kept"], report["kept"]["bytes"]),
        (overview["counts"]["allocs"], report["allocations"]), (overview["counts"]["frees"], report["frees"]),
        (overview["counts"]["reallocs"], report["calls"]["realloc"]),
        (overview["counts"]["temporary"], report["temporary"]), (overview["counts"]["points"], report["points"]),
        (overview["scores"]["lifetime"]["g"], scores["lifetime"]["mean"]),
        (overview["scores"]["lifetime"]["var"], scores["lifetime"]["variance"]),
        *((overview["scores"][score][ours], scores[score][theirs]) for score in ("lifetime", "usage", "useful")
          for ours, theirs in (("g", "mean"), ("var", "variance"), ("w_allocs", "by_allocations"), ("w_bytes", "by_bytes"),
                               ("points", "points"))),
        (overview["alloc_time"]["ns"], report["allocator_time_ns"]),
        (overview["memory"]["rows"] if overview["memory"] else [],
         command("resident", "--format", "json", trace)["memory"] if report["memory_over_time"] and overview["memory"] else []),
        ([sum(p["severity"] == step for p in scores["points"]) for step in range(1, 13)], overview["severity_hist"]),
        *(([(r["point"], r["value"]) for r in overview["top"][ours]],
           [(r["point"], r[key]) for r in report["top"][theirs] if r[key]][:10])
          for ours, theirs, key in (("peak", "peak", "at_peak_bytes"), ("kept", "kept", "kept_bytes"),
                                    ("allocs", "count", "allocations"), ("temporary", "temporary", "temporary"))),
        *((verdict["evidence"]["n_hit"], finding["chunks"])
          for verdict, finding in zip(overview["findings"], report["findings"])),
        *((verdict["text"], finding["text"]) for verdict, finding in zip(overview["findings"], report["findings"])),
        ([v["id"] for v in overview["findings"]], [f["id"] for f in report["findings"]][:10]),
        (data("flame", metric="bytes")["total"], report["bytes"]),
        (data("flame", metric="allocs")["total"], report["allocations"]),
        (data("flame", metric="peak")["total"], report["peak"]["bytes"]),
        (data("flame", metric="kept")["total"], report["kept"]["bytes"]),
        (data("flame", metric="leaked")["total"], report["kept"]["bytes"]),  # the metric's former name
        (data("points", sort="-leaked", limit=1)["rows"][0]["kept"], data("points", sort="-kept", limit=1)["rows"][0]["kept"]),
        (data("flame", metric="temporary")["total"], report["temporary"]),
        (data("flame", metric="live", at=report["duration_ns"])["total"], report["kept"]["bytes"]),
        (max(data("timeline", bins=100)["total"]["max"]), report["peak"]["bytes"]),
        (sum(data("timeline", bins=100, metric="allocs")["total"]["last"]), report["allocations"]),
        (sum(data("timeline", bins=100, metric="frees")["total"]["last"]), report["frees"]),
        (data("trace")["counts"]["threads"], report["threads"]),
    ):
        check(got == want or (isinstance(got, float) and isinstance(want, float) and abs(got - want) < 1e-8),
              f"{got} is not {want}")
    if overview["alloc_time"]["ns"] is not None:
        sums = [sum(r["alloc_time"] or 0 for r in data("threads")["rows"]), data("flame", metric="alloc_time")["total"]]
        check(all(abs(got - overview["alloc_time"]["ns"]) <= 0.01 * overview["alloc_time"]["ns"] + 100 for got in sums),
              f"time in the allocator: {sums} is not {overview['alloc_time']}")
    rows = {r["id"]: r for r in data("points", limit=500)["rows"]}
    for row in report["top"]["bytes"]:
        own = rows.get(row["point"])
        check(own and (own["bytes"], own["chunks"], own["peak"], own["kept"], own["temporary"]) ==
              (row["bytes"], row["allocations"], row["peak_bytes"], row["kept_bytes"], row["temporary"]),
              f"point {row['point']}: {own} is not {row}")
    by_point = {p["point"]: p for p in scores["points"]}
    for number, row in rows.items():
        p = by_point[number]
        check(row["sev"] == p["severity"] and row["lifetime"] == p["lifetime"] and row["usage"] == p["usage"] and
              row["useful"] == p["useful"], f"scores of point {number}")
    for number in sorted(rows)[:20]:
        detail, p = data(f"points/{number}"), by_point[number]
        check((detail["scores"]["groups"], detail["stats"]["reads"], detail["stats"]["writes"]) ==
              (p["groups"], p["reads"], p["writes"]), f"detail of point {number}")
    verdicts()


def verdicts():
    """The condition of a verdict chooses the chunks that it counts; its repair is part of what it says."""
    exact = {"unused", "write_only", "read_only", "zero_size", "kept", "leak", "coverage", "early", "late", "churn"}
    for v in data("overview", top=100)["findings"]:
        check(v["text"] == f"{v['seen']}: {v['repair']}.", f"{v['id']}: {v['text']}")
        check(v["level"] in ("costly", "worth a look", "minor"), f"{v['id']}: level {v['level']}")
        check((v["saves"]["unit"] == "none") == (v["saving"] == ""), f"{v['id']}: {v['saves']}")
        check(len(v["point_ids"]) == min(100, v["points"]) or v["kind"] in ("misuse", "growth", "kept", "leak", "churn", "peak", "burst"),
              f"{v['id']}: {v['point_ids']} are not {v['points']} points")
        if v["query"] is None:
            check(v["point"] is None, f"{v['id']} has a point and no query")
            continue
        got = api("flame", q="all | where " + v["query"])["matched"]
        if v["kind"] in exact and v["points"] == 1:
            check((got["chunks"], got["bytes"]) == (v["evidence"]["n_hit"], v["evidence"]["bytes_hit"]),
                  f"{v['id']}: {v['query']} chooses {got}, not {v['evidence']}")
        elif v["kind"] != "growth":
            check(got["chunks"] > 0, f"{v['id']}: {v['query']} chooses nothing")


def more():
    """Columns, moments, pages and lines of points and types; what a query costs; how small lives can be."""
    rows = data("points", limit=500)["rows"]
    for cols in ("fn", "fn,bytes", "id", "spark,sev"):
        wanted = {"id", *cols.split(",")}
        for row in data("points", cols=cols, spark=16)["rows"]:
            check(set(row) == wanted, f"cols={cols} has {sorted(row)}")
    for bad in ("fn,,bytes", "sise", ","):
        check(ask("/api/v1/points?cols=" + bad)[0] == 400, f"cols={bad}")
    end = data("trace")["duration_ns"]
    for at in (0, end // 3, end // 2, end):
        live = data("points", limit=500, at=at, sort="-live")["rows"]
        check(sum(r["live"] for r in live) == data("flame", metric="live", at=at)["total"], f"live at {at}")
        check([r["live"] for r in live] == sorted((r["live"] for r in live), reverse=True), f"sorted by what is live at {at}")
    for row in rows:
        detail = data(f"points/{row['id']}")["scores"]
        scores = [g["score"] for g in detail["worst_groups"]]
        check(scores == sorted(scores) and len(scores) == min(5, detail["groups"]), f"worst groups of {row['id']}")
        if scores and len(scores) == detail["groups"]:
            check(abs(sum(scores) / len(scores) - row["lifetime"]) < 1e-6, f"groups of {row['id']} make its score")
            check(sum(g["chunks"] for g in detail["worst_groups"]) == row["chunks"], f"chunks of the groups of {row['id']}")
    whole = api("types", top=0, spark=64)
    types = whole["data"]["types"]
    check(whole["rows_total"] == len(types), "rows of types")
    for row in types:
        check(len(base64.b64decode(row["spark"])) == 64, "line of a type")
    paged = [api("types", top=1, offset=i) for i in range(len(types))]
    check([p["data"]["types"][0]["type"] for p in paged] == [t["type"] for t in types], "pages of types")
    check([p["truncated"] for p in paged] == [i + 1 < len(types) for i in range(len(types))], "the last page of types")
    line = data("timeline", bins=64)["total"]["max"]
    if len(types) == 1 and max(line):
        got = base64.b64decode(types[0]["spark"])
        check(abs(got.index(255) - line.index(max(line))) <= 1, "where the line of a type is highest")
    check(sum(t["points"] for t in types if t["type"]) <= data("points")["total"], "points of types")
    objects = data("emad")
    check(0 < objects["clock_res"] <= 1000, f"resolution of lives: {objects['clock_res']}")
    check(data("emad", n=1)["rows"] == min(1, objects["objects"]), "rows of objects")
    chunks = data("trace")["counts"]["chunks"]
    for text, passes in (("all", 0), ("all | where size > 3", 1), ("at peak | where size > 3 | sort size | limit 3", 3),
                         ("let a = all | where freed; union(a, all | where size > 5)", 3)):
        status, reply = ask("/api/v1/query/check", "POST", json.dumps({"text": text}))
        check(json.loads(reply)["data"]["cost_est"] == {"passes": passes, "chunks": passes * chunks}, f"{text}: {reply}")
    status, reply = ask("/api/v1/query/check", "POST", json.dumps({"text": "nothing"}))
    check(json.loads(reply)["data"]["cost_est"] is None, "the cost of what is wrong")
    for file in data("files")["rows"]:
        known = data("source", file=file["id"], known=1)["lines"]
        check(all("self" in line for line in known), "known lines only")
        check(known == [line for line in data("source", file=file["id"])["lines"] if "self" in line], "all known lines")


def cycles():
    """ping and pong call each other, deep calls itself, plain does neither."""
    graph = {n["fn"]: n for n in data("callgraph", center="main", down=9, min=0)["nodes"]}
    scc = {name: graph[name]["scc"] for name in ("ping", "pong", "deep", "plain", "main")}
    check(scc["ping"] and scc["ping"] == scc["pong"], f"one cycle: {scc}")
    check(scc["deep"] and scc["deep"] != scc["ping"], f"a cycle of its own: {scc}")
    check(scc["plain"] is None and scc["main"] is None, f"no cycle: {scc}")
    check(graph["plain"]["sev"] is not None and graph["main"]["sev"] is None, "severity of who allocates")
    for edge in data("callgraph", metric="bytes")["edges"]:
        check(edge["value"] == edge["bytes"], "value of an edge")


def report_file(path):
    """Each answer in a report is the server's."""
    text = open(path, encoding="utf-8").read()
    blocks = re.findall(r'<script type="text/plain" data-k="([^"]*)">([^<]*)</script>', text)
    check(len(blocks) > 60, f"{len(blocks)} answers")
    for question, packed in blocks:
        body = base64.b64decode(packed)
        inside = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
        if question == "/about":
            check(inside["left_out"] == 0 and inside["source"] == "none", f"about: {inside}")
            continue
        reply = json.loads(ask("/api/v1" + html.unescape(question))[1])
        inside.pop("took_us"), reply.pop("took_us")
        check(inside == reply, f"{question} is another answer than the server's")


# ---- selections ----

def selections(trace):
    for text in ("all | where size >= 300", "all | where thread == 2", "all | where not freed",
                 "all | where life < 100us", 'all | where stack ~ "exchange"', "all | where size < 0",
                 "union(all | where thread == 1, all | where size > 400)"):
        asked = command("query", "--format", "json", trace, text)["matched"]
        reply = api("flame", q=text, metric="bytes")
        check(reply["matched"]["chunks"] == asked["chunks"], f"{text}: {reply['matched']} and {asked['chunks']}")
        check(reply["data"]["total"] == asked["bytes"], f"bytes of {text}")
        check(data("flame", q=text, metric="allocs")["total"] == asked["chunks"], f"allocations of {text}")
        rows = data("points", q=text, limit=500)
        check(sum(r["bytes"] for r in rows["rows"]) == asked["bytes"], f"points of {text}")
        check(data("chunks", q=text)["chunks"] == asked["chunks"], f"chunks of {text}")
        line = data("timeline", q=text, bins=64, by="size")
        highest = max(line["total"]["max"])
        peak = data("flame", q=text, metric="peak")
        check(peak["total"] == highest, f"{text}: the peak is {peak['total']}, the line's {highest}")
        check(data("flame", q=text, metric="live", at=peak["at"])["total"] <= highest, f"live at the peak of {text}")
        check(sum(map(sum, data("threads", q=text)["matrix"])) == asked["chunks"], f"threads of {text}")
        entries = data("entries", q=text, limit=5)
        check(entries["matched"] == asked and len(entries["rows"]) == min(5, asked["chunks"]), f"entries of {text}")
    # a window of time in which something happens: from the first to the third quarter of the allocations
    births = data("chunks")["columns"]["t0"]
    low, high = births[len(births) // 4], births[3 * len(births) // 4]
    for mode in ("overlap", "alloc", "free"):
        window = {"t0": low, "t1": high, "tm": mode}
        reply = api("timeline", bins=10, **window)
        check(0 < reply["matched"]["chunks"] < reply["total"]["chunks"], f"window {mode}")
        check((reply["data"]["t0"], reply["data"]["t1"]) == (low, high), f"axis of window {mode}")
    inside = data("timeline", bins=1, t0=low, t1=high)["total"]["max"][0]
    fine = data("timeline", bins=500, t0=low, t1=high)["total"]["max"]
    check(max(fine) == inside, "a peak is not lost in any number of bins")


# ---- two traces ----

def all_points(**parameters):
    rows, total = [], 1
    while len(rows) < total:
        page = data("points", limit=500, offset=len(rows), **parameters)
        total = page["total"]
        rows += page["rows"]
        if not page["rows"]:
            break
    return rows, page.get("gone")


def compared_flame(trace, base, **parameters):
    """Boxes have the base's weight, of which nothing is lost: what is no box is in those that are gone."""
    flame = columns("flame", trace=trace, base=base, px=16000, **parameters)
    c, whole = flame["columns"], data("flame", trace=base, **parameters)["total"]
    check(flame["base_total"] == whole and (not flame["rows"] or c["base"][0] == whole), f"flame {parameters}: {whole}")
    for k in range(flame["rows"]):
        check(abs(c["delta"][k] - (c["total"][k] - c["base"][k])) < 1e-6, f"delta of a box {parameters}")
    below = sum(c["base"][k] for k in range(1, flame["rows"]) if c["depth"][k] == 1 and not c["flags"][k] & 32)
    gone = sum(g["base"] for g in flame["gone"] if g["parent"] == 0)
    if flame["rows"] and len(flame["gone"]) < 100 and parameters.get("dir") != "pivot":
        check(abs(below + gone - whole) < 1e-6, f"flame {parameters}: {below} and gone {gone} are not {whole}")
    return flame


def beside_tables(first, second, chosen):
    """Rows have the base's numbers; a trace is no other than itself."""
    for table in ("leaks", "bins", "direct", "graph"):
        own = api("mprof/" + table, trace=first, base=first, verb="verbose", **chosen)
        check(own["gone"] == 0 and all(r["base"] and not any(r["delta"].values()) for r in own["base"]), f"{table} and itself")
        beside = api("mprof/" + table, trace=first, base=second, **chosen)
        plain = api("mprof/" + table, trace=first, **chosen)
        check(beside["data"] == plain["data"] and len(beside["base"]) == len(plain["data"]["rows"]), f"{table} beside another")
        for row, other in zip(plain["data"]["rows"], beside["base"]):
            for key, delta in other["delta"].items():
                check(delta is None or delta == row[key] - (other["base"] or {key: 0})[key], f"{table}: delta of {key}")
    total = api("mprof/direct", trace=first, base=second, **chosen)["base"][0]["base"]
    want = data("mprof/direct", trace=second, **chosen)["rows"][0]
    check((total["bytes"], total["calls"]) == (want["bytes"], want["calls"]), f"all of the base: {total}")
    for row in data("threads", trace=first, base=first, **chosen)["rows"]:
        check(row["base"]["thread"] == row["thread"] and not any(row["delta"].values()), "a thread and itself")
    threads = data("threads", trace=first, base=second, **chosen)["rows"]
    theirs = {r["thread"]: r for r in data("threads", trace=second, **chosen)["rows"]}
    for row in threads:
        if row["base"]:
            check(row["base"]["bytes"] == theirs[row["base"]["thread"]]["bytes"], "bytes of a thread of the base")
    for node in data("callgraph", trace=first, base=first, **chosen)["nodes"]:
        check(node["base"] == {"self": node["self"], "total": node["total"]}, "a function and itself")
    objects = columns("emad", trace=first, base=first, **chosen)["columns"]
    check(objects["base_freq"] == objects["freq"] and objects["base_life"] == objects["life"], "objects and themselves")


def base():
    first, second = (t["id"] for t in data("status")["traces"])
    for metric in "allocs bytes peak kept".split():
        for direction in ("down", "up"):
            compared_flame(first, second, metric=metric, dir=direction)
            own = compared_flame(first, first, metric=metric, dir=direction)
            check(not own["gone"] and own["gone_total"] == 0 and not any(own["columns"]["delta"]), "a trace and itself")
    compared_flame(first, second, dir="pivot", pivot="main")
    query = "all | where size >= 64"
    for chosen in ({}, {"q": query}):
        ours, _ = all_points(trace=first, **chosen)
        beside, gone = all_points(trace=first, base=second, **chosen)
        theirs, _ = all_points(trace=second, **chosen)
        check([{k: r[k] for k in ours[0]} for r in beside] == ours, "points are the same beside others")
        for key in ("chunks", "bytes"):
            got = sum(r["base"][key] for r in beside if r["base"]) + gone[key]
            check(got == sum(r[key] for r in theirs), f"{key} of the base {chosen}: {got}")
        for row in beside:
            check(row["delta"]["bytes"] == row["bytes"] - (row["base"] or {"bytes": 0})["bytes"], "delta of a point")
        same_points, nothing = all_points(trace=first, base=first, **chosen)
        check(nothing == {"points": 0, "chunks": 0, "bytes": 0}, f"gone of itself: {nothing}")
        check(all(r["base"]["id"] == r["id"] and not any(r["delta"].values()) for r in same_points), "points and themselves")
        types = api("types", trace=first, base=second, **chosen)
        for key in ("chunks", "bytes", "kept_bytes"):
            got = sum(r["base"][key] for r in types["base"] if r["base"])
            want = sum(r[key] for r in data("types", trace=second, top=0, **chosen)["types"])
            check(got == want, f"{key} of the base's types {chosen}: {got} and {want}")
            delta = sum(r["delta"][key] for r in types["base"])
            check(delta == sum(r[key] for r in types["data"]["types"]) - want, f"deltas of {key} of types {chosen}")
        line = data("timeline", trace=first, base=second, bins=200, **chosen)
        longest = max(data("trace", trace=t)["duration_ns"] for t in (first, second))
        check(line["t1"] == longest, "one axis for both")
        for curve, trace in ((line["base"], second), (line["total"], first)):
            highs = [high for high in curve["max"] if high is not None]
            check(max(highs) == data("report", trace=trace, **chosen)["peak"]["bytes"], f"the peak of {trace} {chosen}")
            ends = data("trace", trace=trace)["duration_ns"]
            check(len(highs) == sum(end - line["t1"] / 200 < ends for end in line["t"]), f"{trace} ends when it ends {chosen}")
        compare = data("compare", trace=first, base=second, **chosen)["summary"]
        for side, trace in (("a", second), ("b", first)):
            report = data("report", trace=trace, **chosen)
            check((compare["bytes"][side], compare["allocations"][side], compare["peak"][side], compare["kept"][side]) ==
                  (report["bytes"], report["allocations"], report["peak"]["bytes"], report["kept"]["bytes"]),
                  f"comparison {chosen}: {compare} and {report['bytes']}")
        beside_tables(first, second, chosen)
    for sort in ("-delta", "delta_peak", "-delta_chunks", "delta_kept", "-delta_temporary"):
        rows, _ = all_points(trace=first, base=second, sort=sort)
        key = {"delta": "bytes"}.get(sort.lstrip("-"), sort.lstrip("-").replace("delta_", ""))
        got = [r["delta"][key] for r in rows]
        check(got == sorted(got, reverse=sort[0] == "-"), f"sorted by {sort}: {got[:10]}")
        check(ask(f"/api/v1/points?sort={sort}")[0] == 400, f"{sort} without a base")
    for path in ("flame", "points", "timeline", "types", "emad", "threads", "callgraph", "mprof/direct"):
        check(ask(f"/api/v1/{path}?base=nothing")[0] == 400, f"{path} with a base that is not served")


# ---- what chunks were before, how they are coloured, when nobody used them ----

def details(trace):
    rows = command("query", "--format", "json", "--top", "0", trace, "all")["rows"]
    # grow() in realloc.c makes chunks of doubled size from one another
    sizes = {r["chunk"]: r["size"] for r in rows}
    chains = {tuple((c["id"], c["size"]) for c in data(f"chunks/{n}")["realloc"]["chain"]) for n in sizes}
    grown = sorted(tuple(s for _, s in chain) for chain in chains if len(chain) > 1)
    check(grown == [(10, 100000), tuple(16 << i for i in range(1, 8)), tuple(16 << i for i in range(1, 8)) + (5,)],
          f"chains of realloc: {grown}")
    for n in sizes:
        detail = data(f"chunks/{n}")
        ids = [c["id"] for c in detail["realloc"]["chain"]]
        at = ids.index(n)
        check(detail["realloc"]["previous"] == (ids[at - 1] if at else None), f"previous of {n}")
        check(detail["realloc"]["next"] == (ids[at + 1] if at + 1 < len(ids) else None), f"next of {n}")
    # colours: the series by colour are the selections that the colours were given to
    text = "all | color #ff0000 if size >= 512 | color #00ff00 if size < 64"
    line = data("timeline", q=text, by="color", metric="alloc_bytes", bins=10)
    got = {s["color"]: sum(s["last"]) for s in line["series"]}
    want = {"#ff0000": sum(s for s in sizes.values() if s >= 512), "#00ff00": sum(s for s in sizes.values() if s < 64),
            None: sum(s for s in sizes.values() if 64 <= s < 512)}
    check(got == want, f"by colour: {got} and {want}")
    bars = columns("chunks", q=text)
    for size, color in zip(bars["columns"]["size"], bars["columns"]["color"]):
        named = bars["palette"][color - 1] if color else None
        check(named == ("#ff0000" if size >= 512 else "#00ff00" if size < 64 else None), f"{size} bytes are {named}")
    check(data("chunks")["palette"] == [] and not any(data("chunks")["columns"]["color"]), "no colours")
    legend = data("memmap", q=text, color="query", at=data("trace")["duration_ns"])["legend"]
    check(set(legend) - {"(free)"} <= {"#ff0000", "#00ff00", "(no colour)"} and len(legend) > 1, f"legend {legend}")
    check(ask("/api/v1/flame?metric=idle")[0] == 400, "idle without accesses")


def looks_agree(trace):
    """Each look, its bill, the picture by account and the pages of the picture have the same bytes."""
    looks = data("resident/looks")["rows"]
    check(looks == command("resident", "--format", "json", trace)["over_time"], "looks as of the command")
    for look in looks[-2:]:
        parts = {p["part"]: p["bytes"] for p in data("resident", at=look["time_ns"])["parts"]}
        check(all(abs(look[f"{name}_bytes"] - parts[name]) <= 4096 for name in "requested slack pinned cached".split()), f"parts at {look['time_ns']}: {look}, {parts}")
        check(sum(look[key] for key in look if key.endswith("_bytes") and key != "rss_bytes") == sum(parts.values()), "sum of the parts")
    at = max(looks, key=lambda look: look["pinned_bytes"])["time_ns"]
    picture = data("memmap", color="account", at=at, bpp=64, w=512, h=64)
    check(picture["at"] == at and len(base64.b64decode(picture["pixels"])) == 512 * 64 and picture["runs"]["chunk"] == [], "picture by account")
    pages = picture["pages"]
    check(len({len(column) for column in pages.values()}) == 1 and pages["page"], "pages of the picture")
    first = next(i for i, live in enumerate(pages["live"]) if live)
    page = data("memmap/page", at=at, addr=hex(pages["page"][first] * 4096))
    check(page["resident"] and page["live"] + page["slack"] + page["left"] + page["pinned"] + page["cached"] + page["thread_caches"] == 4096, f"page {page}")
    check(sum(row["bytes"] for row in page["holders"]) == page["live"] + page["slack"], "its holders")
    check(data("memmap/page", at=at, addr="0x10")["resident"] is False, "a page that nobody has")
    check(ask("/api/v1/memmap/page?addr=x")[0] == 400 and ask("/api/v1/memmap/page")[0] == 400, "no address")


def metrics(trace):
    """Resident and lost bytes are what the account of memory and the leak kinds of chunks say."""
    memory = {r["part"]: r["most_bytes"] for r in command("resident", "--format", "json", trace)["memory"]}
    flame = columns("flame", metric="resident", px=1000)
    flame_is_sound(flame)
    check(data("trace")["caps"]["resident"] and flame["unit"] == "bytes", "caps and unit")
    check(flame["total"] == memory["requested"], f"{flame['total']} is resident, not {memory['requested']}")
    # of two equal blocks one is touched; of the other only the page that the allocator writes to
    big = data("flame", metric="resident", q="all | where size == 8388608")["total"]
    all_big = data("flame", metric="bytes", q="all | where size == 8388608")["total"]
    check(0 <= big - all_big / 2 <= 4096, f"{big} of {all_big} is resident")
    check(data("flame", metric="live", at=flame["at"])["total"] == memory["requested"] + memory["not_resident"], "live then")
    looks_agree(trace)
    asked = command("query", "--format", "json", trace, 'all | where leak_kind == "lost" or leak_kind == "indirect"')["matched"]
    lost = data("flame", metric="lost")["total"]
    check(lost == asked["bytes"] and lost <= data("flame", metric="kept")["total"], f"{lost} is lost, not {asked}")
    check(lost > 0 or all_big, "one of the programs loses memory")


def types(trace):
    """The type of a chunk is the same in every view, and so are the sums by type."""
    table = command("types", "--top", "0", "--format", "json", trace)["types"]
    chunks = command("types", "--chunks", "--top", "0", "--format", "json", trace)["chunks"]
    for chunk in chunks:
        own = data(f"chunks/{chunk['chunk']}")
        check(own["type"] == chunk["type"], f"chunk {chunk['chunk']} is {own['type']}, in the table {chunk['type']}")

    def by_name(rows, name, number):
        return {row[name] or "(unknown)": row[number] for row in rows if row[number]}

    kept, peak = by_name(table, "type", "kept_bytes"), by_name(table, "type", "at_peak_bytes")
    answer = data("timeline", by="type", bins=10, top=23)
    line, end = answer["series"], answer["t1"]
    check({s["label"]: s["last"][-1] for s in line if s["last"][-1]} == kept, f"timeline {line}, table {kept}")
    shown = by_name(data("overview", top=100)["top"]["types"], "label", "value")
    check(shown == peak, f"overview {shown}, table {peak}")
    legend = set(data("memmap", color="type", at=end)["legend"][1:])
    check(legend >= set(kept), f"memory map {legend}, table {kept}")
    found = by_name(data("suggest", kind="type", n=100), "label", "bytes")
    check(found == {n: b for n, b in by_name(table, "type", "bytes").items() if n != "(unknown)"}, f"names {found}")
    for name, bytes_ in by_name(table, "type", "bytes").items():
        text = "all | where not type ~ /./" if name == "(unknown)" else f'all | where type == "{name}"'
        check(api("points", q=text)["matched"]["bytes"] == bytes_, f"{text} finds other bytes than {bytes_}")


def idle():
    """Bytes times the seconds before the first and after the last access, chunk by chunk."""
    want = unused = 0
    bars = data("chunks")
    c = bars["columns"]
    check(bars["mode"] == "rows" and bars["rows_all"] == bars["rows"], "all chunks are in view")
    for k in range(bars["rows"]):
        if c["flags"][k] & 32:
            continue
        used = c["last"][k] - c["first"][k] if c["first"][k] is not None else 0
        want += c["size"][k] * max(0, c["t1"][k] - c["t0"][k] - used) / 1e9
        unused += c["first"][k] is None
    flame = data("flame", metric="idle")
    check(flame["unit"] == "byte_seconds" and want > 0, "unit of idle")
    check(abs(flame["total"] - want) <= 1e-6 * want + 1e-3, f"idle is {flame['total']}, not {want}")
    part = data("flame", metric="idle", q="all | where size >= 64")["total"]
    check(0 < part < flame["total"], f"idle of a selection: {part}")


def open_file(editor_out):
    """Only files of the table are shown, by the editor that the server was started with."""
    check(data("status")["editor"] is not None, "editor")
    files = data("files", limit=500)["rows"]
    own = next(f for f in files if f["file"].endswith("/threads.c"))

    def post(body, **headers):
        return ask("/api/v1/open", "POST", json.dumps(body) if not isinstance(body, str) else body, headers)[0]

    for body in ({}, {"file": -1}, {"file": len(files)}, {"file": 1e300}, {"file": own["file"]}, {"file": "/etc/passwd"},
                 {"file": own["id"], "line": 0}, {"file": own["id"], "line": -5}, "{", "", [own["id"]]):
        check(post(body) == 400, f"open {body} is not refused")
    check(ask("/api/v1/open", "POST", json.dumps({"file": own["id"]}), {"X-Heapwise": ""})[0] == 403, "without the header")
    check(ask("/api/v1/open")[0] == 405, "GET of open")
    lost = next((f for f in files if not data("source", file=f["id"])["found"]), None)
    check(lost is None or post({"file": lost["id"], "line": 1}) == 404, "a file that is not there")
    check(not os.path.exists(editor_out), "nothing was started so far")
    check(post({"file": own["id"], "line": 30}) == 200, "open")
    for _ in range(500):
        if os.path.exists(editor_out) and os.path.getsize(editor_out):
            break
        time.sleep(0.01)
    got = open(editor_out, encoding="utf-8").read().split("\n")
    check(got[:4] == ["--at", "30", own["file"], "x"], f"the editor was told {got}")


# ---- names ----

def hostile():
    wanted = ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "x" * 20000)
    for path in ("flame", "points", "overview", "report", "mprof/direct", "callgraph", "suggest?n=100", "files", "trace",
                 "status", "flame?dir=up", "emad", "findings", "leaks", "timeline?by=point", "stack/0", "points/0"):
        status, body = ask("/api/v1/" + path)
        text = body.decode("utf-8")
        check(status == 200, f"{path} is {status}: {text[:200]}")
        json.loads(text)
    names = data("flame", metric="kept", px=16000)["strings"]
    for name in wanted:
        check(name in names, f"'{name[:40]}' is not in the flame graph")
    check(any("�" in n for n in names), "what is no UTF-8 is replaced")
    check(data("flame/search", s="<IMG")["frames"] == 1, "search for a tag")
    status, body = ask("/api/v1/flame?dir=pivot&pivot=" + urllib.parse.quote(wanted[0]))
    check(status == 200, "pivot by a tag")
    status, body = ask("/api/v1/flame?q=" + urllib.parse.quote('all | where stack ~ "<img"'))
    check(status == 200 and json.loads(body)["matched"]["chunks"] == 1, "query by a tag")


def empty():
    for method, path in routes():
        if method != "GET" or "{" in path or path in PAGES or path.endswith(".txt"):
            continue
        status, body = ask(path)
        check(status in (200, 400, 404), f"{path} is {status}: {body[:200]}")
        json.loads(body)
    for path in ("points/100000", "chunks/100000", "stack/100000", "emad/100000/tree"):
        check(ask("/api/v1/" + path)[0] == 404, path)


# ---- owners ----

def owners(trace):
    """Of tests/targets/owners.c, whose chunks differ in their sizes."""
    check(data("trace")["caps"]["owners"] and not data("trace", trace="b.hwt")["caps"]["owners"], "caps")
    answer = data("owners", min=0, top=0)
    rows = {row["id"]: row for row in answer["tree"]}
    below = {}
    for row in answer["tree"]:
        below.setdefault(row["parent"], []).append(row)
        check(abs(row["share"] - row["retained_bytes"] / answer["live_bytes"]) < 1e-6, f"share of {row}")
        check(row["depth"] == (0 if row["parent"] is None else rows[row["parent"]]["depth"] + 1), f"depth of {row}")
    check(sum(row["retained_bytes"] for row in below[None]) == answer["live_bytes"], "the first owners hold all")
    for row in answer["tree"]:
        inside = sum(child["retained_bytes"] for child in below.get(row["id"], []))
        check(row["what"] == "several" or row["retained_bytes"] == row["bytes"] + inside, f"sum of {row}")
    lost = next(row for row in below[None] if row["what"] == "lost")
    check(lost["retained_bytes"] == answer["lost_bytes"] == 6001 + 6002, "the ring is lost")
    check(answer["roots"] > 0 and answer["pointers"] > 64 and answer["live_chunks"] >= 14, "totals")

    inside = next(row for row in answer["tree"] if row["bytes"] == 3001)
    path = data("owners/path", chunk=inside["largest_chunk"])
    printed = command("owners", "--format", "json", "--min-share", "0", "--top", "0", trace)
    check(all(printed[key] == answer[key] for key in ("summary", "live_bytes", "roots", "tree", "types")), "as the command")
    printed = command("owners", "--format", "json", "--path", str(inside["largest_chunk"]), trace)
    check(all(printed[key] == path[key] for key in ("path", "holder", "steps")), "the path as the command")
    check([step["bytes"] for step in path["steps"]] == [None, 1001, 2003, 3001], f"path {path['steps']}")
    check([step["from"] for step in path["steps"][1:]] == [64, 40, None], f"offsets {path['steps']}")
    check(path["steps"][0]["owner"].startswith("state (owners.c:"), f"root {path['steps'][0]}")
    check(path["path"].startswith("state (owners.c:") and path["path"].count("\u2192") == 3, path["path"])
    check(path["retained_bytes"] == 3001 and path["chunk"] == inside["largest_chunk"], "the chunk of the path")
    check(data("owners/path", shape=inside["id"]) == path, "the same by its owner")
    root = data("owners/path", shape=next(row["id"] for row in below[None] if row["what"] == "root"))
    check(len(root["steps"]) == 1 and root["chunk"] is None, f"path of a root {root}")

    few = data("owners", min=0.1)["tree"]
    check(0 < len(few) < len(rows) and all(row["share"] >= 0.1 for row in few), "owners of a tenth")
    one = data("owners", top=1)["tree"]
    check(sum(row["parent"] is None for row in one) == 1, "the first owner alone")


# ---- docs/API.md ----

def has_keys(example, answer, where):
    if isinstance(example, dict):
        check(isinstance(answer, dict), f"{where} is no object")
        for key, value in example.items() if isinstance(answer, dict) else ():
            check(key in answer, f"{where} has no '{key}'")
            if key in answer:
                has_keys(value, answer[key], f"{where}.{key}")
    elif isinstance(example, list) and example:
        check(isinstance(answer, list), f"{where} is no list")
        if isinstance(answer, list) and answer:
            has_keys(example[0], answer[0], where + "[0]")


def documentation(page):
    text = open(page, encoding="utf-8").read()
    examples = re.findall(r"```http\n(\w+) (\S+)\n(.*?)```\n+```json\n(.*?)```", text, re.S)
    check(len(examples) >= 40, f"{len(examples)} examples")
    asked = set()
    for method, path, body, shown in examples:
        if path.startswith(LIVE):
            asked.add((method, urllib.parse.urlsplit(path).path))
            continue
        status, answer = ask(path, method, body.strip() or None)
        check(status == 200, f"{method} {path} is {status}: {answer[:200]}")
        shown, answer = json.loads(shown), json.loads(answer)
        has_keys(shown, answer, f"{method} {path}")
        for key in ("matched", "total"):
            check((shown.get(key) is None) == (answer.get(key) is None), f"{method} {path}: {key} is {answer.get(key)}")
        asked.add((method, urllib.parse.urlsplit(path).path))
    for method, form in routes():
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", form.replace(".", r"\.")) + "$")
        check(f"`{method} {form}`" in text, f"{method} {form} is not described")
        check(form in PAGES + ("/api/v1/mprof.txt", "/api/v1/open", "/api/v1/traces", LIVE) or (method, form) == ("POST", "/api/v1/source") or any(m == method and pattern.match(p) for m, p in asked),
              f"{method} {form} has no example")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    sys.exit(1 if failures else 0)
