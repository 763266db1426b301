/* SPDX-License-Identifier: MIT
 * Fuzz entry of unwind tables: the input is .eh_frame_hdr, and behind it .eh_frame, of a module that has nothing else. Each place
 * of its table is looked up, and what is found is packed and evaluated as the recorder does. What it reads beyond the
 * input is a finding. */
#include <stdlib.h>
#include <string.h>

#include "target/recorder/unwind/cfi.c"
#include "target/recorder/unwind/expression.c"
#if defined(__x86_64__)
#include "target/recorder/unwind/arch/x86_64/rule_arch.c"
#else
#include "target/recorder/unwind/arch/aarch64/rule_arch.c"
#endif

enum { PLACES_MAX = 64, TABLE_AT = 12 /* as linkers write the header */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The program's memory: some of it can be read, and it is always the same. */
bool hwr_safe_read(u64 address, u64 *value)
{
	*value = address * 0x9e3779b97f4a7c15ull;
	return address % 3;
}

bool hwr_cursor_read(struct hwr_cursor *cursor, u64 address, u64 *value)
{
	(void)cursor;
	return hwr_safe_read(address, value);
}

bool hwr_cursor_record(struct hwr_cursor *cursor, u64 address, u64 *fp, u64 *pc)
{
	return !(address & 7) && hwr_cursor_read(cursor, address + 8, pc) && hwr_cursor_read(cursor, address, fp);
}

static void evaluate(const struct hwr_row *row, const struct hwr_registers *registers)
{
	u64 value;

	if (row->cfa_expr)
		hwr_expression(row->cfa_expr, registers, 0, &value);
	for (u32 i = 0; i < HWR_REGISTERS; i++)
		if (row->registers[i].where == HWR_AT_EXPR || row->registers[i].where == HWR_EXPR)
			hwr_expression(row->registers[i].expr, registers, 0x1000, &value);
}

static void look_up(u64 pc, const struct hwr_module_at *module)
{
	static struct hwr_cfi_scratch scratch;
	static struct hwr_registers registers;
	enum hwr_cfi_result found = hwr_cfi_find(pc, module, &scratch);
	u64 start = hwr_cfi_start(pc, module);

	if (found == HWR_CFI_NONE)
		return;
	if (start > pc)
		abort(); /* it describes other code */
	for (u32 i = 0; i < HWR_REGISTERS; i++)
		registers.value[i] = 0x7000 + 64 * i;
	if (found == HWR_CFI_BAD)
		return;
	hwr_rule_pack(&scratch.row);
	evaluate(&scratch.row, &registers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u8 *copy = malloc(size ? size : 1); /* of the very size: a byte beyond it is seen */
	struct hwr_module_at module = {
		.start = (u64)copy, .end = (u64)copy + size, .eh_frame_hdr = copy, .name = ""};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	for (u64 i = 0; i < PLACES_MAX && TABLE_AT + 8 * i + 4 <= size; i++) {
		i32 place;

		memcpy(&place, copy + TABLE_AT + 8 * i, sizeof place);
		for (u64 offset = 0; offset < 40; offset += 1 + offset)
			look_up((u64)copy + (u64)(i64)place + offset, &module);
	}
	look_up((u64)copy, &module);
	look_up(~0ull, &module);
	free(copy);
	return 0;
}
