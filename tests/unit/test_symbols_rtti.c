/* SPDX-License-Identifier: MIT
 * Classes by their vtables, read from stripped files: whole, damaged at random, and made to mislead. */
#include "host/symbols/rtti.h"
#include "unit/symbols_tools.h"

enum { DAMAGES = 600, IMAGE_MAX = 1 << 20 };

struct image {
	char bytes[IMAGE_MAX];
	u64 count;
};

static void image_build(struct image *image, const char *options)
{
	FILE *file;

	MUST("printf 'struct A { virtual ~A() {} virtual int f(); int a; }; struct B { virtual "
	     "~B() {} };"
	     "namespace space { struct C : A, B { int f() override; ~C(); }; } int A::f() { return "
	     "1; }"
	     "int space::C::f() { return 2; } space::C::~C() {} space::C *make() { return new "
	     "space::C; }'"
	     ">classes.cpp && g++ -O1 -fPIC -shared -s %s -o classes.so classes.cpp",
	     options);
	file = fopen(in_folder("classes.so"), "r");
	image->count = file ? fread(image->bytes, 1, IMAGE_MAX, file) : 0;
	if (!image->count || image->count == IMAGE_MAX)
		FAIL("cannot read classes.so");
	fclose(file);
}

/* All classes that the image has, "A, B", each once, in the order of their vtables. */
static void classes_of(struct image *image, struct strbuf *out)
{
	struct rtti rtti = {0};
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(image->bytes, image->count);
	CHECK_EQ(rtti_read_elf(&rtti, elf), 0);
	for (u64 i = 0; i < rtti.count; i++) {
		char *name = rtti_class(&rtti, rtti.data[i].at + 8);

		if (name && !strstr(strbuf_text(out), name))
			strbuf_addf(out, "%s%s", out->count ? ", " : "", name);
		free(name);
	}
	for (u64 odd = 0; odd < 64; odd += 8) {
		free(rtti_class(&rtti, odd));
		free(rtti_class(&rtti, UINT64_MAX - odd));
		free(rtti_class(&rtti, UINT64_MAX - 7 - odd));
	}
	rtti_release(&rtti);
	elf_end(elf);
}

static bool has_all(const char *text)
{
	return strstr(text, "space::C") && strstr(text, "A") && strstr(text, "B");
}

TEST(classes, "classes of stripped files, whose type_infos are exported or not")
{
	static const char *const options[] = {"", "-fvisibility=hidden", "-Wl,-Bsymbolic"};
	static struct image image;

	for (u32 i = 0; i < COUNT_OF(options); i++) {
		struct strbuf text = {0};

		image_build(&image, options[i]);
		classes_of(&image, &text);
		if (!has_all(strbuf_text(&text)))
			FAIL("with %s: %s", options[i], strbuf_text(&text));
		strbuf_release(&text);
	}
}

TEST(damaged, "damaged files are survived")
{
	static struct image whole, image;
	unsigned seed = 3;
	u64 found = 0;

	image_build(&whole, "-fvisibility=hidden");
	for (u32 round = 0; round < DAMAGES; round++) {
		u32 changes = 1 + (u32)rand_r(&seed) % 40;
		struct strbuf text = {0};

		memcpy(&image, &whole, sizeof image);
		for (u32 i = 0; i < changes; i++) {
			/* headers of the file and of its sections, or anywhere */
			u64 at = rand_r(&seed) % 3 == 0 ? (u64)rand_r(&seed) % 800
				 : rand_r(&seed) % 2 == 0
					 ? image.count - 1 - (u64)rand_r(&seed) % 2000
					 : (u64)rand_r(&seed) % image.count;

			image.bytes[at] = (char)(rand_r(&seed) % 4 ? rand_r(&seed) : -1);
		}
		if (round % 20 == 19)
			image.count = (u64)rand_r(&seed) % image.count;
		classes_of(&image, &text);
		found += text.count;
		strbuf_release(&text);
	}
	CHECK(found > 0);
}

/* Changes each relocation that the loader would apply. */
static void change_words(struct image *image, void (*change)(Elf64_Rela *, u64), u64 argument)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
	const Elf64_Shdr *sections =
		(const Elf64_Shdr *)(const void *)(image->bytes + header->e_shoff);

	for (u32 i = 0; i < header->e_shnum; i++) {
		Elf64_Rela *rows = (Elf64_Rela *)(void *)(image->bytes + sections[i].sh_offset);

		if (sections[i].sh_type != SHT_RELA)
			continue;
		for (u64 k = 0; k < sections[i].sh_size / sizeof *rows; k++)
			change(&rows[k], argument);
	}
}

static void lead_to(Elf64_Rela *row, u64 address) { row->r_addend = (Elf64_Sxword)address; }
static void lead_to_self(Elf64_Rela *row, u64 more)
{
	row->r_addend = (Elf64_Sxword)(row->r_offset + more);
}
static void name_symbol(Elf64_Rela *row, u64 symbol)
{
	row->r_info = symbol << 32 | (row->r_info & 0xffffffff);
}

TEST(misleading, "words that lead to themselves, to nothing or beyond the end are no classes")
{
	static struct image whole, image;
	static const u64 nowhere[] = {0, 1, 8, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, 1ull << 47};

	image_build(&whole, "-fvisibility=hidden");
	for (u32 i = 0; i < COUNT_OF(nowhere); i++) {
		struct strbuf text = {0};

		memcpy(&image, &whole, sizeof image);
		change_words(&image, lead_to, nowhere[i]);
		classes_of(&image, &text);
		CHECK_STR(strbuf_text(&text), "");
		strbuf_release(&text);
	}
	for (u64 more = 0; more < 64; more += 4) {
		struct strbuf text = {0};

		memcpy(&image, &whole, sizeof image);
		change_words(&image, lead_to_self, more);
		classes_of(&image, &text);
		CHECK(!strstr(strbuf_text(&text), "space::C"));
		strbuf_release(&text);
	}
	for (u64 symbol = 1; symbol < 1ull << 32; symbol = symbol * 5 + 1) {
		struct strbuf text = {0};

		memcpy(&image, &whole, sizeof image);
		change_words(&image, name_symbol, symbol);
		classes_of(&image, &text);
		strbuf_release(&text);
	}
}

TEST(no_file, "what is no 64-bit ELF file of these machines has no classes")
{
	static struct image image = {.count = 4096};
	struct strbuf text = {0};
	struct rtti rtti = {0};

	classes_of(&image, &text); /* zeros */
	memcpy(image.bytes, "\177ELF\1\1\1", 7);
	classes_of(&image, &text);
	image_build(&image, "");
	((Elf64_Ehdr *)(void *)image.bytes)->e_machine = EM_S390;
	classes_of(&image, &text);
	CHECK_STR(strbuf_text(&text), "");
	CHECK_EQ(rtti_read_elf(&rtti, NULL), 0);
	CHECK(!rtti_class(&rtti, 4096));
	rtti_release(&rtti);
	strbuf_release(&text);
}
