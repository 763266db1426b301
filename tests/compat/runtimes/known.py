# SPDX-License-Identifier: MIT
# Blocks of 1,237 bytes by ctypes (a C extension), of which half are freed at once and the others at the end; and work of the interpreter, its threads and
# other extensions: json, sqlite3, zlib, re.
import ctypes
import json
import re
import sqlite3
import threading
import zlib

blocks = [ctypes.create_string_buffer(1237) for _ in range(600)]
del blocks[::2]

rows = [{"number": i, "text": "x" * (i % 50)} for i in range(3000)]
text = json.dumps(rows)
print(len(json.loads(text)), len(text), zlib.crc32(text.encode()), len(re.findall(r"x{9,}", text)))

base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", ((i * 7919 % 997, str(i)) for i in range(5000)))
base.execute("create index i on t(a, b)")
print(base.execute("select count(*), sum(a), max(b) from t where a between 100 and 300").fetchall())

sums = {}
threads = [threading.Thread(target=lambda i=i: sums.update({i: len(zlib.compress(text.encode(), i))})) for i in range(1, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(sums))
print("truth", 600, 600)
