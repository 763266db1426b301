/* SPDX-License-Identifier: MIT
 * Detours: functions of several beginnings do what they did, and every call is seen. */
#define HWR_ALONE
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "target/recorder/pool/detour.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/sys.h"

#include "target/recorder/pool/detour.c"
#if defined(__x86_64__)
#include "target/recorder/pool/arch/x86_64/detour_arch.c"
#include "target/recorder/pool/arch/x86_64/instruction.c"
#else
#include "target/recorder/pool/arch/aarch64/detour_arch.c"
#endif

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif

void hwr_own_map(void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
}

/* What the code of a test lies in, if that is a module. */
static struct hwr_module_at module_there;

bool hwr_module_at(u64 pc, struct hwr_module_at *module)
{
	*module = module_there;
	return pc - module_there.start < module_there.end - module_there.start;
}

/* It has one note. */
const u8 *hwr_note_find(const u8 *note, u64 bytes, u32 type, const char *name, u32 *content_bytes)
{
	(void)type;
	(void)name;
	*content_bytes = (u32)bytes - 16;
	return note + 16;
}

enum { SITES = 16 };
static struct hwr_detour sites[SITES];
static struct {
	u64 before, after, first, second, result, caller;
} seen[SITES];

void hwr_thunk_before(struct hwr_thunk_frame *frame, u64 site, const struct hwr_caller *caller)
{
	frame->real = sites[site].real;
	frame->state[0] = site;
	seen[site].before++;
	seen[site].first = hwr_thunk_argument(frame, 0);
	seen[site].second = hwr_thunk_argument(frame, 1);
	seen[site].caller = *(const u64 *)caller;
}

void hwr_thunk_after(struct hwr_thunk_frame *frame)
{
	u64 site = frame->state[0];

	seen[site].after++;
	seen[site].result = hwr_thunk_result(frame);
}

static u64 global = 7;

NOINLINE static u64 loads_global(u64 a, u64 b) { return global + a * b; }
NOINLINE static u64 decides(u64 a, u64 b) { return a ? b : 99; }
NOINLINE static u64 calls(u64 a, u64 b) { return loads_global(a, b) + 1; }
NOINLINE static u64 jumps(u64 a, u64 b) { return loads_global(b, a); }
static u64 (*volatile itself)(u64, u64); /* else it becomes a loop */
NOINLINE static u64 recurses(u64 a, u64 b) { return a ? itself(a - 1, b) + b : 0; }
NOINLINE static u64 has_frame(u64 a, u64 b)
{
	volatile char room[3000];

	memset((char *)room, (int)a, sizeof room);
	return (u64)room[17] + b;
}

NOINLINE static double adds(double a, double b, u64 c) { return a + b + (double)c; }
NOINLINE static u64 six(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	return a | b << 8 | c << 16 | d << 24 | e << 32 | f << 40;
}

static bool detour(u32 number, void *function)
{
	sites[number] = (struct hwr_detour){.function = (u64)function, .site = number};
	memset(&seen[number], 0, sizeof seen[number]);
	return CHECK_EQ(hwr_detour_make(&sites[number]), HW_POOL_RECORDED) &&
	       CHECK(hwr_detour_stands(&sites[number]));
}

TEST(beginnings, "functions of several beginnings give the same results through a detour")
{
	static const struct {
		u64 (*function)(u64, u64);
		u64 a, b, wanted, times;
	} rows[] = {
		{loads_global, 3, 5, 22, 1}, {decides, 0, 5, 99, 1}, {decides, 1, 5, 5, 1},
		{calls, 3, 5, 23, 1},        {jumps, 3, 5, 22, 1},   {recurses, 6, 2, 12, 7},
		{has_frame, 1, 4, 5, 1},
	};

	itself = recurses;
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool again = i && rows[i].function == rows[i - 1].function;
		u32 site = again ? i - 1 : i;
		u64 calls_before = again ? seen[site].before : 0;

		if (!again && !detour(site, (void *)rows[i].function))
			return;
		CHECK_EQ(rows[i].function(rows[i].a, rows[i].b), rows[i].wanted);
		CHECK_EQ(seen[site].before - calls_before, rows[i].times);
		CHECK_EQ(seen[site].before, seen[site].after);
		CHECK_EQ(seen[site].result, rows[i].wanted);
		CHECK_EQ(seen[site].second, rows[i].b);
	}
}

TEST(arguments, "all arguments arrive, and vectors too")
{
	double (*volatile add)(double, double, u64) = adds;
	u64 (*volatile all)(u64, u64, u64, u64, u64, u64) = six;

	if (!detour(0, (void *)adds) || !detour(1, (void *)six))
		return;
	CHECK_EQ((u64)(add(1.5, 2.5, 3) * 10), 70);
	CHECK_EQ(seen[0].first, 3);
	CHECK_EQ(all(1, 2, 3, 4, 5, 6), 0x060504030201);
	CHECK_EQ(seen[1].first, 1);
	CHECK_EQ(seen[1].after, 1);
}

TEST(caller, "the caller is known")
{
	if (!detour(0, (void *)loads_global))
		return;
	CHECK_EQ(calls(1, 1), 9);
	CHECK(hwr_strip(seen[0].caller) - (u64)calls < 64);
}

#if defined(__x86_64__)
/* The bytes of functions that no compiler here makes. */
static const struct {
	const char *what;
	u8 code[16];
	u32 bytes;
	bool fits;
} shapes[] = {
	{"a jump back to the second instruction", {0x53, 0xff, 0xcf, 0x75, 0xfc, 0x5b, 0xc3}, 7, false},
	{"a jump back to the very beginning", {0xff, 0xcf, 0x75, 0xfc, 0x31, 0xc0, 0xc3}, 7, true},
	{"too short, and the next function follows", {0xc3, 0x53, 0x53, 0x53, 0x53, 0x53}, 1, false},
	{"too short, with filling behind", {0xc3, 0x66, 0x90, 0x0f, 0x1f, 0x00}, 1, true},
	{"an unknown instruction", {0x06, 0x06, 0x06, 0x06, 0x06, 0xc3}, 6, false},
	{"loop, which has no long form", {0xe2, 0x02, 0x31, 0xc0, 0xc3, 0xc3, 0xc3}, 7, false},
};

TEST(shapes, "what cannot be moved is left alone")
{
	for (u32 i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		u8 *memory = hwr_mmap(4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		struct hwr_detour self = {.function = (u64)memory, .bytes = shapes[i].bytes};
		bool fits;

		memcpy(memory, shapes[i].code, sizeof shapes[i].code);
		fits = hwr_detour_plan(&self) == HW_POOL_RECORDED;
		if (fits != shapes[i].fits)
			FAIL("%s: %d", shapes[i].what, fits);
		hwr_munmap(memory, 4096);
	}
}

/* As a program with a shadow stack sees it. */
static enum hw_pool_state planned(const u8 *code, u32 bytes, bool shadowed)
{
	struct hwr_detour self = {.function = (u64)code, .bytes = bytes, .shadowed = shadowed};

	return hwr_detour_plan(&self);
}

TEST(shadow, "where a shadow stack is in force no call is moved, and all else is")
{
	static const u8 call[] = {0xe8, 0, 1, 0, 0, 0xc3, 0xc3}, marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xe8, 0, 1, 0, 0, 0xc3},
			late[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 1, 0, 0, 0x5d, 0xc3},
			later[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0xe8, 0, 1, 0, 0, 0x5d, 0xc3};

	CHECK_EQ(planned(call, sizeof call, true), HW_POOL_SHADOWED);
	CHECK_EQ(planned(call, sizeof call, false), HW_POOL_RECORDED);
	CHECK_EQ(planned(marked, sizeof marked, true), HW_POOL_SHADOWED);
	CHECK_EQ(planned(late, sizeof late, true), HW_POOL_SHADOWED);
	CHECK_EQ(planned(later, sizeof later, true), HW_POOL_RECORDED);
}

TEST(landing, "what is called by address begins with a landing mark, and no other indirect jump is tracked")
{
	static const u8 mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
	u8 jump[16];
	u64 target = (u64)jump + ((u64)1 << 40), there;

	if (!detour(0, (void *)loads_global))
		return;
	CHECK(!memcmp((const void *)sites[0].real, mark, sizeof mark));
	CHECK(!memcmp((const void *)hwr_thunk, mark, sizeof mark));
	CHECK_EQ(loads_global(1, 2), 9);
	CHECK_EQ(put_jump(jump, (u64)jump + 5 + INT32_MAX) - jump, 5);
	CHECK_EQ(jump[0], 0xe9); /* direct */
	CHECK_EQ(put_jump(jump, target) - jump, 15);
	CHECK(!memcmp(jump, "\x3e\xff\x25\0\0\0\0", 7)); /* notrack jmp *0(%rip) */
	memcpy(&there, jump + 7, sizeof there);
	CHECK_EQ(there, target);
}
#else
/* Beginnings that compilers seldom make: each function gives a known number. */
__asm__(".pushsection .text\n"
	".p2align 2\n"
	"word_7: .quad 0x1122334455667788\n"
	"begins_adr: adr x0, word_7\n ldr w0, [x0]\n ret\n"
	"begins_ldr: ldr x0, word_7\n ret\n"
	"begins_ldr_w: ldr w0, word_7\n ret\n"
	"begins_ldrsw: ldrsw x0, word_7 + 4\n ret\n"
	"begins_adrp: adrp x0, word_7\n add x0, x0, :lo12:word_7\n ldr x0, [x0]\n ret\n"
	"begins_tbz: tbz x0, 3, 1f\n mov x0, 5\n ret\n 1: mov x0, 6\n ret\n"
	"begins_cond: b.eq 1f\n 1: mov x0, 9\n ret\n"
	"begins_vector: ldr q0, word_7\n ret\n"
	".popsection\n");
u64 begins_adr(u64, u64), begins_ldr(u64, u64), begins_ldr_w(u64, u64), begins_ldrsw(u64, u64), begins_adrp(u64, u64),
	begins_tbz(u64, u64), begins_cond(u64, u64), begins_vector(u64, u64);

TEST(relative, "instructions that are relative to their place are written anew")
{
	static const struct {
		u64 (*function)(u64, u64);
		u64 a, wanted;
	} rows[] = {
		{begins_adr, 0, 0x55667788},        {begins_ldr, 0, 0x1122334455667788},
		{begins_ldr_w, 0, 0x55667788},      {begins_ldrsw, 0, 0x11223344},
		{begins_adrp, 0, 0x1122334455667788}, {begins_tbz, 8, 5}, {begins_tbz, 7, 6},
		{begins_cond, 0, 9},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool again = i && rows[i].function == rows[i - 1].function;

		if (!again && !detour(i, (void *)rows[i].function))
			return;
		CHECK_EQ(rows[i].function(rows[i].a, 0), rows[i].wanted);
	}
}

TEST(shapes, "what cannot be moved is left alone")
{
	static u64 (*volatile const vector)(u64, u64) = begins_vector;
	struct hwr_detour self = {.function = (u64)vector};

	CHECK_EQ(hwr_detour_plan(&self), HW_POOL_UNFIT);
}

/* In the midst of so much memory that no jump of one instruction leaves it. */
enum { LARGE = 256 << 20 };
static u64 (*in_large(const void *code, u64 bytes, u8 **memory))(u64, u64)
{
	u8 *at;

	*memory = hwr_mmap(LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	at = *memory + LARGE / 2;
	if (hwr_ask3(SYS_mprotect, (long)at, 65536, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return NULL;
	memcpy(at, code, bytes);
	hwr_detour_sync((u64)at, bytes);
	return (u64(*)(u64, u64))(void *)at;
}

TEST(far, "in a program that is larger than a jump is long two instructions are moved")
{
	static const struct {
		const char *what;
		u32 code[6];
		u64 a, wanted;
		enum hw_pool_state state;
	} rows[] = {
		{"two that stay as they are", {0x91000400, 0x91000800, 0xd65f03c0}, 5, 8, HW_POOL_RECORDED},
		{"a branch first, taken", {0xb4000080, 0x91000800, 0xd65f03c0, 0, 0xd2800120, 0xd65f03c0}, 0, 9, HW_POOL_RECORDED},
		{"a branch first, not taken", {0xb4000080, 0x91000800, 0xd65f03c0, 0, 0xd2800120, 0xd65f03c0}, 1, 3, HW_POOL_RECORDED},
		{"a branch second", {0x91000400, 0xb4000060, 0xd65f03c0, 0, 0xd2800120, 0xd65f03c0}, 1, 2, HW_POOL_RECORDED},
		{"a landing mark", {0xd503245f, 0x91000400, 0x91000800, 0xd65f03c0}, 5, 8, HW_POOL_RECORDED},
		{"a loop to the second", {0x91000400, 0xd1000400, 0xb5ffffe0, 0xd65f03c0}, 5, 0, HW_POOL_UNFIT},
		{"a call first", {0x94000002, 0x91000800, 0xd65f03c0}, 0, 0, HW_POOL_UNFIT},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		u8 *memory;
		u64 (*function)(u64, u64) = in_large(rows[i].code, sizeof rows[i].code, &memory);

		sites[0] = (struct hwr_detour){.function = (u64)(void *)function, .bytes = sizeof rows[i].code};
		seen[0].after = 0;
		/* there calls are not even planned to be moved */
		enum hw_pool_state state = rows[i].state == HW_POOL_UNFIT && rows[i].code[0] >> 26 == 0x25 && hwr_has_shadow_stack()
						   ? HW_POOL_SHADOWED
						   : rows[i].state;

		if (!CHECK(function) || !CHECK_EQ(hwr_detour_make(&sites[0]), state))
			FAIL("%s", rows[i].what);
		if (rows[i].state == HW_POOL_RECORDED) {
			CHECK(sites[0].far);
			CHECK_EQ(function(rows[i].a, 0), rows[i].wanted);
			CHECK_EQ(seen[0].after, 1);
		}
		hwr_munmap(memory, LARGE);
	}
}

enum { PAGES = 65536, CODE_AT = 1024, NOTE_AT = 512, GUARD = 0x10 /* PROT_BTI */ };

/* A module whose note says that all of its code has landing marks. */
static void has_note(u8 *memory)
{
	ElfW(Ehdr) header = {.e_ident = ELFMAG, .e_phoff = sizeof header, .e_phnum = 1};
	ElfW(Phdr) segment = {.p_type = 0x6474e553, .p_vaddr = NOTE_AT, .p_memsz = 32};
	static const u32 note[] = {4, 16, 5, 0x554e47, 0xc0000000, 4, 3, 0};

	memcpy(memory, &header, sizeof header);
	memcpy(memory + sizeof header, &segment, sizeof segment);
	memcpy(memory + NOTE_AT, note, sizeof note);
	module_there = (struct hwr_module_at){.start = (u64)memory, .end = (u64)memory + PAGES, .base = (u64)memory};
}

static u8 *map_guarded(const u32 *code, u32 bytes, bool far)
{
	u8 *memory = hwr_mmap(far ? LARGE : PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	u8 *at = memory + (far ? LARGE / 2 : 0);

	if (hwr_ask3(SYS_mprotect, (long)at, PAGES, PROT_READ | PROT_WRITE) != 0)
		return NULL;
	has_note(at);
	memcpy(at + CODE_AT, code, bytes);
	hwr_detour_sync((u64)at, PAGES);
	/* a processor without landing marks refuses them, and all else is as with them */
	if (hwr_ask3(SYS_mprotect, (long)at, PAGES, PROT_READ | PROT_EXEC | GUARD) != 0)
		hwr_ask3(SYS_mprotect, (long)at, PAGES, PROT_READ | PROT_EXEC);
	return at;
}

/* Whether a call by address to where there is no mark ends the program: `at` is a ret. */
static bool is_guarded(const u8 *at)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		((void (*volatile)(void))(void *)at)();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
}

enum { RET = 0xd65f03c0u, BTI_C = 0xd503245fu, ADD_1 = 0x91000400u, CODES = 9 };

TEST(guarded, "functions in guarded pages can be called by address, and their pages stay guarded")
{
	static const struct {
		const char *what;
		u32 code[CODES]; /* the last is a ret */
		u64 a, wanted;
	} rows[] = {
		{"a landing mark", {BTI_C, ADD_1, ADD_1, RET, 0, 0, 0, 0, RET}, 5, 7},
		/* stp x29, x30, [sp, -16]!; …; ldp x29, x30, [sp], 16 */
		{"a signed return address", {SIGN_A, 0xa9bf7bfd, ADD_1, 0xa8c17bfd, SIGN_A | UNSIGN, RET, 0, 0, RET}, 5, 6},
		{"signed with the other key", {SIGN_B, 0xa9bf7bfd, ADD_1, 0xa8c17bfd, SIGN_B | UNSIGN, RET, 0, 0, RET}, 5, 6},
		{"a mark, then signed", {BTI_C, SIGN_A, ADD_1, SIGN_A | UNSIGN, RET, 0, 0, 0, RET}, 5, 6},
		/* cbz x0, .+12 */
		{"a branch, taken", {BTI_C, 0xb4000060, ADD_1, RET, ADD_1, ADD_1, RET, 0, RET}, 0, 2},
		{"a branch, not taken", {BTI_C, 0xb4000060, ADD_1, RET, ADD_1, ADD_1, RET, 0, RET}, 5, 6},
		{"a jump", {BTI_C, 0x14000003, RET, RET, ADD_1, RET, 0, 0, RET}, 5, 6},
	};

	for (u32 i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		bool far = i % 2;
		u8 *memory = map_guarded(rows[i / 2].code, sizeof rows->code, far), *end = memory + CODE_AT + 4 * (CODES - 1);
		u64 (*volatile function)(u64, u64) = (u64(*)(u64, u64))(void *)(memory + CODE_AT);
		bool guards = is_guarded(end);

		sites[0] = (struct hwr_detour){.function = (u64)(void *)function, .bytes = sizeof rows->code};
		seen[0].after = 0;
		if (!CHECK_EQ(hwr_detour_make(&sites[0]), far && hwr_has_shadow_stack() ? HW_POOL_SHADOWED : HW_POOL_RECORDED))
			FAIL("%s, far %d", rows[i / 2].what, far);
		if (far && hwr_has_shadow_stack())
			continue;
		CHECK_EQ(sites[0].far, far);
		CHECK(sites[0].guarded);
		for (u32 k = 0; k < 2; k++)
			CHECK_EQ(function(rows[i / 2].a, 0), rows[i / 2].wanted);
		CHECK_EQ(seen[0].after, 2);
		CHECK(hwr_strip(seen[0].caller) - (u64)test_run_guarded < 4096);
		CHECK_EQ(is_guarded(end), guards);
		hwr_munmap(far ? memory - LARGE / 2 : memory, far ? LARGE : PAGES);
	}
}

TEST(shadow, "where a shadow stack is in force nothing is moved that would return to where no call was")
{
	static const u32 plain[] = {BTI_C, ADD_1, ADD_1, RET}, call[] = {BTI_C, 0x94000010, ADD_1, RET},
			 second[] = {BTI_C, ADD_1, 0x94000010, RET};
	static const struct {
		const char *what;
		const u32 *code;
		bool far, guarded;
		enum hw_pool_state state, shadowed;
	} rows[] = {
		{"no call", plain, false, true, HW_POOL_RECORDED, HW_POOL_RECORDED},
		{"a call", call, false, false, HW_POOL_RECORDED, HW_POOL_SHADOWED},
		{"a call behind what is moved", second, false, false, HW_POOL_RECORDED, HW_POOL_RECORDED},
		{"far, a call", second, true, false, HW_POOL_RECORDED, HW_POOL_SHADOWED},
		{"far, with no marks", plain, true, false, HW_POOL_RECORDED, HW_POOL_RECORDED},
		{"far, with landing marks", plain, true, true, HW_POOL_RECORDED, HW_POOL_SHADOWED},
	};

	for (u32 i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		bool shadowed = i % 2;
		struct hwr_detour self = {.function = (u64)rows[i / 2].code, .bytes = sizeof plain, .far = rows[i / 2].far,
			.guarded = rows[i / 2].guarded, .shadowed = shadowed};

		if (!CHECK_EQ(hwr_detour_plan(&self), shadowed ? rows[i / 2].shadowed : rows[i / 2].state))
			FAIL("%s", rows[i / 2].what);
	}
}

/* A function whose first instruction is a call cannot return, unless x30 is kept elsewhere: its code is compared. */
TEST(calls_first, "a call at the beginning returns behind it")
{
	u32 *code = hwr_mmap(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct hwr_detour self = {.function = (u64)code};
	const u32 *moved;
	u64 value;

	code[0] = 0x94000010; /* bl .+64 */
	CHECK_EQ(hwr_detour_plan(&self), HW_POOL_RECORDED);
	self.pad = (u8 *)code + 2048;
	CHECK(hwr_detour_write(&self));
	moved = (const u32 *)(self.pad + MOVED_AT);
	CHECK_EQ(moved[0], 0x5800005e); /* ldr x30, .+8 */
	memcpy(&value, &moved[2], sizeof value);
	CHECK_EQ(value, (u64)code + 4);
	CHECK_EQ(jump_target(moved[4], (u64)&moved[4]), (u64)code + 64);
	hwr_munmap(code, 4096);
}
#endif
