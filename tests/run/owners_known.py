#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""owners_known.py CASE...: retained bytes of 'heapwise owners' beside what programs say of themselves.

redis    each database: MEMORY USAGE of all its keys together, and the table of MEMORY STATS
sqlite3  the page cache and the schema: sqlite3_db_status
jq, xmllint, python3    one owner holds the document, or the value of a variable: nearly all bytes"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import owners_truth as truth
from owners_truth import HEAPWISE, Failed, run

LIMIT = 0.02  # of redis and sqlite3
NEARLY = 0.9  # of the documents


def owners(trace, *options):
    return json.loads(run([HEAPWISE, "owners", "--format", "json", *options, trace]))


def compare(what, theirs, ours):
    difference = (ours - theirs) / theirs
    print(f"{what}: {theirs} bytes by its own account, {ours} retained, {100 * difference:+.2f} %", flush=True)
    if abs(difference) > LIMIT:
        raise Failed(f"{what}: {ours} bytes are retained, not {theirs}")


# ---- redis ----

def redis_cli(text, database=0):
    return run(["redis-cli", "-s", "socket", "-n", database], text=text).split()


def redis_fill():
    truth.fill_redis()
    for database, keys in enumerate((300, 100, 200)):
        lines = [f"set key:{i} {'v' * (20 + i % 200)}" for i in range(keys)]
        for i in range(keys // 10):
            count = range(20 + 7 * i)
            lines += [f"hset hash:{i} " + " ".join(f"field{j} {'x' * (1 + j % 90)}" for j in count),
                      f"rpush list:{i} " + " ".join(f"element{j}{'x' * (j % 70)}" for j in count),
                      f"sadd set:{i} " + " ".join(f"member{j}" for j in count),
                      f"zadd sorted:{i} " + " ".join(f"{j} member{j}" for j in count)]
        redis_cli("\n".join(["flushdb", *lines, ""]), database)


def redis_says(database):
    """Bytes of the keys, and of the table without the entries and objects, which the keys have already."""
    keys = redis_cli("keys *\n", database)
    stats = redis_cli("memory stats\n")
    at = stats.index(f"db.{database}")
    table = int(stats[stats.index("overhead.hashtable.main", at) + 1]) - len(keys) * (24 + 16)
    return sum(map(int, redis_cli("".join(f"memory usage {key} samples 0\n" for key in keys), database))) + table


def jemalloc_bytes(size):
    """What jemalloc gives to who asks for so many: four sizes to each power of two."""
    step = 16 if size <= 128 else 1 << ((size - 1).bit_length() - 3)
    return 8 if size <= 8 else -(-size // step) * step


def check_redis(trace):
    says = {}

    def before_end():
        says.update({database: redis_says(database) for database in range(3)})

    truth.record("redis", trace, fill=redis_fill, after=before_end)
    graph = truth.Graph(run([HEAPWISE, "trace", "dump", "--facts", "--stacks", trace]))
    counted = graph.digraph()
    array = owners(trace, "--path", "initServer")
    # 16 databases are the default; the first member of each is its dictionary
    starts = {offset // (array["bytes"] // 16): target for offset, target in graph.places[array["chunk"]] if offset % (array["bytes"] // 16) == 0}
    # the size of a structure is what MEMORY USAGE takes it for; of text and of nodes of varying size it asks the allocator
    varies = re.compile(r"(^|< )(\S*sds|lp[A-Z]|zsl)")
    for database, theirs in says.items():
        told = owners(trace, "--path", starts[database])["retained_bytes"]
        held = graph.bytes.keys() - truth.reachable(counted, starts[database])
        if sum(graph.bytes[chunk] for chunk in held) != told:
            raise Failed(f"the dictionary of database {database} retains {told} bytes, but others are freed with it")
        ours = sum(jemalloc_bytes(graph.bytes[chunk]) if varies.search(" < ".join(graph.stacks[chunk].split(" < ")[:4]))
                   else graph.bytes[chunk] for chunk in held)
        print(f"redis: database {database}: {told} bytes requested")
        compare(f"redis: database {database}", theirs, ours)
    first = owners(trace)["tree"][0]
    # clients of scripts point to the databases, too
    if not first["owner"].startswith("server ") or first["what"] != "root" or first["share"] < 0.5:
        raise Failed(f"{first['owner']} is first with {first['share']}")


# ---- sqlite3 ----

SQLITE = r"""
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3 *db;

static int used(int what)
{
	int now, most;

	sqlite3_db_status(db, what, &now, &most, 0);
	return now;
}

int main(void)
{
	char text[300];

	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
	if (sqlite3_open("test.db", &db) != SQLITE_OK)
		return 1;
	sqlite3_exec(db, "pragma cache_size = -20000; begin", 0, 0, 0);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "create table t%d(id integer primary key, name text, note text); create index i%d on t%d(name);"
			 "insert into t%d values(1, 'name', zeroblob(3000))", i, i, i, i);
		sqlite3_exec(db, text, 0, 0, 0);
	}
	sqlite3_exec(db, "commit; select count(*) from sqlite_schema", 0, 0, 0);
	printf("%d %d ready\n", used(SQLITE_DBSTATUS_CACHE_USED), used(SQLITE_DBSTATUS_SCHEMA_USED));
	fflush(stdout);
	return getchar() == EOF;
}
"""


def build_sqlite():
    """The distribution's source, with debug information; the next run finds it again."""
    packages = pathlib.Path(os.environ.get("PACKAGES") or pathlib.Path(os.environ["HEAPWISE_BUILD_DIR"]) / "packages")
    tree = packages / "sqlite3"
    packages.mkdir(exist_ok=True)
    if not shutil.which("tclsh"):
        print("skipped: needs package tcl")
        sys.exit(77)
    if subprocess.run([pathlib.Path(__file__).resolve().parents[2] / "bench" / "debian-source", "sqlite3", tree], check=False).returncode:
        print("skipped: cannot download the source of sqlite3")
        sys.exit(77)
    if not (tree / "sqlite3.o").exists():
        run(["sh", "-c", f"cd '{tree}' && ./configure && make sqlite3.c && gcc -O1 -g -c -o sqlite3.new sqlite3.c && mv sqlite3.new sqlite3.o"])
    pathlib.Path("status.c").write_text(SQLITE, encoding="ascii")
    run(["gcc", "-O1", "-g", "-I", tree, "-o", "status", "status.c", tree / "sqlite3.o", "-lpthread", "-ldl", "-lm"])


def check_sqlite(trace):
    build_sqlite()
    truth.PROGRAMS["status"] = (["./status"], "", {})
    cache, schema, _ = truth.record("status", trace).split()
    graph = truth.Graph(run([HEAPWISE, "trace", "dump", "--facts", trace]))
    counted = graph.digraph()
    for name, theirs, path in (("Pager", cache, "db (status.c"), ("Schema", schema, "db (status.c")):
        told = owners(trace, "--path", name)
        held = graph.bytes.keys() - truth.reachable(counted, told["chunk"])
        if sum(graph.bytes[chunk] for chunk in held) != told["retained_bytes"]:
            raise Failed(f"{name} retains {told['retained_bytes']} bytes, but others are freed with it")
        if not told["path"].startswith(path):
            raise Failed(f"the path to {name} is {told['path']}")
        print(f"sqlite3: {told['path']}: {told['retained_bytes']} bytes requested, with 8 of each block for its size")
        compare(f"sqlite3: {name}", int(theirs), told["retained_bytes"] - 8 * len(held))


# ---- documents ----

DOCUMENTS = {
    "jq": (["jq", "-n", "--unbuffered", '[range(5000) | {number: ., name: "name \\(.)"}] as $all | ("ready", input, $all[0])'], "", {}),
    "xmllint": (["xmllint", "--shell", "document"], "cat //ready\n", {}),
    "python3": (["/usr/bin/python3", "-c", "known = {str(i): 1000 * 'x' + str(i) for i in range(20000)}\nprint('ready', flush=True)\ninput()"], "",
                {"PYTHONMALLOC": "malloc"}),
}


def check_document(name, trace):
    truth.PROGRAMS["document"] = DOCUMENTS[name]
    text = "<all>" + truth.lines(5000, "<one number='%d'><name>name %d</name></one>") + "<ready>ready</ready></all>"
    pathlib.Path("document").write_text(text, encoding="ascii")
    truth.record("document", trace)
    answer = owners(trace, "--top", "0")
    if answer["lost_bytes"] > (1 - NEARLY) * answer["live_bytes"]:
        raise Failed(f"{answer['lost_bytes']} of {answer['live_bytes']} bytes are lost")
    rows = [row for row in answer["tree"] if row["what"] in ("type", "place") and row["share"] >= NEARLY]
    paths = [owners(trace, "--path", row["largest_chunk"]) for row in rows]
    whole = [path for path in paths if path["retained_bytes"] >= NEARLY * answer["live_bytes"]]
    first = answer["tree"][0]
    # the frame that has the document may point to its root element, too: then the frame is its owner
    if not whole and first["what"] == "root" and first["share"] >= NEARLY:
        print(f"{name}: {answer['summary']}")
        return
    if not whole:
        raise Failed(f"no chunk retains nearly all bytes: {answer['summary']}")
    print(f"{name}: {answer['live_bytes']} bytes live, {whole[-1]['retained_bytes']} retained "
          f"({100 * whole[-1]['retained_bytes'] / answer['live_bytes']:.1f} %): {whole[-1]['path']}")


CASES = {"redis": check_redis, "sqlite3": check_sqlite}


def main():
    os.environ["LC_ALL"] = "C"
    status = 0
    with tempfile.TemporaryDirectory(prefix="heapwise-owners-") as folder:
        os.chdir(folder)
        for name in sys.argv[1:]:
            try:
                trace = os.path.abspath(name + ".hwt")
                if name in CASES:
                    CASES[name](trace)
                else:
                    check_document(name, trace)
            except (Failed, subprocess.SubprocessError) as error:
                print(f"FAILED: {name}: {error}")
                status = 1
        os.chdir("/")
    sys.exit(status)


main()
