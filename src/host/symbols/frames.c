/* SPDX-License-Identifier: MIT
 * Unwinds a copy of a stack with libdw; see frames.h. Host. Files may be others than those that
 * were mapped, and stacks may hold anything: a frame that does not lie above the one before ends
 * it. */
#include "host/symbols/frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"

enum { STACK_DEPTH = 16 /* of an expression */, LEFT_MAX = 64 /* frames */ };
static const u64 CODE_BITS = ((u64)1 << 48) - 1; /* aarch64 may sign return addresses above them */

struct opened {
	bool tried;
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	u64 bias; /* from addresses in the file to those in memory */
};

struct frames {
	const struct frames_module *modules;
	u64 count;
	struct opened *opened; /* of each */
};

/* A frame while it is looked at. */
struct state {
	const struct frames_thread *thread;
	u64 registers[FRAME_REGISTERS];
	bool known[FRAME_REGISTERS];
	u64 code, stack_pointer;
	u64 cfa; /* where the frame ends */
};

/* ---- modules ---- */

struct frames *frames_new(const struct frames_module *modules, u64 count)
{
	struct frames *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->modules = modules;
	self->count = count;
	self->opened = calloc(count + 1, sizeof(*self->opened));
	if (!self->opened) {
		free(self);
		return NULL;
	}
	elf_version(EV_CURRENT);
	return self;
}

void frames_free(struct frames *self)
{
	if (!self)
		return;
	for (u64 i = 0; i < self->count; i++) {
		struct opened *one = &self->opened[i];

		if (one->cfi)
			dwarf_cfi_end(one->cfi);
		elf_end(one->elf);
		if (one->elf)
			close(one->fd);
	}
	free(self->opened);
	free(self);
}

static void module_open(struct opened *self, const struct frames_module *module)
{
	struct stat status;

	self->tried = true;
	self->fd = io_open_regular(module->path, &status);
	if (self->fd < 0)
		return;
	self->elf = elf_begin(self->fd, ELF_C_READ_MMAP, NULL);
	if (!self->elf) {
		close(self->fd);
		return;
	}
	self->bias = module->base;
	self->cfi = dwarf_getcfi_elf(self->elf);
}

static const struct frames_module *module_at(const struct frames *self, u64 code)
{
	for (u64 i = 0; i < self->count; i++)
		if (code - self->modules[i].start < self->modules[i].end - self->modules[i].start)
			return &self->modules[i];
	return NULL;
}

static const struct opened *module_of(struct frames *self, u64 code)
{
	const struct frames_module *module = module_at(self, code);
	struct opened *opened = module ? &self->opened[module - self->modules] : NULL;

	if (opened && !opened->tried)
		module_open(opened, module);
	return opened && opened->cfi ? opened : NULL;
}

/* ---- expressions ---- */

static bool word_read(const struct state *self, u64 address, u64 *word)
{
	u64 at = address - self->thread->stack_start;

	if (address < self->thread->stack_start || self->thread->stack_bytes < sizeof(*word) ||
	    at > self->thread->stack_bytes - sizeof(*word))
		return false;
	memcpy(word, self->thread->stack + at, sizeof(*word));
	return true;
}

static bool register_get(const struct state *self, u64 number, u64 *value)
{
	if (number >= FRAME_REGISTERS || !self->known[number])
		return false;
	*value = self->registers[number];
	return true;
}

struct evaluation {
	u64 words[STACK_DEPTH];
	u32 depth;
	bool is_value; /* not the address of it */
};

static bool push(struct evaluation *e, u64 value)
{
	if (e->depth == STACK_DEPTH)
		return false;
	e->words[e->depth++] = value;
	return true;
}

/* What compilers write, and no more. */
static bool step(const struct state *self, struct evaluation *e, const Dwarf_Op *op)
{
	u64 value, *top = e->depth ? &e->words[e->depth - 1] : NULL;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return register_get(self, op->atom - DW_OP_breg0, &value) &&
		       push(e, value + op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_call_frame_cfa: return push(e, self->cfa);
	case DW_OP_bregx:
		return register_get(self, op->number, &value) && push(e, value + op->number2);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts: return push(e, op->number);
	}
	if (!top)
		return false;
	switch (op->atom) {
	case DW_OP_plus_uconst: *top += op->number; return true;
	case DW_OP_deref: return word_read(self, *top, top);
	case DW_OP_stack_value: e->is_value = true; return true;
	}
	if (e->depth < 2)
		return false;
	e->depth--;
	switch (op->atom) {
	case DW_OP_plus: top[-1] += *top; return true;
	case DW_OP_minus: top[-1] -= *top; return true;
	case DW_OP_and: top[-1] &= *top; return true;
	case DW_OP_shl: top[-1] = *top < 64 ? top[-1] << *top : 0; return true;
	case DW_OP_ge: top[-1] = (i64)top[-1] >= (i64)*top; return true;
	default: return false;
	}
}

static bool evaluate(const struct state *self, const Dwarf_Op *ops, size_t count,
		     struct evaluation *e)
{
	*e = (struct evaluation){.depth = 0};
	for (size_t i = 0; i < count; i++)
		if (!step(self, e, &ops[i]))
			return false;
	return e->depth > 0;
}

/* ---- frames ---- */

/* A register as the caller has it; false if that is not known. */
static bool caller_register(const struct state *self, Dwarf_Frame *frame, u32 number, u64 *value)
{
	struct evaluation e;
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, (int)number, memory, &ops, &count) != 0)
		return false;
	if (count == 0)
		return ops == NULL && register_get(self, number, value);
	if (!evaluate(self, ops, count, &e))
		return false;
	*value = e.words[e.depth - 1];
	return e.is_value || word_read(self, *value, value);
}

/* To the caller; code is 0 if the return address is not known. */
static void caller_enter(struct state *self, Dwarf_Frame *frame, int return_register)
{
	struct state next = *self;

	for (u32 i = 0; i < FRAME_REGISTERS; i++)
		next.known[i] = caller_register(self, frame, i, &next.registers[i]);
	next.code = return_register >= 0 && return_register < FRAME_REGISTERS &&
				    next.known[return_register]
			    ? next.registers[return_register] & CODE_BITS
			    : 0;
	next.stack_pointer = self->cfa;
	next.registers[self->thread->stack_register] = self->cfa;
	next.known[self->thread->stack_register] = true;
	*self = next;
}

/* The tables say that nobody called it. */
static bool is_outermost(Dwarf_Frame *frame, int return_register)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return dwarf_frame_register(frame, return_register, memory, &ops, &count) == 0 &&
	       count == 0 && ops == memory;
}

enum walked { WALKED, WALKED_OUT /* it was the outermost */, WALKED_LOST };

static enum walked walk(struct frames *self, struct state *state, bool *interrupted)
{
	u64 code = state->code - !*interrupted; /* a call may be the last of its function */
	const struct opened *module = module_of(self, code);
	/* where the return address is in a register, who calls nothing may have no bytes */
	u64 least = state->stack_pointer + !*interrupted;
	struct evaluation e;
	enum walked how = WALKED_LOST;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;
	int back;

	if (!module || dwarf_cfi_addrframe(module->cfi, code - module->bias, &frame) != 0)
		return WALKED_LOST;
	back = dwarf_frame_info(frame, NULL, NULL, interrupted);
	if (is_outermost(frame, back)) {
		how = WALKED_OUT;
	} else if (dwarf_frame_cfa(frame, &ops, &count) == 0 && evaluate(state, ops, count, &e)) {
		state->cfa = e.words[e.depth - 1];
		caller_enter(state, frame, back);
		how = state->code && state->stack_pointer >= least ? WALKED : WALKED_LOST;
	}
	free(frame);
	return how;
}

static void state_begin(struct state *self, const struct frames_thread *thread)
{
	*self = (struct state){.thread = thread,
			       .code = thread->code,
			       .stack_pointer = thread->stack_pointer};
	memcpy(self->registers, thread->registers, sizeof(self->registers));
	memset(self->known, 1, sizeof(self->known));
}

u32 frames_find(struct frames *self, const struct frames_thread *thread, struct frame *found,
		u32 max)
{
	struct state state;
	bool interrupted = true; /* where it is it has not called anything */
	enum walked how = WALKED;
	u32 count = 0;

	state_begin(&state, thread);
	for (u32 steps = 0; steps < max && how == WALKED; steps++) {
		found[count++] = (struct frame){state.stack_pointer, state.code - !interrupted};
		how = walk(self, &state, &interrupted);
		if (how == WALKED && state.stack_pointer == found[count - 1].start)
			count--;
	}
	if (how != WALKED_OUT && count > 1)
		found[count - 1].code = 0;
	return count;
}

bool frames_leave(struct frames *self, struct frames_thread *thread,
		  bool (*is_left)(const char *path))
{
	struct state state;
	bool interrupted = true, inside = true;
	enum walked how = WALKED;

	state_begin(&state, thread);
	for (u32 steps = 0; inside && how == WALKED && steps < LEFT_MAX; steps++) {
		const struct frames_module *module = module_at(self, state.code - !interrupted);

		inside = module && is_left(module->path);
		if (!module)
			how = WALKED_LOST;
		else if (inside)
			how = walk(self, &state, &interrupted);
	}
	if (how == WALKED_LOST || (inside && how == WALKED))
		return false;
	for (u32 i = 0; i < FRAME_REGISTERS; i++)
		thread->registers[i] = state.known[i] ? state.registers[i] : 0;
	thread->code = state.code;
	thread->stack_pointer = state.stack_pointer;
	return true;
}
