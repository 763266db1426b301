/* SPDX-License-Identifier: MIT
 * Gates on x86_64: compilers write `mov $number, %eax` just before `syscall`, or a few plain instructions before it. That mov
 * has the five bytes that a jump takes. Runs in the target. */
#include "recorder/access/pages/gates.h"
#include "recorder/memory.h"
#include "recorder/pool/arch/x86_64/instruction.h"

enum {
	MOVE_BYTES = 5,
	MOVED_MOST = 24,      /* bytes, and */
	INSTRUCTIONS_MOST = 4,
	NUMBERS = 512,
	LEA_BYTES = 7,
};

static bool is_call(const u8 *code) { return code[0] == 0x0f && code[1] == 0x05; }

/* mov $number, %eax; with a prefix it is another register's. */
static bool is_move(const u8 *code)
{
	return code[0] == 0xb8 && !code[3] && !code[4] && code[2] < NUMBERS >> 8 && (code[-1] & 0xf0) != 0x40 && code[-1] != 0x66;
}

/* Whether the code from there on leads straight to the call, and can be moved as it is. */
static bool leads_to(const u8 *code, const u8 *call)
{
	struct hwr_instruction one;

	for (u32 i = 0; i < INSTRUCTIONS_MOST && code < call; i++, code += one.bytes)
		if (!hwr_instruction_read(&one, code) || one.flow != HWR_FLOW_NEXT || one.relative || is_call(code))
			return false;
	return code == call;
}

static bool site_at(const u8 *call, u64 from, struct hwr_gate_site *site)
{
	for (u32 back = MOVE_BYTES; back <= MOVED_MOST && (u64)call - from > back; back++) {
		const u8 *code = call - back;

		if (!is_move(code) || !leads_to(code, call))
			continue;
		*site = (struct hwr_gate_site){(u64)call, (u64)code, code[1] | code[2] << 8};
		return true;
	}
	return false;
}

bool hwr_gate_find(u64 at, u64 end, struct hwr_gate_site *site)
{
	for (u64 call = at; call + 2 <= end; call++)
		if (unlikely(is_call((const u8 *)call)) && site_at((const u8 *)call, at, site))
			return true;
	return false;
}

static void put_4(u8 *at, u64 value)
{
	for (u32 i = 0; i < 4; i++)
		at[i] = (u8)(value >> (8 * i));
}

static bool is_near(u64 from, u64 to) { return to - from + ((u64)1 << 31) < (u64)1 << 32; }

/* What was moved; lea call(%rip), %rcx, which the kernel is free to change; jmp *0(%rip), and the entry. */
bool hwr_gate_write(const struct hwr_gate_site *site, u8 *stub, u64 entry)
{
	u32 moved = (u32)(site->call - site->patch);
	u8 *at = stub + moved, *patch = (u8 *)site->patch;

	if (!is_near(site->patch + MOVE_BYTES, (u64)stub) || !is_near((u64)at + LEA_BYTES, site->call))
		return false;
	hwr_copy(stub, patch, moved);
	hwr_copy(at, "\x48\x8d\x0d", 3);
	put_4(at + 3, site->call - ((u64)at + LEA_BYTES));
	at += LEA_BYTES;
	hwr_copy(at, "\xff\x25\0\0\0\0", 6);
	put_4(at + 6, entry);
	put_4(at + 10, entry >> 32);
	patch[0] = 0xe9;
	put_4(patch + 1, (u64)stub - (site->patch + MOVE_BYTES));
	return true;
}
