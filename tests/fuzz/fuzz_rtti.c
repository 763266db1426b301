/* SPDX-License-Identifier: MIT
 * Fuzz entry of classes by their vtables: the input is an ELF file, which is asked for a class behind each of
 * its relocated words and at addresses where nothing should be. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/symbols/rtti.h"

enum { QUESTIONS_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct rtti *rtti, u64 address)
{
	char *name = rtti_class(rtti, address);

	if (name && !*name)
		abort(); /* a class has a name */
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u64 odd[] = {
		0, 8, 16, 24, 4096, INT64_MAX - 7, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15};
	struct rtti rtti = {0};
	char *copy = malloc(size + 1); /* libelf may write to it */
	Elf *elf;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	elf_version(EV_CURRENT);
	elf = elf_memory(copy, size);
	rtti_read_elf(&rtti, elf);
	for (u64 i = 0; i < rtti.count && i < QUESTIONS_MAX; i++) {
		ask(&rtti, rtti.data[i].at + 8);
		ask(&rtti, rtti.data[i].at);
	}
	for (u64 i = 0; i < sizeof odd / sizeof *odd; i++)
		ask(&rtti, odd[i]);
	rtti_release(&rtti);
	elf_end(elf);
	free(copy);
	return 0;
}
