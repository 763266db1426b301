# SPDX-License-Identifier: MIT
"""The programs that are measured, and the inputs that are generated for them.

Every input is the same in every run: fixed seeds, fixed order. Inputs go into the cache folder, named by
scale, and are kept. Nothing here measures or knows about profilers.
"""
import json
import os
import random
import shutil

WORDS = ("alder birch cedar dogwood elm fir ginkgo hazel ivy juniper kapok larch maple nutmeg oak "
         "pine quince rowan spruce teak ulmus vine willow yew zelkova").split()


class Workload:
    """A command with its standard input and environment. `limits` names the row of goals it must meet."""

    def __init__(self, name, argv, stdin="/dev/null", env=None, limits=None):
        self.name = name
        self.argv = argv
        self.stdin = stdin
        self.env = env or {}
        self.limits = limits


class Missing(Exception):
    """A program that a workload needs is not installed."""


def program(*names):
    for name in names:
        path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
        if path:
            return os.path.realpath(path)
    raise Missing("%s is not installed" % names[0])


class Cache:
    """Generated inputs. A file is written aside and renamed, so a broken run leaves no half input."""

    def __init__(self, folder, scale):
        self.folder = os.path.join(folder, "inputs-%g" % scale)
        self.scale = scale
        os.makedirs(self.folder, exist_ok=True)

    def count(self, full):
        return max(1, int(full * self.scale))

    def make(self, name, write):
        path = os.path.join(self.folder, name)
        stamp = os.path.getmtime(os.path.abspath(__file__))
        if not os.path.exists(path) or os.path.getmtime(path) < stamp:
            with open(path + ".part", "w", encoding="ascii") as out:
                write(out)
            os.rename(path + ".part", path)
        return path


def sentence(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def sqlite_input(out, rows):
    rng = random.Random(11)
    out.write("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town TEXT, age INT, note TEXT);\n"
              "CREATE TABLE visit(person INT, place TEXT, spent REAL);\nBEGIN;\n")
    for i in range(rows):
        out.write("INSERT INTO person VALUES(%d,'%s','%s',%d,'%s');\n" % (
            i, sentence(rng, 2), rng.choice(WORDS), rng.randrange(90), sentence(rng, 6)))
        for _ in range(2):
            out.write("INSERT INTO visit VALUES(%d,'%s',%.2f);\n" % (
                rng.randrange(rows), rng.choice(WORDS), rng.random() * 100))
    out.write("COMMIT;\nCREATE INDEX person_town ON person(town, age);\n"
              "CREATE INDEX visit_person ON visit(person);\n"
              "SELECT town, count(*), avg(age), max(length(note)) FROM person GROUP BY town;\n"
              "SELECT p.town, v.place, sum(v.spent) FROM person p JOIN visit v ON v.person = p.id "
              "WHERE p.age > 30 GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50;\n"
              "SELECT count(DISTINCT upper(name) || '-' || replace(note, 'oak', 'OAK')) FROM person;\n")
    for i in range(rows // 8):
        out.write("SELECT name, (SELECT sum(spent) FROM visit WHERE person = p.id) FROM person p "
                  "WHERE town = '%s' AND age = %d LIMIT 4;\n" % (WORDS[i % len(WORDS)], i % 90))
    for i in range(rows // 4):
        out.write("UPDATE person SET note = note || ' %s' WHERE id = %d;\n" % (WORDS[i % 7], i * 3 % rows))
    out.write("SELECT length(group_concat(note)) FROM person;\n")


def sqlite(cache):
    path = cache.make("sqlite.sql", lambda out: sqlite_input(out, cache.count(24000)))
    return Workload("sqlite3", [program("sqlite3"), "-batch", ":memory:"], stdin=path, limits="common")


PYTHON_SOURCE = '''\
import json, sys

class Item:
    def __init__(self, number, name, tags):
        self.number, self.name, self.tags = number, name, tags

    def row(self):
        return {"number": self.number, "name": self.name, "tags": sorted(self.tags)}

def build(n):
    words = "%s".split()
    for i in range(n):
        yield Item(i, "-".join(words[(i * k) %% len(words)] for k in (1, 3, 7)), {words[i %% 5], words[i %% 11]})

def index(items):
    table = {}
    for item in items:
        for tag in item.tags:
            table.setdefault(tag, []).append(item)
    return table

def main(n):
    items = list(build(n))
    text = json.dumps([item.row() for item in items])
    rows = json.loads(text)
    table = index(items)
    totals = {tag: sum(len(i.name) for i in group) for tag, group in sorted(table.items())}
    upper = [tuple(part.upper() for part in row["name"].split("-")) for row in rows]
    grouped = {}
    for number, parts in enumerate(upper):
        grouped.setdefault(parts[0] + str(number %% 100), []).append(parts[1:] + (str(number),))
    print(len(text), totals, len(grouped), sum(map(len, grouped.values())))

main(int(sys.argv[1]))
'''


def python(cache):
    path = cache.make("work.py", lambda out: out.write(PYTHON_SOURCE % " ".join(WORDS)))
    return Workload("python3", [program("/usr/bin/python3", "python3"), "-S", "-B", path,
                                str(cache.count(32000))],
                    env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, limits="common")


def xml_input(out, items):
    rng = random.Random(13)
    out.write('<?xml version="1.0"?>\n<store>\n')
    for i in range(items):
        out.write('  <item id="i%d" kind="%s">\n    <name>%s</name>\n    <price unit="eur">%.2f</price>\n'
                  '    <text>%s <b>%s</b> %s</text>\n  </item>\n' % (
                      i, rng.choice(WORDS), sentence(rng, 2), rng.random() * 100,
                      sentence(rng, 24), rng.choice(WORDS), sentence(rng, 16)))
    out.write("</store>\n")


def xmllint(cache):
    path = cache.make("store.xml", lambda out: xml_input(out, cache.count(60000)))
    query = 'count(//item[@kind="oak"]/text/b[. = "pine"]) + sum(//price[../name = "oak elm"])'
    return Workload("xmllint", [program("xmllint"), "--xpath", query, path], limits="common")


PERL_SOURCE = '''\
use strict; use warnings;
my @words = qw(%s);
my ($n, %%count, %%list, @lines) = ($ARGV[0]);
for my $i (1 .. $n) {
    my $key = join "-", map { $words[($i * $_) %% @words] } 1, 3, 7;
    push @lines, sprintf("%%06d %%s %%s", $i, $key, uc $words[$i %% 13]);
    $count{"$key/" . $i %% 1000}++;
    push @{ $list{$words[$i %% 11]} }, { id => $i, name => "$key-$i", parts => [split /-/, $key] };
}
my $total = 0;
for my $word (sort keys %%list) {
    for my $entry (@{ $list{$word} }) {
        (my $name = $entry->{name}) =~ s/oak/OAK/g;
        $total += length($name) + @{ $entry->{parts} };
    }
}
my %%seen;
for my $line (@lines) {
    my ($id, $key, $mark) = split " ", $line;
    $seen{$mark}{$key} .= substr($id, -2);
}
print "$total ", scalar(keys %%count), " ", join(",", map { "$_=" . keys %%{ $seen{$_} } } sort keys %%seen), "\\n";
'''


def perl(cache):
    path = cache.make("work.pl", lambda out: out.write(PERL_SOURCE % " ".join(WORDS)))
    return Workload("perl", [program("perl"), path, str(cache.count(130000))],
                    env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "PERL_DESTRUCT_LEVEL": "0"},
                    limits="common")


def jq_input(out, rows):
    rng = random.Random(17)
    out.write("[\n")
    for i in range(rows):
        row = {"id": i, "town": rng.choice(WORDS), "name": sentence(rng, 2),
               "visits": [{"place": rng.choice(WORDS), "spent": rng.randrange(1000)} for _ in range(3)]}
        out.write(json.dumps(row) + (",\n" if i + 1 < rows else "\n"))
    out.write("]\n")


def jq(cache):
    path = cache.make("rows.json", lambda out: jq_input(out, cache.count(30000)))
    query = ("map({id, key: (.town + \"-\" + .name), places: [.visits[] | .place | ascii_upcase], "
             "spent: (.visits | map(.spent) | add)}) | map(select(.spent > 700)) | "
             "{rows: length, keys: (map(.key[0:5]) | unique | length), spent: (map(.spent) | add)}")
    return Workload("jq", [program("jq"), query, path], limits="other")


CLANG_HEADERS = ("algorithm array deque functional future iterator list map memory mutex numeric optional "
                 "queue random regex set sstream string thread tuple type_traits unordered_map "
                 "unordered_set utility variant vector").split()


def clang_input(out, count):
    out.write("".join("#include <%s>\n" % h for h in CLANG_HEADERS))
    out.write("template <int N> struct fib { static constexpr int value = "
              "fib<N - 1>::value + fib<N - 2>::value; };\n"
              "template <> struct fib<1> { static constexpr int value = 1; };\n"
              "template <> struct fib<0> { static constexpr int value = 0; };\n"
              "template <int N> struct key { int v; bool operator<(const key &o) const { return v < o.v; }\n"
              "  bool operator==(const key &o) const { return v == o.v; } };\n"
              "template <int N> struct key_hash { std::size_t operator()(const key<N> &k) const "
              "{ return std::size_t(k.v) * N; } };\n")
    for i in range(count):
        out.write(
            "int use%(i)d() {\n  std::map<key<%(i)d>, std::vector<std::string>> m;\n"
            "  std::unordered_map<key<%(i)d>, std::shared_ptr<int>, key_hash<%(i)d>> u;\n"
            "  m[{1}].push_back(\"a\"); u[{2}] = std::make_shared<int>(%(i)d);\n"
            "  std::tuple<int, key<%(i)d>, std::string> t{1, {2}, \"x\"};\n"
            "  std::function<int(int)> f = [&](int x) { return x + std::get<0>(t) + fib<%(d)d>::value; };\n"
            "  std::variant<key<%(i)d>, std::string, std::vector<key<%(i)d>>> v = key<%(i)d>{3};\n"
            "  std::vector<key<%(i)d>> s{{3}, {1}}; std::sort(s.begin(), s.end());\n"
            "  return f(int(m.size() + u.size() + s.size())) + std::visit([](auto &&) { return %(i)d; }, v);\n}\n"
            % {"i": i, "d": 20 + i})


def clang(cache):
    path = cache.make("templates.cpp", lambda out: clang_input(out, cache.count(4)))
    return Workload("clang", [program("clang-14", "clang"), "-fsyntax-only", "-std=c++17", "-x", "c++", path],
                    limits="clang")


def micro(tools, cache, depth):
    return Workload("micro-%d" % depth, [tools["micro"], str(depth), str(cache.count(1500000))],
                    limits="other")


def threads(tools, cache):
    return Workload("threads-2", [tools["threads"], "2", str(cache.count(1000000))], limits="common")


def all_workloads(tools, cache):
    """Name → function that makes the workload (and its input); it may raise Missing."""
    table = {
        "sqlite3": lambda: sqlite(cache),
        "python3": lambda: python(cache),
        "xmllint": lambda: xmllint(cache),
        "perl": lambda: perl(cache),
        "jq": lambda: jq(cache),
        "threads-2": lambda: threads(tools, cache),
        "clang": lambda: clang(cache),
    }
    for depth in (5, 20, 100):
        table["micro-%d" % depth] = lambda depth=depth: micro(tools, cache, depth)
    return table
