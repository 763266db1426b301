/* SPDX-License-Identifier: MIT
 * Modules whose ELF structure, symbol tables or debug info are damaged: wrong answers are allowed,
 * crashes and endless loops are not. */
#include "symbols_tools.h"

enum { ROUNDS = 150 };

struct image {
	u8 *bytes;
	u64 count;
};

static struct image image_read(const char *path)
{
	struct image image = { 0 };
	FILE *file = fopen(path, "r");

	if (!file || fseek(file, 0, SEEK_END))
		FAIL("cannot read %s", path);
	image.count = (u64)ftell(file);
	image.bytes = malloc(image.count);
	rewind(file);
	if (!image.bytes || fread(image.bytes, 1, image.count, file) != image.count)
		FAIL("cannot read %s", path);
	fclose(file);
	return image;
}

static void image_write(const char *path, const u8 *bytes, u64 count)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
		FAIL("cannot write %s", path);
}

static bool has_prefix(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(name, *prefixes, strlen(*prefixes)))
			return true;
	return false;
}

/* One of the sections whose names start with one of the prefixes; NULL if there is none. */
static const Elf64_Shdr *pick_section(const struct image *image, const char *const *prefixes,
				      unsigned *seed)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image->bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image->bytes + header->e_shoff);
	const char *names = (const char *)image->bytes + sections[header->e_shstrndx].sh_offset;
	const Elf64_Shdr *found[64];
	u32 count = 0;

	for (u32 i = 1; i < header->e_shnum && count < 64; i++)
		if (has_prefix(names + sections[i].sh_name, prefixes) && sections[i].sh_size &&
		    sections[i].sh_type != SHT_NOBITS)
			found[count++] = &sections[i];
	return count ? found[(u32)rand_r(seed) % count] : NULL;
}

static u8 odd_byte(unsigned *seed)
{
	static const u8 values[] = { 0, 0xff, 0x80, 0x7f, 1 };

	return rand_r(seed) % 2 ? (u8)rand_r(seed) : values[(u32)rand_r(seed) % sizeof(values)];
}

static void damage_sections(const struct image *whole, u8 *bytes, const char *const *prefixes,
			    unsigned *seed)
{
	const Elf64_Shdr *section = pick_section(whole, prefixes, seed);
	u32 changes = 1 + (u32)rand_r(seed) % 60;

	if (!section)
		FAIL("the program has no such section");
	for (u32 i = 0; i < changes; i++) {
		u64 span = section->sh_size;

		if (rand_r(seed) % 2 && span > 128)
			span = 128; /* where the headers of units and tables are */
		bytes[section->sh_offset + (u64)rand_r(seed) % span] = odd_byte(seed);
	}
}

static void damage_headers(const struct image *whole, u8 *bytes, unsigned *seed)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)whole->bytes;
	u64 sections = (u64)header->e_shnum * header->e_shentsize;

	for (u32 i = 0, changes = 1 + (u32)rand_r(seed) % 4; i < changes; i++) {
		u64 at = rand_r(seed) % 2 ? (u64)rand_r(seed) % 800
					  : header->e_shoff + (u64)rand_r(seed) % sections;

		bytes[at] = odd_byte(seed);
	}
}

/* Reads every string of every answer, so that a dangling one shows under a sanitizer. */
static u64 read_all(const struct asked *asked, u64 count)
{
	u64 sum = 0;

	for (u64 i = 0; i < count; i++)
		for (u32 k = 0; k < asked->answers[i].frame_count; k++)
			sum += strlen(asked->answers[i].frames[k].function) +
			       strlen(asked->answers[i].frames[k].file);
	return sum;
}

static void survive(const char *build, const char *source, const char *const *prefixes)
{
	struct addresses addresses;
	struct image whole;
	unsigned seed = 11;
	u64 sum = 0;
	u8 *bytes;

	MUST("%s -o whole " TARGETS "/%s", build, source);
	whole = image_read(in_folder("whole"));
	addresses = code_addresses(in_folder("whole"), 17);
	bytes = malloc(whole.count);
	for (u32 round = 0; bytes && round < ROUNDS; round++) {
		u64 count = whole.count;
		struct asked asked;

		memcpy(bytes, whole.bytes, whole.count);
		if (prefixes)
			damage_sections(&whole, bytes, prefixes, &seed);
		else
			damage_headers(&whole, bytes, &seed);
		if (round % 25 == 24)
			count = (u64)rand_r(&seed) % whole.count;
		image_write(in_folder("damaged"), bytes, count);
		asked = ask_file(in_folder("damaged"), &addresses);
		sum += read_all(&asked, addresses.count);
		asked_release(&asked);
	}
	CHECK(sum > 0);
	free(bytes);
	free(whole.bytes);
	vec_release(&addresses);
}

static const char *const debug_sections[] = { ".debug", NULL };
static const char *const symbol_sections[] = { ".symtab", ".strtab", ".dynsym", ".dynstr", ".rela",
					       ".note",   ".plt",    ".gnu",    NULL };

TEST(damaged_debug, "damaged debug info of gcc is survived")
{
	survive("g++ -O2 -g", "symbols_inline.cpp", debug_sections);
}

TEST(damaged_debug_old, "damaged debug info of version 2 is survived")
{
	survive("gcc -O2 -gdwarf-2 -gstrict-dwarf", "symbols_plain.c", debug_sections);
}

TEST(damaged_debug_clang, "damaged debug info of clang is survived")
{
	need("clang++", "clang");
	survive("clang++ -O2 -g", "symbols_inline.cpp", debug_sections);
}

TEST(damaged_symbols, "damaged symbol tables are survived")
{
	survive("gcc -O2 -Wl,-z,lazy", "symbols_plain.c", symbol_sections);
}

TEST(damaged_headers, "damaged ELF headers are survived")
{
	survive("gcc -O2 -g", "symbols_plain.c", NULL);
}
