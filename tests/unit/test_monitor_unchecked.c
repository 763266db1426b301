/* SPDX-License-Identifier: MIT
 * Instructions that compilers do not check are found in a module's code. */
#include <elf.h>
#include <stdio.h>

#include "lib/test.h"
#include "live/program/unchecked.h"

enum { AT = 4096 };

/* A module of that processor with these words as code, and as data; returns its path. */
static const char *module_make(u16 machine, const u32 *words, u32 count)
{
	static char path[4096];
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			   .e_machine = machine,
			   .e_shoff = sizeof(head),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 2};
	Elf64_Shdr sections[2] = {
		{.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_offset = AT, .sh_size = 4 * count},
		{.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_offset = AT, .sh_size = 4 * count}};
	FILE *file;

	snprintf(path, sizeof(path), "%s/module", test_folder());
	file = fopen(path, "w");
	if (!file || fwrite(&head, sizeof(head), 1, file) != 1 || fwrite(sections, sizeof(sections), 1, file) != 1 ||
	    fseek(file, AT, SEEK_SET) < 0 || fwrite(words, 4, count, file) != count || fclose(file) != 0)
		FAIL("cannot write %s", path);
	return path;
}

static const struct {
	u32 code;
	bool unchecked;
	const char *text;
} rows[] = {
	{0x4c407000, false, "ld1 {v0.16b}, [x0]"},
	{0x4c40a000, true, "ld1 {v0.16b, v1.16b}, [x0]"},
	{0x4cdf2000, true, "ld1 {v0.16b-v3.16b}, [x0], #64"},
	{0x4c408000, true, "ld2 {v0.16b, v1.16b}, [x0]"},
	{0x4c404000, true, "ld3 {v0.16b-v2.16b}, [x0]"},
	{0x4c9f0000, true, "st4 {v0.16b-v3.16b}, [x0], #64"},
	{0x0d209000, true, "st2 {v0.s, v1.s}[1], [x0]"},
	{0x4d40c800, false, "ld1r {v0.4s}, [x0]"},
	{0x4d60c800, true, "ld2r {v0.4s, v1.4s}, [x0]"},
	{0x4d60e800, true, "ld4r {v0.4s-v3.4s}, [x0]"},
	{0x4d408000, false, "ld1 {v0.s}[2], [x0]"},
	{0x0d000c00, false, "st1 {v0.b}[3], [x0]"},
	{0x3dc00000, false, "ldr q0, [x0]"},
	{0xad400400, false, "ldp q0, q1, [x0]"},
	{0xf9000420, false, "str x0, [x1, #8]"},
	{0xa540a000, true, "ld1w {z0.s}, p0/z, [x0]"},
	{0xe5e0e000, true, "st1d {z0.d}, p0, [x0]"},
	{0x85014000, true, "ld1w {z0.s}, p0/z, [x0, z1.s, uxtw]"},
	{0x04a10000, false, "add z0.s, z0.s, z1.s"},
	{0xd65f03c0, false, "ret"},
};

TEST(each, "each instruction is known for what it is")
{
	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (unchecked_count(module_make(EM_AARCH64, &rows[i].code, 1)) != rows[i].unchecked)
			test_check(false, __FILE__, __LINE__, "%s", rows[i].text);
}

TEST(all, "those of a large module are counted, and none in a module of another processor")
{
	enum { COUNT = 10000 };
	static u32 words[COUNT];

	for (u32 i = 0; i < COUNT; i++)
		words[i] = i % 100 ? 0xd65f03c0 : 0x4c408000;
	CHECK_EQ(unchecked_count(module_make(EM_AARCH64, words, COUNT)), COUNT / 100);
	CHECK_EQ(unchecked_count(module_make(EM_X86_64, words, COUNT)), 0);
	CHECK_EQ(unchecked_count("/no/such/file"), 0);
}
