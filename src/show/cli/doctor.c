/* SPDX-License-Identifier: MIT
 * The checks of heapwise doctor.
 * Host. Looks only: changes nothing on the machine, starts no program, asks no network. */
#include "show/cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/options.h"
#include "host/base/parts.h"
#include "host/base/units.h"
#include "live/program/layout.h"
#include "host/symbols/remedy.h"

enum { FILE_MAX = 1 << 20 };

#define FOUND(finding, ...) snprintf((finding)->found, sizeof(finding)->found, __VA_ARGS__)
#define FOLLOWS(finding, ...) snprintf((finding)->follows, sizeof(finding)->follows, __VA_ARGS__)

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
	if (parts_find(folder, "libheapwise.so", path)) {
		FOUND(finding, "%.120s", path);
		FOLLOWS(finding, "programs can be recorded");
		return;
	}
	finding->state = FINDING_MISSING;
	FOUND(finding, "no libheapwise.so beside heapwise or in %s", parts_installed());
	FOLLOWS(finding, "programs cannot be recorded; traces can be read");
}

void part_look(const struct part *part, struct finding *finding)
{
	char folder[PARTS_PATH], path[PARTS_PATH] = "";

	parts_own_folder(folder);
	if (!part->built) {
		finding->state = FINDING_LIMITED;
		FOUND(finding, "not built");
		FOLLOWS(finding, "install %s and build Heapwise again", part->packages);
	} else if (*part->file && !parts_find(folder, part->file, path)) {
		finding->state = FINDING_LIMITED;
		FOUND(finding, "built, but %s is not beside heapwise or in %s", part->file,
		      parts_installed());
		FOLLOWS(finding, "install Heapwise again");
	} else {
		FOUND(finding, "built with %s", part->packages);
		FOLLOWS(finding, "%.190s", path);
	}
}

static void look_memory(struct finding *finding)
{
	int fd = (int)syscall(SYS_memfd_create, "heapwise-doctor", 1u /* close on exec */);

	if (fd >= 0) {
		close(fd);
		FOUND(finding, "memfd_create works");
		FOLLOWS(finding, "shared memory needs no files");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "memfd_create: %s", strerror(errno));
	FOLLOWS(finding, "shared memory uses files in XDG_RUNTIME_DIR, /dev/shm or TMPDIR");
}

static void look_layout(struct finding *finding)
{
	struct layout layout = layout_of_machine();
	struct err err = {0};

	FOUND(finding, "pages of %llu KiB, addresses of %u bits",
	      (unsigned long long)layout.page_bytes / 1024, layout.address_bits);
	if (layout_check(&layout, &err) == 0) {
		FOLLOWS(finding, "accesses can be recorded and programs watched");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOLLOWS(finding,
		"heapwise watch and run --access exact or adaptive do not work: they need "
		"pages of 4 KiB and %u-bit addresses%s",
		layout_heap_bits(),
		layout.page_bytes == LAYOUT_PAGE ? "" : "; --alloc-fn does not work either");
}

static void look_proc(struct finding *finding)
{
	if (access("/proc/self/maps", R_OK) == 0 && access("/proc/self/fd", X_OK) == 0) {
		FOUND(finding, "/proc is mounted and readable");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "/proc: %s", strerror(errno));
	FOLLOWS(finding, "resident memory is not sampled; shared memory uses files");
}

static void look_clock(struct finding *finding)
{
	struct utsname machine;
	bool is_x86 = uname(&machine) == 0 && strcmp(machine.machine, "x86_64") == 0;

	if (!is_x86 || (file_has("/proc/cpuinfo", "constant_tsc") &&
			file_has("/proc/cpuinfo", "nonstop_tsc"))) {
		FOUND(finding, "the processor's counter runs at a constant rate");
		FOLLOWS(finding, "times of all threads are comparable");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "the processor does not guarantee an invariant time stamp counter");
	FOLLOWS(finding, "times may be wrong when it changes speed; counts and stacks are exact");
}

static void look_perf(struct finding *finding)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
					     .size = sizeof attributes,
					     .config = PERF_COUNT_HW_INSTRUCTIONS,
					     .exclude_kernel = 1};
	i64 paranoid = file_number("/proc/sys/kernel/perf_event_paranoid");
	int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0ul);

	if (fd >= 0) {
		close(fd);
		FOUND(finding, "hardware counters can be read (perf_event_paranoid %lld)",
		      (long long)paranoid);
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "%s (perf_event_paranoid %lld)", strerror(errno), (long long)paranoid);
	FOLLOWS(finding, "not needed for recording; only benchmarks use them");
}

static void look_userfaultfd(struct finding *finding)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || access("/dev/userfaultfd", R_OK | W_OK) == 0) {
		FOUND(finding, "%s",
		      fd >= 0 ? "allowed by system call" : "/dev/userfaultfd can be opened");
		FOLLOWS(finding, "page-wise access recording can see accesses inside system calls");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "not allowed (%s)", strerror(errno));
	FOLLOWS(finding, "page-wise access recording uses mprotect; needs CAP_SYS_PTRACE or "
			 "/dev/userfaultfd");
}

static void look_ptrace(struct finding *finding)
{
	static const char *const words[] = {"any process of yours", "children only", "root only",
					    "nobody"};
	i64 scope = file_number("/proc/sys/kernel/yama/ptrace_scope");

	if (scope <= 0 || scope > 3) {
		FOUND(finding, "your processes can be scanned");
		return;
	}
	finding->state = scope == 1 ? FINDING_OK : FINDING_LIMITED;
	FOUND(finding, "yama ptrace_scope %lld: %s", (long long)scope, words[scope]);
	FOLLOWS(finding, "programs that heapwise starts are not affected");
}

static void look_maps(struct finding *finding)
{
	i64 most = file_number("/proc/sys/vm/max_map_count");

	FOUND(finding, "vm.max_map_count %lld", (long long)most);
	if (most >= 65530) {
		FOLLOWS(finding, "about %lld areas can be monitored page-wise at a time",
			(long long)most / 2);
		return;
	}
	finding->state = FINDING_LIMITED;
	FOLLOWS(finding, "low: programs with many mappings may fail to map more");
}

static void look_disk(struct finding *finding)
{
	struct statvfs disk;
	u64 bytes;

	if (statvfs(".", &disk) != 0) {
		finding->state = FINDING_LIMITED;
		FOUND(finding, "unknown: %s", strerror(errno));
		return;
	}
	bytes = (u64)disk.f_bavail * disk.f_frsize;
	FOUND(finding, "%s free in this folder", units_bytes(bytes).text);
	/* 2 to 6 bytes per event: 4 is what most programs need. */
	FOLLOWS(finding, "enough for about %s million events",
		units_count(bytes / 4 / 1000000).text);
	if (bytes < 1u << 30)
		finding->state = FINDING_LIMITED;
}

static void look_debuginfod(struct finding *finding)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls) {
		FOUND(finding, "DEBUGINFOD_URLS is %.100s", urls);
		FOLLOWS(finding, "missing debug info is downloaded from there");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "DEBUGINFOD_URLS is not set");
	FOLLOWS(finding,
		"the network is not used; stripped libraries show only exported names; this "
		"system's server is %s",
		remedy_server(""));
}

static void look_debug_files(struct finding *finding)
{
	if (access("/usr/lib/debug/.build-id", R_OK) == 0) {
		FOUND(finding, "/usr/lib/debug/.build-id exists");
		FOLLOWS(finding, "libraries with installed debug files show names and lines");
		return;
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "no /usr/lib/debug/.build-id");
	FOLLOWS(finding, "libraries without debug info show only exported names");
}

static void look_valgrind(struct finding *finding)
{
	const char *folders = getenv("PATH");
	char path[4096];

	for (; folders && *folders;
	     folders += strcspn(folders, ":") + (folders[strcspn(folders, ":")] == ':')) {
		snprintf(path, sizeof path, "%.*s/valgrind", (int)strcspn(folders, ":"), folders);
		if (access(path, X_OK) == 0) {
			FOUND(finding, "%.120s", path);
			FOLLOWS(finding, "run --access valgrind works");
			return;
		}
	}
	finding->state = FINDING_LIMITED;
	FOUND(finding, "not installed");
	FOLLOWS(finding, "run --access valgrind does not work; install valgrind");
}

const struct checkup checkups[] = {
	{"recorder", look_recorder},
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
const u32 checkup_count = sizeof checkups / sizeof *checkups;

const struct part parts[] = {
#define PART(name, built, file, packages) {name, built, file, packages},
#include "show/cli/parts.inc"
#undef PART
};
const u32 part_count = sizeof parts / sizeof *parts;
