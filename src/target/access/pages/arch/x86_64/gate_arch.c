/* SPDX-License-Identifier: MIT
 * Gates on x86_64: compilers mostly write `mov $number, %eax` just before `syscall`, or a few plain
 * instructions before it. That mov has the five bytes that a jump takes. Else the function is read
 * from its beginning: another instruction before the call may have them, or the one that sets %eax
 * becomes a jump of two bytes to one of five, in space that nobody runs through. Only ever one
 * instruction is overwritten, so that nobody can jump into the midst of it. Runs in the target. */
#include "target/access/pages/gates.h"

#include <emmintrin.h>

#include "target/recorder/pool/arch/x86_64/instruction.h"
#include "target/recorder/state/memory.h"

enum {
	MOVE_BYTES = 5,
	MOVED_MOST = 40, /* bytes, and */
	INSTRUCTIONS_MOST = 10,
	NUMBERS = 512,
	REGISTERS = 16,
	LEA_BYTES = 7,
	SHORT_BYTES = 2,
	CALL_BYTES = 2,
	FILLING_MOST = 15,
};

static bool is_call(const u8 *code) { return code[0] == 0x0f && code[1] == 0x05; }

/* mov $number, %eax; with a prefix it is another register's. */
static bool is_move(const u8 *code)
{
	return code[0] == 0xb8 && !code[3] && !code[4] && code[2] < NUMBERS >> 8 &&
	       (code[-1] & 0xf0) != 0x40 && code[-1] != 0x66;
}

/* xor %eax, %eax, or mov %register, %eax */
static bool sets_by_register(const u8 *code)
{
	const u8 *move = code + (code[0] == 0x44);

	return ((code[0] == 0x31 || code[0] == 0x33) && code[1] == 0xc0) ||
	       (move[0] == 0x89 && (move[1] & 0xc7) == 0xc0);
}

/* Whether the code from there on leads straight to the call with that number, and can be moved as
 * it is. */
static bool leads_to(const u8 *code, const u8 *call)
{
	struct hwr_instruction one;

	for (u32 i = 0; i < INSTRUCTIONS_MOST && code < call; i++, code += one.bytes)
		if (!hwr_instruction_read(&one, code) || one.flow != HWR_FLOW_NEXT ||
		    one.relative || is_call(code) || sets_by_register(code))
			return false;
	return code == call;
}

static bool site_at(const u8 *call, u64 from, struct hwr_gate_site *site)
{
	for (u32 back = MOVE_BYTES; back <= MOVED_MOST && (u64)call - from > back; back++) {
		const u8 *code = call - back;

		if (!is_move(code) || !leads_to(code, call))
			continue;
		*site = (struct hwr_gate_site){.call = (u64)call,
					       .patch = (u64)code,
					       .number = code[1] | code[2] << 8};
		return true;
	}
	return false;
}

/* Passes over what has no call in it, 16 bytes at a time: code may be tens of megabytes. */
static u64 pass_over(u64 at, u64 end)
{
	const __m128i first = _mm_set1_epi8(0x0f), second = _mm_set1_epi8(0x05);

	for (; at + sizeof(first) + 1 <= end; at += sizeof(first)) {
		__m128i is_first = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), first);
		__m128i is_second =
			_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + 1)), second);

		if (_mm_movemask_epi8(_mm_and_si128(is_first, is_second)))
			break;
	}
	return at;
}

bool hwr_gate_find(u64 at, u64 end, struct hwr_gate_site *site)
{
	for (u64 call = pass_over(at, end); call + CALL_BYTES <= end; call++)
		if (unlikely(is_call((const u8 *)call))) {
			*site = (struct hwr_gate_site){.call = call};
			site_at((const u8 *)call, at, site);
			return true;
		}
	return false;
}

/* ---- calls whose function has to be read ---- */

struct reading {
	const u8 *last[INSTRUCTIONS_MOST]; /* the instructions before the call, the nearest first */
	u32 plain;                         /* so many of them can be moved */
	/* what `mov $number, %register` gave it; NONE, or SEVERAL */
	long numbers[REGISTERS];
};

enum { NONE = -1, SEVERAL = -2 };

static void note_number(struct reading *self, const u8 *code)
{
	u32 high = code[0] == 0x41 ? 8 : 0, number;
	const u8 *move = code + (high != 0);

	if ((move[0] & 0xf8) != 0xb8)
		return;
	number = move[1] | (u32)move[2] << 8 | (u32)move[3] << 16 | (u32)move[4] << 24;
	high += move[0] & 7;
	self->numbers[high] =
		self->numbers[high] == NONE && number < NUMBERS ? (long)number : SEVERAL;
}

static bool read_function(struct reading *self, u64 function, u64 call)
{
	struct hwr_instruction one;

	*self = (struct reading){.plain = 0};
	for (u32 i = 0; i < REGISTERS; i++)
		self->numbers[i] = NONE;
	for (u64 at = function; at != call; at += one.bytes) {
		if (at > call || !hwr_instruction_read(&one, (const u8 *)at))
			return false;
		note_number(self, (const u8 *)at);
		for (u32 i = INSTRUCTIONS_MOST - 1; i > 0; i--)
			self->last[i] = self->last[i - 1];
		self->last[0] = (const u8 *)at;
		if (one.flow != HWR_FLOW_NEXT || one.relative || is_call((const u8 *)at))
			self->plain = 0;
		else if (self->plain < INSTRUCTIONS_MOST)
			self->plain++;
	}
	return true;
}

/* Whether it sets %eax, to a number that is known: xor %eax, %eax; mov $number, %eax; mov
 * %register, %eax. */
static bool sets_number(const struct reading *self, const u8 *code, long *number)
{
	u32 high = code[0] == 0x44 ? 8 : 0;
	const u8 *move = code + (high != 0);

	*number = NONE;
	if (is_move(code))
		*number = code[1] | code[2] << 8;
	else if (sets_by_register(code))
		*number = move[0] == 0x89 ? self->numbers[high + (move[1] >> 3 & 7)] : 0;
	return *number >= 0;
}

/* The last bytes before the function, if all of them fill up space. */
static u64 landing_before(u64 function)
{
	for (u64 from = function - FILLING_MOST; from <= function - MOVE_BYTES; from++) {
		struct hwr_instruction one = {0};
		u64 at = from;

		while (at < function && hwr_instruction_is_filling((const u8 *)at) &&
		       hwr_instruction_read(&one, (const u8 *)at))
			at += one.bytes;
		if (at == function)
			return function - MOVE_BYTES;
	}
	return 0;
}

/* Space behind a jump or a return, before what is jumped to. */
static u64 landing_behind(u64 call)
{
	struct hwr_instruction one;
	bool left = false;

	for (u64 at = call + CALL_BYTES;
	     at < call + HWR_GATE_BEHIND && hwr_instruction_read(&one, (const u8 *)at);
	     at += one.bytes) {
		if (left && one.bytes >= MOVE_BYTES && hwr_instruction_is_filling((const u8 *)at))
			return at;
		left = one.flow == HWR_FLOW_JUMP || *(const u8 *)at == 0xc3;
	}
	return 0;
}

bool hwr_gate_look(struct hwr_gate_site *site, u64 function, bool gap)
{
	struct reading reading;
	u32 setter = 0;

	if (!read_function(&reading, function, site->call))
		return site->patch != 0;
	for (u32 i = 0; i < reading.plain; i++)
		/* and not in the midst of an instruction */
		if ((u64)reading.last[i] == site->patch)
			return true;
	while (setter < reading.plain &&
	       !sets_number(&reading, reading.last[setter], &site->number))
		setter++;
	if (setter == reading.plain)
		return false;
	site->landing = 0;
	for (u32 i = 0; i < reading.plain; i++) {
		u64 next = i ? (u64)reading.last[i - 1] : site->call;

		site->patch = (u64)reading.last[i];
		if (site->call - site->patch <= MOVED_MOST && next - site->patch >= MOVE_BYTES)
			return true;
	}
	site->patch = (u64)reading.last[setter];
	if (site->call - site->patch > MOVED_MOST)
		return false;
	site->landing =
		gap && site->call - function < HWR_GATE_BEHIND ? landing_before(function) : 0;
	if (!site->landing)
		site->landing = landing_behind(site->call);
	return site->landing != 0;
}

/* mov %r11, 8(%rsp); syscall; ret */
bool hwr_gate_is_cancellable(u64 call)
{
	return hwr_same((const u8 *)call - MOVE_BYTES, "\x4c\x89\x5c\x24\x08\x0f\x05\xc3",
			MOVE_BYTES + CALL_BYTES + 1);
}

u64 hwr_gate_find_caller(u64 at, u64 end, u64 function)
{
	struct hwr_instruction one;

	for (; at + MOVE_BYTES <= end; at++)
		if (unlikely(*(const u8 *)at == 0xe8) &&
		    hwr_instruction_read(&one, (const u8 *)at) && one.target == function)
			return at;
	return 0;
}

static void put_4(u8 *at, u64 value)
{
	for (u32 i = 0; i < 4; i++)
		at[i] = (u8)(value >> (8 * i));
}

static bool is_near(u64 from, u64 to) { return to - from + ((u64)1 << 31) < (u64)1 << 32; }

/* What was moved; lea call(%rip), %rcx, which the kernel is free to change; jmp *0(%rip), and the
 * entry. */
bool hwr_gate_write(const struct hwr_gate_site *site, u8 *stub, u64 entry)
{
	u32 moved = (u32)(site->call - site->patch);
	u8 *at = stub + moved, *patch = (u8 *)site->patch,
	   *jump = site->landing ? (u8 *)site->landing : patch;

	if (!is_near(site->patch + MOVE_BYTES, (u64)stub) ||
	    !is_near((u64)at + LEA_BYTES, site->call))
		return false;
	hwr_copy(stub, patch, moved);
	hwr_copy(at, "\x48\x8d\x0d", 3);
	put_4(at + 3, site->call - ((u64)at + LEA_BYTES));
	at += LEA_BYTES;
	hwr_copy(at, "\xff\x25\0\0\0\0", 6);
	put_4(at + 6, entry);
	put_4(at + 10, entry >> 32);
	jump[0] = 0xe9;
	put_4(jump + 1, (u64)stub - ((u64)jump + MOVE_BYTES));
	if (site->landing) {
		patch[0] = 0xeb;
		patch[1] = (u8)(site->landing - (site->patch + SHORT_BYTES));
	}
	return true;
}
