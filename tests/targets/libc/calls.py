#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calls.py NM LIBC APART ARGUMENTS OUT COMPILER...   writes C: a call of each function of the C library that takes a pointer, with arguments
chosen by the types and names of its parameters in the library's headers; idle_libc.h has the words.
APART names those that are not called, with a reason. Functions that are in neither are listed, for a test to fail."""
import fnmatch
import re
import subprocess
import sys

HEADERS = """aio aliases argp argz arpa/inet arpa/nameser assert ctype dirent dlfcn envz err errno error execinfo fcntl fenv fmtmsg
fnmatch fstab fts ftw gconv getopt glob gnu/libc-version grp gshadow iconv ifaddrs inttypes langinfo libgen libintl link locale malloc
math mcheck mntent monetary mqueue net/if netdb netinet/ether netinet/in nl_types nss obstack poll printf pthread pty pwd regex resolv
sched search semaphore setjmp sgtty shadow signal spawn stdbit stdint stdio stdio_ext stdlib string strings sys/acct sys/auxv sys/epoll
sys/eventfd sys/fanotify sys/file sys/fsuid sys/gmon sys/inotify sys/io sys/ioctl sys/ipc sys/klog sys/mman sys/mount sys/msg
sys/personality sys/pidfd sys/poll sys/prctl sys/ptrace sys/quota sys/random sys/reboot sys/resource sys/select sys/sem sys/sendfile
sys/shm sys/signalfd sys/socket sys/stat sys/statfs sys/statvfs sys/swap sys/syscall sys/sysinfo sys/syslog sys/sysmacros sys/time
sys/timeb sys/timerfd sys/times sys/timex sys/types sys/uio sys/un sys/utsname sys/vfs sys/wait sys/xattr termios threads time ttyent
uchar ucontext ulimit unistd utime utmp utmpx wchar wctype wordexp""".split()
INCLUDES = "#define _GNU_SOURCE\n#define _REGEX_RE_COMP\n" + "".join(
    f"#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif\n" for h in HEADERS)


# ---- the headers ----

def without_calls(text, word):
    """Without `word (...)`, whatever nests in it."""
    out, at = [], 0
    for found in re.finditer(r"\b%s\b\s*\(" % word, text):
        if found.start() < at:
            continue
        out.append(text[at:found.start()])
        depth, at = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    return "".join(out) + text[at:]


def declarations(text):
    text = without_calls(re.sub(r"^#.*$", "", text, flags=re.M), "__attribute__")
    text = re.sub(r'__asm__\s*\(\s*((?:"[^"]*"\s*)+)\)', lambda m: " @" + "".join(re.findall(r'"([^"]*)"', m[1])) + " ", text)
    text = re.sub(r"\b(__extension__|__restrict|__inline|_Noreturn)\b", " ", text)
    depth = start = 0
    for i, c in enumerate(text):
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == "}" and not depth and not re.match(r"\s*(typedef|struct|union|enum|extern struct)\b", text[start:i]):
            start = i + 1  # the body of an inline function
        elif c == ";" and not depth:
            yield " ".join(text[start:i].split())
            start = i + 1


def split(parameters):
    out, depth, one = [], 0, ""
    for c in parameters:
        depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(c, 0)
        if c == "," and not depth:
            out.append(one.strip())
            one = ""
        else:
            one += c
    return out + [one.strip()]


class Headers:
    def __init__(self, text):
        self.types, self.functions, self.declared = {}, {}, set()
        for declaration in declarations(text):
            if declaration.startswith("typedef "):
                self.add_type(re.sub(r"\{.*\}", "{}", declaration[8:]))
            else:
                self.add_function(declaration)

    def add_type(self, body):
        if found := re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", body):
            self.types[found[1]] = "function *"
        elif found := re.match(r".*?(\w+)\s*\((?!\*)", body):
            self.types[found[1]] = "function *"
        elif found := re.match(r"(.*?)(\w+)\s*((?:\[.*\])?)$", body):
            self.types[found[2]] = found[1] + ("*" if found[3] else "")

    def add_function(self, declaration):
        found = re.match(r"(?:extern )?([\w\s\*]+?)\s*\(?\b(\w+)\)?\s*\((.*)\)\s*(?:@(\w+))?\s*\w*$", declaration)
        if not found or "{" in declaration or "=" in declaration:
            return
        result, name, parameters, symbol = found.groups()
        parameters = re.sub(r"__(CONST_)?SOCKADDR_ARG", "struct sockaddr *", parameters)
        self.declared.add(name)
        self.functions.setdefault(name, (result, split(parameters)))
        if symbol:
            self.functions.setdefault(symbol, (result, split(parameters)))

    def resolve(self, kind):
        for _ in range(9):
            kind = re.sub(r"\b(const|volatile|extern)\b", "", kind).strip()
            if "*" in kind or kind not in self.types:
                break
            kind = self.types[kind]
        return kind

    def parameter(self, text):
        """Its type, as it is written, and its name."""
        found = re.match(r"(.+?)\s*\b(_*\w+)\s*(\[[^]]*\])?$", text)
        if "(" in text:
            return "function *", ""
        if found and found[2] not in self.types and found[2] not in ("int", "long", "char", "short", "unsigned", "double", "float") \
                and found[1] not in ("struct", "union", "enum", "const struct"):
            return found[1] + (" *" if found[3] else ""), found[2].strip("_")
        return text, ""

    def is_pointer(self, text):
        if text == "...":
            return True
        kind = self.resolve(self.parameter(text)[0])
        return any(word in kind for word in ("*", "function", "va_list", "union sigval")) or kind in BY_VALUE


BY_VALUE = ("cookie_io_functions_t", "sigval_t")


# ---- arguments ----

PATHS = r"(path|file|name|filename|pathname|fname|from|to|old|new|oldname|newname|existing|dir|dirname|dirpath|special_file|node|pathn|" \
        r"target|linkpath|file1|file2|arg0|fstab_file|location|tty|dev|prog|shell)"
DESCRIPTORS = r"(.*fd\d?|fildes|fdes|filedes|.*_fd|fd_?in|fd_?out|infd|outfd|dfd|fdout|fdin|s|socket)"
SIZES = r"(n|len|size|nbytes|nmemb|count|maxlen|buflen|bufsize|maxsize|length|nelem|elsize|vlen|cpusetsize|nel|width|slen|flen|result_buflen)"
TEXTS = {"modes": "r+", "mode": "r+", "type": "r", "opentype": "r+", "format": "%s", "fmt": "%s", "template": "%s", "locale": "C",
         "tocode": "UTF-8", "fromcode": "LATIN1", "command": "true", "cp": "127.0.0.1", "service": "80", "proto": "tcp",
         "options": "ab", "shortopts": "ab", "pattern": "*", "tz": "UTC"}
STRUCTS = "iovec msghdr mmsghdr sockaddr timespec timeval pollfd epoll_event file_handle mq_attr itimerspec sembuf aiocb sigevent".split()


def base_of(kind):
    return re.sub(r"\b(const|struct|union|volatile|register)\b|\*|_*restrict", "", kind).split()


class Case:
    """One function: what is written before it rests, and the call."""

    def __init__(self, headers, name, result, parameters, own):
        self.headers, self.name, self.result, self.own = headers, name, result, own
        self.fills, self.arguments, self.paths, self.extra = [], [], 0, None
        for i, text in enumerate(p for p in parameters if p != "void"):
            self.arguments.append(self.argument(i, text))

    def fill(self, i, how):
        self.fills.append(f"{how.replace('@', f'p[{i}]')};")
        return f"(void *)p[{i}]"

    def text(self, i, kind, name):
        if "const" not in kind and name == "template":
            return self.fill(i, 'text(@, "idle.XXXXXX")')
        if "const" not in kind:
            return self.fill(i, "bytes(@, v)")
        if re.fullmatch(PATHS, name):
            self.paths += 1
            return self.fill(i, 'text(@, path(v))' if self.paths == 1 else 'text(@, "idle.new")')
        return self.fill(i, f'text(@, "{TEXTS.get(name, "text 12")}")')

    def pointer(self, i, kind, name):
        base, resolved = base_of(kind), self.headers.resolve(kind)
        word = base[-1] if base else ""
        if word in ("FILE", "__FILE", "_IO_FILE"):
            return "file"
        if word in ("DIR", "__dirstream"):
            return "directory"
        if "function" in kind or ("function" in resolved and "*" not in kind):
            return "(void *)called"
        if word in ("locale_t", "__locale_t", "iconv_t", "timer_t", "nl_catd", "__timer_t") and "*" not in kind:
            return {"iconv_t": "converter", "timer_t": "timer", "__timer_t": "timer", "nl_catd": "(nl_catd)-1"}.get(word, "locale")
        if kind.count("*") > 1 or "[]" in kind:
            return self.fill(i, "row(@, v, p[REST])")
        if word == "char":
            return self.text(i, kind, name)
        if word == "wchar_t":
            return self.fill(i, 'wide(@, L"%ls")' if name == "format" else 'wide(@, L"text 12")' if "const" in kind else "zeros(@)")
        if "struct" in kind and word in STRUCTS:
            return self.fill(i, f"fill_{word}(@, v, p[REST])")
        if word == "void":
            return self.fill(i, "bytes(@, v)")
        if word == "socklen_t":
            return self.fill(i, "word(@, 64)")
        return self.fill(i, "zeros(@)")

    def argument(self, i, text):
        if text == "...":
            self.extra = "(void *)p[REST], (void *)p[REST + 1], NULL"
            return self.extra
        kind, name = self.headers.parameter(text)
        if "va_list" in kind:
            self.extra = "(void *)p[REST], (void *)p[REST + 1], NULL"
            return "list"
        if self.headers.is_pointer(text):
            resolved = self.headers.resolve(kind)
            if "union sigval" in resolved or kind in BY_VALUE:
                return f"({kind}){{0}}"
            return self.pointer(i, kind, name)
        return self.number(kind, name)

    def number(self, kind, name):
        kind = re.sub(r"\b(const|register)\b", "", kind).strip()
        if kind in ("double", "float", "long double") or kind.startswith("_Float"):
            return "1.5"
        for pattern, value in (("pthread_t", "pthread_self()"), (".*pid_t", "pid(v)"), (".*(uid|gid)_t", f"({kind})-1"),
                               (".*mode_t", "0600"), ("mqd_t", "queue"), (".*off(64)?_t", "0"), ("wchar_t|wint_t", "L'a'"),
                               ("idtype_t", "P_ALL"), (".*clockid_t", f"({kind})(v & 1)"), ("(__)?socklen_t", "64"), ("s?size_t", "64")):
            if re.fullmatch(pattern, kind):
                return value
        if self.headers.resolve(kind).startswith(("struct", "union")):
            return f"({kind}){{0}}"
        if re.fullmatch(DESCRIPTORS, name) and "int" in kind:
            return "descriptor(v)"
        if re.fullmatch(SIZES, name):
            return "64"
        return f"({kind})number(v)"

    def replace(self, words):
        """ARGUMENTS: 0=expression, or 0:what is written."""
        for word in words:
            index, how, value = re.match(r"(\d+)([=:])(.*)", word).groups()
            i = int(index)
            while len(self.arguments) <= i:
                self.arguments.append("0")
            if how == "=":
                self.fills = [fill for fill in self.fills if f"p[{i}]" not in fill.split(",")[0]]
                self.arguments[i] = value.replace("@", f"p[{i}]")
            else:
                self.fills = [fill for fill in self.fills if f"p[{i}]" not in fill.split(",")[0]]
                self.arguments[i] = self.fill(i, value)

    def code(self):
        call = f"({self.name})({', '.join(self.arguments)})"
        kind = self.result.strip()
        if kind in ("void", "extern void") or kind.startswith("struct") and "*" not in kind:
            body = f"{call};\n\treturn 0;"
        elif re.search(r"\b(double|float|_Float\w+)\b", kind) and "*" not in kind:
            body = f"return (long)({call} * 1000);"
        else:
            body = f"return (long){call};"
        out = f"static void before_{self.name}(char **p, int v)\n{{\n\t" + "\n\t".join(["(void)p, (void)v;"] + self.fills) + "\n}\n"
        if "list" in self.arguments:
            body = body.replace("return (long)", "result = (long)").replace("\n\treturn 0;", "")
            return out + (f"static long list_{self.name}(char **p, int v, ...)\n{{\n\tlong result = 0;\n\tva_list list;\n\n\t(void)p;\n\t"
                          f"va_start(list, v);\n\t{body}\n\tva_end(list);\n\treturn result;\n}}\n"
                          f"static long call_{self.name}(char **p, int v) {{ return list_{self.name}(p, v, {self.extra}); }}\n")
        return out + f"static long call_{self.name}(char **p, int v)\n{{\n\t(void)p, (void)v;\n\t{body}\n}}\n"


# ---- the list ----

def rows(path):
    for line in open(path):
        line = line.split("#")[0].rstrip()
        if line:
            yield line.split(None, 1)


def symbols(nm, libc):
    listed = subprocess.run([nm, "-D", "--defined-only", libc], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TWi" and "@@" in name and "GLIBC_PRIVATE" not in name:
            yield name.split("@@")[0]


def sibling(headers, name):
    """Names of the library's own are mostly those of public functions with something before them."""
    for plain in (name, name.lstrip("_"), re.sub(r"^_IO_", "", name), re.sub(r"^__(libc|isoc\d+)_", "", name)):
        if plain in headers.functions:
            return plain
    return None


def main():
    nm, libc, apart_path, arguments_path, out_path, *compiler = sys.argv[1:]
    out = []

    def preprocessed(*options):
        return subprocess.run(compiler + ["-E", "-P", "-xc", *options, "-"], input=INCLUDES, capture_output=True, text=True,
                              check=True).stdout

    plain, headers = Headers(preprocessed("-U_FORTIFY_SOURCE")), Headers(preprocessed("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"))
    apart, arguments = list(rows(apart_path)), {name: how.split() for name, how in rows(arguments_path) if name != "declare"}
    for name, declaration in rows(arguments_path):
        if name == "declare":
            headers.add_function(declaration)
    cases, unlisted, without = [], [], 0
    out.append("/* Written by calls.py. */\n" + INCLUDES + '#include "idle_libc.h"\n')
    for name in sorted(set(symbols(nm, libc))):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern, _ in apart):
            continue
        known = sibling(headers, name)
        if not known:
            unlisted.append(name)
            continue
        result, parameters = headers.functions[known]
        if not any(headers.is_pointer(p) for p in parameters):
            without += 1
            continue
        case = Case(headers, name, result, parameters, name not in plain.declared)
        case.replace(arguments.get(name, arguments.get(known, [])))
        if case.own:
            out.append(f"extern {re.sub('^extern ', '', result)} ({name})({', '.join(parameters)});")
        out.append(case.code())
        cases.append(name)
    out.append("const struct libc_case libc_cases[] = {")
    out.append("".join(f'\t{{"{name}", before_{name}, call_{name}}},\n' for name in cases) + "};")
    out.append(f"const int libc_cases_count = {len(cases)}, libc_without_pointer = {without};")
    out.append("const char *const libc_unlisted[] = {" + ", ".join([f'"{name}"' for name in unlisted] + ["NULL"]) + "};")
    with open(out_path, "w") as file:
        file.write("\n".join(out) + "\n")


main()
