/* SPDX-License-Identifier: MIT
 * Gates before system calls: which are found in the C library, and what a call through one is like. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/shadow.h"
#include "lib/test.h"
#include "target/access/pages/gates.h"

enum { STUBS = 1 << 16, NEAR_STEP = 1 << 20, FUNCTION_MOST = 256, SHORT_FUNCTION = 64, BEFORE = 8 };

static struct hwr_gate_frame seen;
static u32 calls;

long hwr_gate_call(const struct hwr_gate_frame *frame)
{
	const long *a = frame->arguments;
	long result;

	seen = *frame;
	calls++;
	result = syscall(frame->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return result;
}

/* Not a sanitizer's that stands in front of it. */
static u64 in_libc(const char *function)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	return libc ? (u64)dlsym(libc, function) : 0;
}

struct code {
	u64 start, end;
};

static int libc_visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct code *code = data;
	u64 inside = in_libc("prlimit");

	(void)bytes;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && inside - start < segment->p_memsz)
			*code = (struct code){start, start + segment->p_memsz};
	}
	return 0;
}

static struct code libc_code(void)
{
	struct code code = {0};

	dl_iterate_phdr(libc_visit, &code);
	return code;
}

/* The first call of a function. */
static bool site_of(const char *function, struct hwr_gate_site *site)
{
	u64 start = in_libc(function);

	return start && hwr_gate_find(start - BEFORE, start + FUNCTION_MOST, site) && hwr_gate_look(site, start, true);
}

/* Calls at which a thread can be cancelled are made in one place. */
static bool has_one_place(void) { return strverscmp(gnu_get_libc_version(), "2.41") >= 0; }

TEST(libc, "nearly all system calls of the C library can have a gate, with their numbers")
{
	static const struct {
		const char *function;
		long number;
	} rows[] = {
		{"prlimit", SYS_prlimit64},   {"sched_rr_get_interval", SYS_sched_rr_get_interval},
		{"timerfd_gettime", SYS_timerfd_gettime}, {"sysinfo", SYS_sysinfo},
		{"name_to_handle_at", SYS_name_to_handle_at}, {"getrusage", SYS_getrusage},
		{"capget", SYS_capget},       {"getpriority", SYS_getpriority},
	};
	struct code code = libc_code();
	struct hwr_gate_site site;
	u32 count = 0;

	for (u64 at = code.start; hwr_gate_find(at, code.end, &site); at = site.call + 1) {
		if (!site.patch)
			continue;
		count++;
		CHECK(site.patch < site.call && site.call - site.patch < HWR_GATE_STUB);
		CHECK(site.number >= 0 && site.number < 512);
	}
	CHECK(count >= (has_one_place() ? 330 : 400));
	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!site_of(rows[i].function, &site))
			FAIL("no call in %s", rows[i].function);
		else if (site.number != rows[i].number)
			FAIL("%s: %ld", rows[i].function, site.number);
	}
}

TEST(read, "a call whose number is no constant before it can have a gate, too")
{
	struct hwr_gate_site site;

	if (has_one_place())
		test_skip("this C library makes it elsewhere");
	CHECK(site_of("read", &site));
	CHECK_EQ(site.number, SYS_read);
	CHECK(site.patch < site.call && site.call - site.patch < HWR_GATE_STUB);
}

TEST(cancellable, "the call at which threads are cancelled is found where the C library has one place for it, and who calls it")
{
	struct code code = libc_code();
	struct hwr_gate_site site;
	u32 count = 0, callers = 0;

	for (u64 at = code.start; hwr_gate_find(at, code.end, &site); at = site.call + 1) {
		if (!hwr_gate_is_cancellable(site.call))
			continue;
		count++;
		for (u64 function = site.call - SHORT_FUNCTION; function < site.call && !callers; function += 4)
			callers += hwr_gate_find_caller(code.start, code.end, function) != 0;
	}
	CHECK_EQ(count, has_one_place());
	CHECK_EQ(callers, count);
}

/* The kernel takes the hint if there is room. */
static u8 *map_near(u64 address)
{
	for (u64 far = NEAR_STEP; far < 64 * (u64)NEAR_STEP; far += NEAR_STEP) {
		u64 wanted = (address - far) & ~(u64)(STUBS - 1);
		u8 *p = mmap((void *)wanted, STUBS, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if ((u64)p == wanted)
			return p;
		if (p != MAP_FAILED)
			munmap(p, STUBS);
	}
	return NULL;
}

static bool make_gate(const char *function, u64 entry)
{
	struct code code = libc_code();
	u64 page = (u64)sysconf(_SC_PAGESIZE), start = code.start & ~(page - 1);
	struct hwr_gate_site site;
	u8 *stub;

	if (!site_of(function, &site) || mprotect((void *)start, code.end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	stub = map_near(site.patch);
	if (!stub || !hwr_gate_write(&site, stub, entry))
		return false;
	__builtin___clear_cache((char *)stub, (char *)stub + HWR_GATE_STUB);
	__builtin___clear_cache((char *)site.patch, (char *)site.call);
	return true;
}

TEST(passes, "a call that names no memory of the heap goes on where it was")
{
	struct rlimit limits = {0};

	if (!make_gate("prlimit", (u64)hwr_gate))
		test_skip("code cannot be changed here");
	CHECK_EQ(prlimit(0, RLIMIT_NOFILE, NULL, &limits), 0);
	CHECK(limits.rlim_cur > 0);
	CHECK_EQ(prlimit(0, RLIMIT_NOFILE, NULL, (struct rlimit *)8), -1);
	CHECK_EQ(calls, 0);
}

TEST(calls, "a call that names memory of the heap is made by us, and comes back as it would")
{
	struct rlimit *limits = mmap((void *)(HW_HEAP_START + (5ull << 36)), STUBS, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	double kept = 1.5;

	if (limits == MAP_FAILED || !make_gate("prlimit", (u64)hwr_gate))
		test_skip("code cannot be changed here");
	CHECK_EQ(prlimit(0, RLIMIT_NOFILE, NULL, limits), 0);
	CHECK(limits->rlim_cur > 0 && kept * 2 == 3);
	CHECK_EQ(calls, 1);
	CHECK_EQ(seen.number, SYS_prlimit64);
	CHECK_EQ(seen.arguments[1], RLIMIT_NOFILE);
	CHECK_EQ((u64)seen.arguments[3], (u64)limits);
	CHECK_EQ(prlimit(0, 12345, NULL, limits), -1);
	CHECK_EQ(calls, 2);
}

TEST(jumps, "a read through a gate is a read")
{
	char *to = mmap((void *)(HW_HEAP_START + (5ull << 36)), STUBS, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char here[8] = "";
	int ends[2];

	if (has_one_place() || !__libc_single_threaded)
		test_skip("this C library makes the call elsewhere, or a sanitizer has a thread, for which there is another one");
	if (to == MAP_FAILED || pipe(ends) != 0 || !make_gate("read", (u64)hwr_gate))
		test_skip("code cannot be changed here");
	CHECK_EQ(write(ends[1], "onetwo", 6), 6);
	CHECK_EQ(read(ends[0], here, 3), 3);
	CHECK_EQ(calls, 0);
	CHECK_EQ(read(ends[0], to, 3), 3);
	CHECK_EQ(calls, 1);
	CHECK_EQ(seen.number, SYS_read);
	CHECK(here[0] == 'o' && to[0] == 't');
	CHECK_EQ(read(-1, to, 3), -1);
}

TEST(always, "what may lead to memory that it does not name is always made by us")
{
	struct rlimit limits = {0};

	if (!make_gate("prlimit", (u64)hwr_gate_always))
		test_skip("code cannot be changed here");
	CHECK_EQ(prlimit(0, RLIMIT_NOFILE, NULL, &limits), 0);
	CHECK(limits.rlim_cur > 0);
	CHECK_EQ(calls, 1);
}
