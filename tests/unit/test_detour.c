/* SPDX-License-Identifier: MIT
 * Detours: functions of several beginnings do what they did, and every call is seen. */
#define HWR_ALONE
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "target/recorder/pool/detour.h"
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
	CHECK(seen[0].caller - (u64)calls < 64);
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
		fits = hwr_detour_plan(&self);
		if (fits != shapes[i].fits)
			FAIL("%s: %d", shapes[i].what, fits);
		hwr_munmap(memory, 4096);
	}
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

	CHECK(!hwr_detour_plan(&self));
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
		if (!CHECK(function) || !CHECK_EQ(hwr_detour_make(&sites[0]), rows[i].state))
			FAIL("%s", rows[i].what);
		if (rows[i].state == HW_POOL_RECORDED) {
			CHECK(sites[0].far);
			CHECK_EQ(function(rows[i].a, 0), rows[i].wanted);
			CHECK_EQ(seen[0].after, 1);
		}
		hwr_munmap(memory, LARGE);
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
	CHECK(hwr_detour_plan(&self));
	self.pad = (u8 *)code + 2048;
	CHECK(hwr_detour_write(&self));
	moved = (const u32 *)(self.pad + MOVED_AT);
	CHECK_EQ(moved[0], 0x5800005e); /* ldr x30, .+8 */
	memcpy(&value, &moved[2], sizeof value);
	CHECK_EQ(value, (u64)code + 4);
	memcpy(&value, &moved[6], sizeof value);
	CHECK_EQ(value, (u64)code + 64);
	hwr_munmap(code, 4096);
}
#endif
