/* SPDX-License-Identifier: MIT
 * heapwise doctor: what works on this machine, in words. Each check is one function that says what
 * it found and what follows.
 * Host. Looks only: changes nothing on the machine, starts no program, asks no network. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/parts.h"
#include "host/base/units.h"
#include "host/symbols/remedy.h"
#include "live/program/layout.h"
#include "show/cli/trace_options.h"

enum { FILE_MAX = 1 << 20 };

enum finding_state { FINDING_OK, FINDING_LIMITED, FINDING_MISSING };

struct finding {
	enum finding_state state;
	char found[160];   /* what is there */
	char follows[200]; /* what that means for the user; may be empty */
};

#define FOLLOWS(finding, ...) snprintf((finding)->follows, sizeof(finding)->follows, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static void
say(struct finding *finding, enum finding_state state, const char *follows, const char *found, ...)
{
	va_list arguments;

	finding->state = state;
	FOLLOWS(finding, "%s", follows);
	va_start(arguments, found);
	vsnprintf(finding->found, sizeof finding->found, found, arguments);
	va_end(arguments);
}

/* ---- checks ---- */

/* The number that a file of /proc or /sys holds, or -1. */
static i64 file_number(const char *path)
{
	struct strbuf text = {0};
	i64 number = -1;

	if (io_read_file(path, FILE_MAX, &text, NULL) == 0 && text.count)
		number = strtoll(text.text, NULL, 10);
	strbuf_release(&text);
	return number;
}

static bool file_has(const char *path, const char *word)
{
	struct strbuf text = {0};
	bool has =
		io_read_file(path, FILE_MAX, &text, NULL) == 0 && strstr(strbuf_text(&text), word);

	strbuf_release(&text);
	return has;
}

static void look_recorder(struct finding *finding)
{
	char folder[PARTS_PATH], path[PARTS_PATH];

	parts_own_folder(folder);
	if (parts_find(folder, "libheapwise.so", path))
		say(finding, FINDING_OK, "programs can be recorded", "%.120s", path);
	else
		say(finding, FINDING_MISSING, "programs cannot be recorded; traces can be read",
		    "no libheapwise.so beside heapwise or in %s", parts_installed());
}

/* Newest last. */
static const struct {
	const char *debian;
	u32 glibc; /* 2.36: 36 */
} tested[] = {{"12", 36}, {"13", 41}, {"unstable", 43}};
enum { TESTED = sizeof tested / sizeof *tested };

static void look_distribution(struct finding *finding)
{
	u32 glibc = (u32)strtoul(gnu_get_libc_version() + strlen("2."), NULL, 10);
	struct strbuf list = {0};
	char name[80];

	remedy_system("", name);
	for (u32 i = 0; i < TESTED; i++)
		strbuf_addf(&list, "%sDebian %s (glibc 2.%u)",
			    i == 0           ? ""
			    : i + 1 < TESTED ? ", "
					     : " and ",
			    tested[i].debian, tested[i].glibc);
	say(finding, FINDING_OK, "", "%s, glibc %s", *name ? name : "unnamed",
	    gnu_get_libc_version());
	FOLLOWS(finding, "tested with %s", strbuf_text(&list));
	if (glibc > tested[TESTED - 1].glibc) {
		finding->state = FINDING_LIMITED;
		FOLLOWS(finding, "newer than what was tested: %s", strbuf_text(&list));
	}
	strbuf_release(&list);
}

static void look_memory(struct finding *finding)
{
	int fd = (int)syscall(SYS_memfd_create, "heapwise-doctor", 1u /* close on exec */);

	if (fd < 0) {
		say(finding, FINDING_LIMITED,
		    "shared memory uses files in XDG_RUNTIME_DIR, /dev/shm or TMPDIR",
		    "memfd_create: %s", strerror(errno));
		return;
	}
	close(fd);
	say(finding, FINDING_OK, "shared memory needs no files", "memfd_create works");
}

static void look_layout(struct finding *finding)
{
	struct layout layout = layout_of_machine();
	struct err err = {0};

	say(finding, FINDING_OK, "accesses can be recorded and programs watched",
	    "pages of %llu KiB, addresses of %u bits", (unsigned long long)layout.page_bytes / 1024,
	    layout.address_bits);
	if (layout_check(&layout, &err) == 0)
		return;
	finding->state = FINDING_LIMITED;
	FOLLOWS(finding,
		"heapwise watch and run --access exact or adaptive do not work: they need "
		"pages of 4 KiB and %u-bit addresses%s",
		layout_heap_bits(),
		layout.page_bytes == LAYOUT_PAGE ? "" : "; --alloc-fn does not work either");
}

static void look_proc(struct finding *finding)
{
	if (access("/proc/self/maps", R_OK) == 0 && access("/proc/self/fd", X_OK) == 0)
		say(finding, FINDING_OK, "", "/proc is mounted and readable");
	else
		say(finding, FINDING_LIMITED,
		    "resident memory is not sampled; shared memory uses files", "/proc: %s",
		    strerror(errno));
}

static void look_clock(struct finding *finding)
{
	struct utsname machine;
	bool is_x86 = uname(&machine) == 0 && strcmp(machine.machine, "x86_64") == 0;

	if (!is_x86 ||
	    (file_has("/proc/cpuinfo", "constant_tsc") && file_has("/proc/cpuinfo", "nonstop_tsc")))
		say(finding, FINDING_OK, "times of all threads are comparable",
		    "the processor's counter runs at a constant rate");
	else
		say(finding, FINDING_LIMITED,
		    "times may be wrong when it changes speed; counts and stacks are exact",
		    "the processor does not guarantee an invariant time stamp counter");
}

static void look_perf(struct finding *finding)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
					     .size = sizeof attributes,
					     .config = PERF_COUNT_HW_INSTRUCTIONS,
					     .exclude_kernel = 1};
	i64 paranoid = file_number("/proc/sys/kernel/perf_event_paranoid");
	int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0ul);

	if (fd < 0) {
		say(finding, FINDING_LIMITED, "not needed for recording; only benchmarks use them",
		    "%s (perf_event_paranoid %lld)", strerror(errno), (long long)paranoid);
		return;
	}
	close(fd);
	say(finding, FINDING_OK, "", "hardware counters can be read (perf_event_paranoid %lld)",
	    (long long)paranoid);
}

static void look_userfaultfd(struct finding *finding)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || access("/dev/userfaultfd", R_OK | W_OK) == 0)
		say(finding, FINDING_OK,
		    "page-wise access recording can see accesses inside system calls",
		    fd >= 0 ? "allowed by system call" : "/dev/userfaultfd can be opened");
	else
		say(finding, FINDING_LIMITED,
		    "page-wise access recording uses mprotect; needs CAP_SYS_PTRACE or "
		    "/dev/userfaultfd",
		    "not allowed (%s)", strerror(errno));
}

static void look_ptrace(struct finding *finding)
{
	static const char *const words[] = {"any process of yours", "children only", "root only",
					    "nobody"};
	i64 scope = file_number("/proc/sys/kernel/yama/ptrace_scope");

	if (scope <= 0 || scope > 3)
		say(finding, FINDING_OK, "", "your processes can be scanned");
	else
		say(finding, scope == 1 ? FINDING_OK : FINDING_LIMITED,
		    "programs that heapwise starts are not affected", "yama ptrace_scope %lld: %s",
		    (long long)scope, words[scope]);
}

static void look_maps(struct finding *finding)
{
	i64 most = file_number("/proc/sys/vm/max_map_count");
	bool enough = most >= 65530;

	say(finding, enough ? FINDING_OK : FINDING_LIMITED,
	    "low: programs with many mappings may fail to map more", "vm.max_map_count %lld",
	    (long long)most);
	if (enough)
		FOLLOWS(finding, "about %lld areas can be monitored page-wise at a time",
			(long long)most / 2);
}

static void look_disk(struct finding *finding)
{
	struct statvfs disk;
	u64 bytes;

	if (statvfs(".", &disk) != 0) {
		say(finding, FINDING_LIMITED, "", "unknown: %s", strerror(errno));
		return;
	}
	bytes = (u64)disk.f_bavail * disk.f_frsize;
	say(finding, bytes < 1u << 30 ? FINDING_LIMITED : FINDING_OK, "", "%s free in this folder",
	    units_bytes(bytes).text);
	/* 2 to 6 bytes per event: 4 is what most programs need. */
	FOLLOWS(finding, "enough for about %s million events",
		units_count(bytes / 4 / 1000000).text);
}

static void look_debuginfod(struct finding *finding)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls) {
		say(finding, FINDING_OK, "missing debug info is downloaded from there",
		    "DEBUGINFOD_URLS is %.100s", urls);
		return;
	}
	say(finding, FINDING_LIMITED, "", "DEBUGINFOD_URLS is not set");
	FOLLOWS(finding,
		"the network is not used; stripped libraries show only exported names; this "
		"system's server is %s",
		remedy_server(""));
}

static void look_debug_files(struct finding *finding)
{
	if (access("/usr/lib/debug/.build-id", R_OK) == 0)
		say(finding, FINDING_OK,
		    "libraries with installed debug files show names and lines",
		    "/usr/lib/debug/.build-id exists");
	else
		say(finding, FINDING_LIMITED,
		    "libraries without debug info show only exported names",
		    "no /usr/lib/debug/.build-id");
}

static void look_valgrind(struct finding *finding)
{
	const char *folders = getenv("PATH");
	char path[4096];

	say(finding, FINDING_LIMITED, "run --access valgrind does not work; install valgrind",
	    "not installed");
	for (; folders && *folders;
	     folders += strcspn(folders, ":") + (folders[strcspn(folders, ":")] == ':')) {
		snprintf(path, sizeof path, "%.*s/valgrind", (int)strcspn(folders, ":"), folders);
		if (access(path, X_OK) == 0) {
			say(finding, FINDING_OK, "run --access valgrind works", "%.120s", path);
			return;
		}
	}
}

static const struct {
	const char *name;
	void (*look)(struct finding *finding);
} checkups[] = {
	{"recorder", look_recorder},
	{"distribution", look_distribution},
	{"shared memory", look_memory},
	{"memory layout", look_layout},
	{"/proc", look_proc},
	{"clock", look_clock},
	{"disk", look_disk},
	{"mappings", look_maps},
	{"ptrace", look_ptrace},
	{"userfaultfd", look_userfaultfd},
	{"perf counters", look_perf},
	{"debug files", look_debug_files},
	{"debuginfod", look_debuginfod},
	{"valgrind", look_valgrind},
};

/* ---- optional parts ---- */

/* What a build may lack because a package was not there, or did not fit (cmake/Parts.cmake). */
static const struct part {
	const char *name;
	bool built;
	const char *file;     /* what it adds beside the program; may be empty */
	const char *packages; /* what it is built with */
	const char *why;      /* it was not built though these are there; may be empty */
} parts[] = {
#define PART(name, built, file, packages, why) {name, built, file, packages, why},
#include "show/cli/parts.inc"
#undef PART
};

static void part_look(const struct part *part, struct finding *finding)
{
	char folder[PARTS_PATH], path[PARTS_PATH] = "";

	parts_own_folder(folder);
	if (!part->built) {
		say(finding, FINDING_LIMITED, part->why, "not built");
		if (!*part->why)
			FOLLOWS(finding, "install %s and build Heapwise again", part->packages);
	} else if (*part->file && !parts_find(folder, part->file, path)) {
		say(finding, FINDING_LIMITED, "install Heapwise again",
		    "built, but %s is not beside heapwise or in %s", part->file, parts_installed());
	} else {
		say(finding, FINDING_OK, "", "built with %s", part->packages);
		FOLLOWS(finding, "%.190s", path);
	}
}

/* ---- the command ---- */

struct doctor_args {
	const char *format;
};

static const struct option_spec options[] = {FORMAT_OPTION(struct doctor_args), OPTION_END};

static const struct result_column columns[] = {
	COLUMN("state", "state", VALUE_TEXT, "ok, limited, or missing"),
	COLUMN("check", "what", VALUE_TEXT, "what was checked"),
	COLUMN("found", "found", VALUE_TEXT, "what was found"),
	COLUMN("follows", NULL, VALUE_TEXT, "what that means"),
};

static const char *const state_words[] = {"ok", "limited", "missing"};

/* Text shows finding and consequence as one phrase; programs get them apart. */
static void add_row(struct result *table, const char *name, const struct finding *finding,
		    bool joined)
{
	char phrase[sizeof finding->found + sizeof finding->follows + 2];
	struct value *row;

	strcpy(phrase, finding->found);
	if (joined && *finding->follows) {
		strcat(phrase, ": ");
		strcat(phrase, finding->follows);
	}
	row = result_add_row(table);
	if (!row)
		return;
	row[0] = value_text(state_words[finding->state]);
	row[1] = value_text(name);
	row[2] = value_text(result_copy(table, phrase));
	row[3] = value_text(result_copy(table, finding->follows));
}

static void add_rows(struct result *table, bool joined)
{
	for (u32 i = 0; i < sizeof checkups / sizeof *checkups; i++) {
		struct finding finding;

		checkups[i].look(&finding);
		add_row(table, checkups[i].name, &finding, joined);
	}
	for (u32 i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct finding finding;

		part_look(&parts[i], &finding);
		add_row(table, parts[i].name, &finding, joined);
	}
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct doctor_args *args = fields;
	enum format format = format_parse(args->format);
	struct result *table;

	if (argc != 0)
		return command_usage(self, "unexpected argument '%s'", argv[0]);
	table = result_new(RESULT_TABLE, "doctor",
			   format == FORMAT_TEXT ? "" : "What works on this machine");
	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	if (table)
		add_rows(table, format == FORMAT_TEXT);
	if (format == FORMAT_TEXT && table && !result_failed(table)) {
		struct text_style style = print_style();

		style.width = 0; /* a sentence that is cut helps nobody */
		render_text(table, &style, stdout);
		result_free(table);
		return EXIT_DONE;
	}
	return print_made(self, table, format);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "check which features work on this machine",
	.options = options,
	.fields_size = sizeof(struct doctor_args),
	.run = run,
};
