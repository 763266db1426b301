# SPDX-License-Identifier: MIT
"""The programs on which recording of accesses is measured: each is built from source twice, plainly and by
`heapwise cc`, with the same options. Sources of sqlite3, lua and zstd are the distribution's.

Every program does the same in every run: allocations come in the same order, so that two recordings can be
compared chunk by chunk.
"""
import concurrent.futures
import glob
import hashlib
import os
import random
import subprocess

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-O2", "-g", "-w"]


class Program(workloads.Workload):
    """A workload with a second executable, and with limits that are its own."""

    def __init__(self, name, argv, instrumented, exact_limit=1 / 3, **more):
        super().__init__(name, argv, **more)
        self.instrumented = [instrumented] + argv[1:]
        self.exact_limit = exact_limit


class Builder:
    """Compiles into folder/programs-COMPILER; sources are in folder/sources."""

    def __init__(self, folder, heapwise, compiler):
        self.sources = os.path.join(folder, "sources")
        self.folder = os.path.join(folder, "programs-" + os.path.basename(compiler))
        self.heapwise = heapwise
        self.compiler = compiler
        os.makedirs(self.folder, exist_ok=True)

    def source(self, package, name):
        path = os.path.join(self.sources, name)
        done = subprocess.run([os.path.join(HERE, "debian-source"), package, path], check=False,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise workloads.Missing(done.stderr.decode(errors="replace").strip())
        return path

    def pair(self, name, flags, files, libraries=()):
        """(plain, instrumented), compiled as far as needed."""
        plain = os.path.join(self.folder, name)
        self.build([self.compiler], plain, flags, files, libraries)
        # The same name, as it is told by the kernel.
        instrumented = os.path.join(self.folder, "access", name)
        self.build([self.heapwise, "cc"], instrumented, flags, files, libraries)
        return plain, instrumented

    def build(self, compiler, output, flags, files, libraries):
        # Other flags, other objects.
        key = hashlib.sha256("\n".join(FLAGS + flags + files).encode()).hexdigest()[:8]
        folder = "%s-%s" % (output, key)
        os.makedirs(folder, exist_ok=True)
        objects = [os.path.join(folder, os.path.basename(f) + ".o") for f in files]
        # The assembler makes the checks, and the stub is linked in: with a new one of these it is done again.
        tools, parts = [], []
        if compiler[0] == self.heapwise:
            tools, parts = own_files(self.heapwise, "gcc-as/as"), own_files(self.heapwise, "heapwise-stub-*.o")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda f, o: self.run(compiler + FLAGS + flags + ["-c", f], o, [f] + tools), files, objects))
        self.run(compiler + objects + list(libraries), output, objects + parts)

    def run(self, command, output, inputs):
        if os.path.exists(output) and all(os.path.getmtime(f) < os.path.getmtime(output) for f in inputs):
            return
        done = subprocess.run(command + ["-o", output + ".part"], check=False, stderr=subprocess.PIPE,
                              env=dict(os.environ, HEAPWISE_CC=self.compiler))
        if done.returncode != 0:
            raise workloads.Missing("cannot be built: " + done.stderr.decode(errors="replace")[-600:])
        os.rename(output + ".part", output)


def own_files(heapwise, pattern):
    return glob.glob(os.path.join(os.path.dirname(heapwise), pattern))


# ---- sqlite3 ----

def sqlite(builder, cache):
    tree = builder.source("sqlite3", "sqlite3")
    made = os.path.join(builder.sources, "sqlite3-amalgamation")
    if not os.path.exists(os.path.join(made, "shell.c")):
        os.makedirs(made, exist_ok=True)
        for command in ([os.path.join(tree, "configure"), "--disable-tcl"], ["make", "sqlite3.c", "shell.c"]):
            done = subprocess.run(command, cwd=made, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                raise workloads.Missing("no amalgamation (it needs tclsh): " +
                                        done.stdout.decode(errors="replace")[-600:])
    pair = builder.pair("sqlite3", ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION",
                                    "-DLONGDOUBLE_TYPE=double",  # Valgrind has no longer ones
                                    "-I", made],
                        [os.path.join(made, "shell.c"), os.path.join(made, "sqlite3.c")], ["-lm"])
    path = cache.make("access.sql", lambda out: workloads.sqlite_input(out, cache.count(12000)))
    return Program("sqlite3", [pair[0], "-batch", ":memory:"], pair[1], stdin=path)


# ---- lua ----

LUA_SOURCE = '''\
local count = tonumber(arg[1])
local words = {}
for word in ("%s"):gmatch("%%a+") do words[#words + 1] = word end

local Item = {}
Item.__index = Item
function Item.new(number)
	return setmetatable({number = number, name = words[number %% #words + 1] .. number, tags = {}}, Item)
end
function Item:tag(word) self.tags[#self.tags + 1] = word end
function Item:weight()
	local sum = 0
	for _, word in ipairs(self.tags) do sum = sum + #word end
	return sum + self.number %% 10
end

local items, by_name, total = {}, {}, 0
for i = 1, count do
	local item = Item.new(i)
	for k = 1, i %% 4 do item:tag(words[(i * k) %% #words + 1]) end
	items[i], by_name[item.name] = item, item
end
for round = 1, 6 do
	for i = 1, count do
		local item = by_name[words[i %% #words + 1] .. i]
		total = total + item:weight() * round
	end
	table.sort(items, function(a, b)
		if a:weight() ~= b:weight() then return a:weight() < b:weight() end
		return (a.number * round) %% 1009 < (b.number * round) %% 1009
			or (a.number * round) %% 1009 == (b.number * round) %% 1009 and a.number < b.number
	end)
	local parts = {}
	for i = 1, count, 7 do parts[#parts + 1] = items[i].name:upper():gsub("A", "b") end
	total = total + #table.concat(parts, ",")
end
print(total, items[1].name, items[count].name)
'''


def lua(builder, cache):
    tree = os.path.join(builder.source("lua5.4", "lua"), "src")
    files = sorted(f for f in glob.glob(os.path.join(tree, "*.c")) if os.path.basename(f) != "luac.c")
    # The package writes this header when it is built; it only says where modules are.
    with open(os.path.join(tree, "lua5.4-deb-multiarch.h"), "a", encoding="ascii"):
        pass
    # The order of tables depends on a seed, which is the time and an address.
    pair = builder.pair("lua", ["-DLUA_USE_POSIX", '-DDEB_HOST_MULTIARCH="lib"', "-Dluai_makeseed(L)=20"],
                        files, ["-lm"])
    path = cache.make("work.lua", lambda out: out.write(LUA_SOURCE % " ".join(workloads.WORDS)))
    return Program("lua", [pair[0], path, str(cache.count(3000))], pair[1])


# ---- zstd ----

def zstd_input(out, lines):
    rng = random.Random(23)
    for i in range(lines):
        out.write("%08d %s %s %d\n" % (i * 37, workloads.sentence(rng, 4), rng.choice("abcdef") * rng.randrange(9),
                                      rng.randrange(100000)))


def zstd(builder, cache):
    tree = builder.source("libzstd", "zstd")
    files = []
    for folder in ("common", "compress", "decompress", "dictBuilder"):
        files += sorted(glob.glob(os.path.join(tree, "lib", folder, "*.[cS]")))
    files += [os.path.join(tree, "programs", name + ".c") for name in (
        "zstdcli", "zstdcli_trace", "fileio", "fileio_asyncio", "util", "timefn", "benchfn", "benchzstd", "datagen",
        "dibio")]
    pair = builder.pair("zstd", ["-DZSTD_LEGACY_SUPPORT=0", "-DXXH_NAMESPACE=ZSTD_"], files)
    path = cache.make("lines.txt", lambda out: zstd_input(out, cache.count(200000)))
    return Program("zstd", [pair[0], "-q", "-6", "-c", path], pair[1], exact_limit=1 / 2)


# ---- a table and a tree ----

def table(builder, cache):
    pair = builder.pair("hash", [], [os.path.join(HERE, "hash.c")])
    return Program("hash", [pair[0], str(cache.count(10))], pair[1])


def tree(builder, cache):
    pair = builder.pair("tree", [], [os.path.join(HERE, "tree.c")])
    return Program("tree", [pair[0], str(cache.count(200000)), str(cache.count(400000))], pair[1])


def all_programs(builder, cache):
    """Name → function that makes the program; it may raise workloads.Missing."""
    makers = {"sqlite3": sqlite, "lua": lua, "zstd": zstd, "hash": table, "tree": tree}
    return {name: lambda make=make: make(builder, cache) for name, make in makers.items()}
