/* SPDX-License-Identifier: MIT
 * Reads what `objdump -d --insn-width=15` prints and compares the length of each instruction, and the target of
 * each jump, with what the recorder reads. Prints how many it compared, and those that differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/recorder/pool/arch/x86_64/instruction.h"

enum { LONGEST = 15 };

/* Bytes of the line's instruction, 0 if it has none. */
static unsigned read_bytes(const char *line, unsigned char code[2 * LONGEST])
{
	const char *at = strchr(line, '\t');
	unsigned count = 0;

	memset(code, 0x90, 2 * LONGEST);
	for (at = at ? at + 1 : ""; count < LONGEST; count++, at += 3) {
		char *end;
		unsigned long byte = strtoul(at, &end, 16);

		if (end != at + 2 || *end != ' ')
			break;
		code[count] = (unsigned char)byte;
	}
	return count;
}

int main(void)
{
	unsigned long compared = 0, wrong = 0, refused = 0, jumps = 0;
	unsigned char code[2 * LONGEST];
	char line[1024];

	while (fgets(line, sizeof line, stdin)) {
		unsigned long long address = strtoull(line, NULL, 16), target;
		unsigned bytes = read_bytes(line, code);
		const char *text = strrchr(line, '\t');
		struct hwr_instruction one;

		if (!bytes || !text || strstr(text, "(bad)") || strstr(text, ".byte") || code[0] == 0x9b)
			continue;
		compared++;
		if (!hwr_instruction_read(&one, code)) {
			refused++;
			if (refused <= 20)
				printf("refused: %s", line);
			continue;
		}
		if (one.bytes != bytes && ++wrong <= 20)
			printf("%u bytes, not %u: %s", one.bytes, bytes, line);
		if (one.flow == HWR_FLOW_NEXT || !(text[1] == 'j' || strncmp(text + 1, "call ", 5) == 0))
			continue;
		jumps++;
		target = strtoull(text + strcspn(text, " "), NULL, 16);
		if (address + (one.target - (u64)code) != target && ++wrong <= 20)
			printf("jumps to %llx: %s", address + (one.target - (u64)code), line);
	}
	printf("compared %lu jumps %lu refused %lu wrong %lu\n", compared, jumps, refused, wrong);
	return wrong || !compared;
}
