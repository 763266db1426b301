/* SPDX-License-Identifier: MIT
 * Variables on the stack of a function; see declared.h.
 * Host. All places are told from the end of the frame. Of its registers two are known: the one that
 * the unwind table tells this end by, and the stack pointer, with which it begins. */
#include <gelf.h>

#include "host/base/order.h"
#include "host/symbols/types/declared.h"
#include "host/symbols/types/declared_types.h"

enum {
	DEPTH_MAX = 64,
	DIES_MAX = 1 << 16, /* of one function */
	NO_REGISTER = UINT32_MAX,
};

struct looking {
	struct declared *to;
	u64 code;         /* in the debug info */
	u32 cfa_register; /* has the frame's end less cfa_offset */
	i64 cfa_offset;
	u32 stack_register; /* has the frame's start */
	u64 frame_bytes;    /* 0 = unknown */
	bool has_base;      /* DW_OP_fbreg is that much behind the frame's end */
	i64 base;
	u64 dies;
	VEC(struct declared_local) found;
};

/* ---- places ---- */

static bool is_register(const Dwarf_Op *op, u32 *number, i64 *offset)
{
	*offset = 0;
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		*number = op->atom - DW_OP_reg0;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*number = op->atom - DW_OP_breg0;
		*offset = (i64)op->number;
	} else if (op->atom == DW_OP_bregx) {
		*number = (u32)op->number;
		*offset = (i64)op->number2;
	} else {
		return false;
	}
	return true;
}

/* What an operation leaves, as an offset from the frame's end. */
static bool place_of(const struct looking *self, const Dwarf_Op *op, i64 *place)
{
	u32 number;

	if (op->atom == DW_OP_call_frame_cfa) {
		*place = 0;
		return true;
	}
	if (op->atom == DW_OP_fbreg) {
		*place = self->base + (i64)op->number;
		return self->has_base;
	}
	if (!is_register(op, &number, place))
		return false;
	if (number == self->cfa_register)
		*place -= self->cfa_offset;
	else if (number == self->stack_register && self->frame_bytes)
		*place -= (i64)self->frame_bytes;
	else
		return false;
	return true;
}

/* An attribute that is one operation at the address; NULL if it is more, or none. */
static const Dwarf_Op *operation(const struct looking *self, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_getlocation_addr(&attribute, self->code, &ops, &count, 1) != 1 || count != 1)
		return NULL;
	return ops;
}

static void find_register(struct looking *self, Dwarf_CFI *cfi, u64 code)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;

	if (self->cfa_register != NO_REGISTER || !cfi ||
	    dwarf_cfi_addrframe(cfi, code, &frame) != 0)
		return;
	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1 ||
	    !is_register(ops, &self->cfa_register, &self->cfa_offset))
		self->cfa_register = NO_REGISTER;
	free(frame);
}

/* The number of the stack pointer in DWARF. */
static u32 stack_register(Dwarf *dwarf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(dwarf_getelf(dwarf), &header))
		return NO_REGISTER;
	switch (header.e_machine) {
	case EM_X86_64: return 7;
	case EM_AARCH64: return 31;
	default: return NO_REGISTER;
	}
}

/* Files of debug info have no .eh_frame, and most programs no .debug_frame. */
static void find_base(struct looking *self, struct module *files, u64 code, Dwarf_Die *function)
{
	const Dwarf_Op *op;
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(files->handle, &bias);

	find_register(self, cfi, code - bias);
	cfi = dwfl_module_dwarf_cfi(files->handle, &bias);
	find_register(self, cfi, code - bias);
	op = operation(self, function, DW_AT_frame_base);
	self->has_base = op && place_of(self, op, &self->base);
}

/* ---- variables ---- */

static void add(struct looking *self, Dwarf_Die *die, u32 inlined)
{
	const Dwarf_Op *op = operation(self, die, DW_AT_location);
	struct declared_local local = {.inlined = inlined, .order = (u32)self->found.count};
	const char *name = dwarf_diename(die);
	const struct declared_type *type;
	int line = 0;

	/* in a register is not on the stack */
	if (!name || !op || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) ||
	    !place_of(self, op, &local.offset))
		return;
	local.type = declared_type_below(self->to, die);
	type = declared_type_read(self->to, local.type);
	if (!type || !type->size)
		return;
	local.bytes = type->size;
	local.name = names_keep(&self->to->names, name);
	local.file = names_keep(&self->to->names, die_file(die));
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		local.line = (u32)line;
	self->to->failed |= !vec_push(&self->found, local);
}

/* Those of a block before those of blocks in it. */
static void walk(struct looking *self, Dwarf_Die *parent, u32 inlined, u32 depth)
{
	Dwarf_Die die;
	bool more;

	for (more = die_child(parent, &die); more && self->dies < DIES_MAX; more = die_next(&die)) {
		int tag = dwarf_tag(&die);

		self->dies++;
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			add(self, &die, inlined);
	}
	for (more = depth < DEPTH_MAX && die_child(parent, &die); more && self->dies < DIES_MAX;
	     more = die_next(&die)) {
		int tag = dwarf_tag(&die);
		bool is_call = tag == DW_TAG_inlined_subroutine;

		self->dies++;
		if ((is_call || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
		     tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&die, self->code) > 0)
			walk(self, &die, inlined + is_call, depth + 1);
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct declared_local *x = a, *y = b;

	return rising(x->offset, y->offset) ?: rising(x->order, y->order);
}

/* What an inlined function calls its own may be its caller's: of two at one place the outer one
 * counts. */
static void drop_overlaps(struct looking *self)
{
	struct declared_local *rows = self->found.data;
	u64 kept = 0;

	vec_sort(&self->found, by_offset);
	for (u64 i = 0; i < self->found.count; i++) {
		struct declared_local row = rows[i];

		while (kept && rows[kept - 1].offset + (i64)rows[kept - 1].bytes > row.offset &&
		       rows[kept - 1].order > row.order)
			kept--;
		if (!kept || rows[kept - 1].offset + (i64)rows[kept - 1].bytes <= row.offset)
			rows[kept++] = row;
	}
	self->found.count = kept;
}

/* ---- all ---- */

static struct declared_frame look(struct declared *self, const struct declared_file *file,
				  struct declared_spot spot)
{
	struct module *files = file->files;
	struct looking looking = {.to = self,
				  .code = spot.code - files->debuginfo.bias,
				  .cfa_register = NO_REGISTER,
				  .stack_register = stack_register(file->dwarf),
				  .frame_bytes = spot.frame_bytes};
	struct declared_frame frame = {0};
	struct declared_local *kept;
	Dwarf_Die function;
	int found = debuginfo_function(&files->debuginfo, spot.code, &function);

	self->failed |= found < 0;
	if (found <= 0)
		return frame;
	find_base(&looking, files, spot.code, &function);
	walk(&looking, &function, 0, 0);
	drop_overlaps(&looking);
	kept = arena_new_array(&self->names.arena, struct declared_local, looking.found.count + 1);
	self->failed |= !kept;
	if (kept && looking.found.count) {
		memcpy(kept, looking.found.data, looking.found.count * sizeof *kept);
		frame = (struct declared_frame){kept, (u32)looking.found.count};
	}
	vec_release(&looking.found);
	return frame;
}

const struct declared_local *declared_locals(struct declared *self,
					     const struct symbolizer_module *module,
					     struct declared_spot spot, u32 *count)
{
	struct declared_file *file = declared_file(self, module);
	u64 key = hash_u64(spot.code ^ hash_u64(spot.frame_bytes));
	u64 *known = map_at(&self->by_code, hash_u64((u64)(uintptr_t)file ^ key));
	struct declared_frame frame = {0};

	*count = 0;
	self->failed |= !known;
	if (!file || !file->dwarf || !known)
		return NULL;
	if (!*known) {
		if (module_read_debuginfo(file->files) < 0)
			self->failed = true;
		else if (file->files->has_debuginfo)
			frame = look(self, file, spot);
		self->failed |= !vec_push(&self->frames, frame);
		*known = self->frames.count;
	}
	if (self->failed)
		return NULL;
	*count = self->frames.data[*known - 1].count;
	return self->frames.data[*known - 1].locals;
}
