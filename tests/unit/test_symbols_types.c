/* SPDX-License-Identifier: MIT
 * Types by size from every shape of debug info, against what the sources say. */
#include "host/symbols/types/sizes.h"
#include "unit/symbols_tools.h"

/* The names of a size, "a, b", of all ranks up to `last`. */
static const char *names_of(const struct typesizes *types, u64 size, enum type_rank last)
{
	static struct strbuf text;

	strbuf_clear(&text);
	for (u64 i = typesizes_first(types, size); i < types->count && types->data[i].size == size;
	     i++)
		if (types->data[i].rank <= last)
			strbuf_addf(&text, "%s%s", text.count ? ", " : "", types->data[i].name);
	return strbuf_text(&text);
}

static const u64 sizes[] = {8,   40,  56,  64,  72,  88,  104, 136,
			    152, 200, 216, 232, 248, 264, 280, 2016};

static void read_types(struct typesizes *types, const struct symbolizer_module *module, bool own)
{
	struct typesizes_query query = {.modules = module,
					.module_count = 1,
					.own_modules = own,
					.sizes = sizes,
					.size_count = COUNT_OF(sizes)};
	struct err err;

	if (typesizes_read(types, &query, &err) < 0)
		FAIL("%s", err.text);
}

static void check_plain(const struct typesizes *types)
{
	static const struct {
		u64 size;
		const char *names;
	} rows[] = {
		{72, "tagged, tagged_alias"},
		{88, "untagged"},
		{104, "either"},
		{136, "vector"},
		{152, "outer"},
		{8, "sample"},
		{40, ""},
		{280, ""},
	};

	for (u32 i = 0; i < COUNT_OF(rows); i++)
		CHECK_STR(names_of(types, rows[i].size, TYPE_TYPEDEF), rows[i].names);
	/* a struct of C that is written inside another one is not inside it */
	CHECK(strstr(names_of(types, 56, TYPE_TYPEDEF), "inner") != NULL);
}

static void check_space(const struct typesizes *types)
{
	static const struct {
		u64 size;
		const char *names;
	} rows[] = {
		{216, "shop::order::line"},
		{2016, "shop::order"},
		{264, "(anonymous namespace)::hidden"},
		{280, ""}, /* local to main */
	};

	for (u32 i = 0; i < COUNT_OF(rows); i++)
		CHECK_STR(names_of(types, rows[i].size, TYPE_OWN), rows[i].names);
	/* compilers spell long in two ways */
	CHECK(strncmp(names_of(types, 232, TYPE_OWN), "shop::crate<long", 16) == 0);
	CHECK(strstr(names_of(types, 248, TYPE_OWN), "ticket") != NULL);
	/* std::map<int, std::string> and std::list<std::string> allocate these */
	CHECK(strstr(names_of(types, 72, TYPE_STANDARD), "std::_Rb_tree_node<…>") != NULL);
	CHECK(strstr(names_of(types, 72, TYPE_STANDARD), "std::pair<…><") == NULL);
}

/* compiler, flags */
static const char *const flags[] = {
	"-gdwarf-4",
	"-gdwarf-5",
	"-gdwarf-4 -fdebug-types-section",
	"-gdwarf-5 -fdebug-types-section",
	"-gdwarf-4 -gsplit-dwarf",
	"-gdwarf-5 -gsplit-dwarf",
	"-gdwarf-4 -gsplit-dwarf -fdebug-types-section",
	"-gdwarf-5 -gsplit-dwarf -fdebug-types-section",
	"-gdwarf-5 -gz",
	"-gdwarf-4 -gsplit-dwarf -fdebug-types-section -gz",
};

static void check_program(const char *compiler, const char *flag, const char *source,
			  void (*check)(const struct typesizes *))
{
	struct typesizes types = {0};
	struct symbolizer_module module = {.path = in_folder("prog")};

	if (shell("%s %s -fno-builtin -o prog %s/%s 2>compile.log", compiler, flag, TARGETS,
		  source))
		FAIL("%s %s cannot compile %s", compiler, flag, source);
	read_types(&types, &module, true);
	if (types.states[0] != SYMBOLIZER_DEBUG || types.lost_units || types.stopped)
		FAIL("%s %s: state %u, %u lost units", compiler, flag, types.states[0],
		     (u32)types.lost_units);
	check(&types);
	if (!types.count)
		FAIL("%s %s: no types", compiler, flag);
	typesizes_release(&types);
}

TEST(gcc_c, "types of a C program are found in each form of debug info that gcc writes")
{
	for (u32 i = 0; i < COUNT_OF(flags); i++)
		check_program("gcc", flags[i], "types_plain.c", check_plain);
}

TEST(dwarf_2, "types of a C program are found in strict DWARF 2")
{
	check_program("gcc", "-gdwarf-2 -gstrict-dwarf", "types_plain.c", check_plain);
}

TEST(gcc_cpp, "types of a C++ program are found in each form of debug info that g++ writes")
{
	need("g++", "g++");
	for (u32 i = 0; i < COUNT_OF(flags); i++)
		check_program("g++", flags[i], "types_space.cpp", check_space);
}

TEST(clang, "types are found in each form of debug info that clang writes")
{
	need("clang++", "clang");
	for (u32 i = 0; i < COUNT_OF(flags); i++) {
		check_program("clang", flags[i], "types_plain.c", check_plain);
		check_program("clang++", flags[i], "types_space.cpp", check_space);
	}
}

static void make_program(void)
{
	MUST("gcc -g -fno-builtin -Wl,--build-id -o prog %s/types_plain.c", TARGETS);
}

TEST(debuglink, "types of a stripped program come from its separate debug file")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	struct typesizes types = {0};

	need("objcopy", "binutils");
	make_program();
	MUST("objcopy --only-keep-debug prog prog.debug");
	MUST("objcopy --strip-all --add-gnu-debuglink=prog.debug prog");
	read_types(&types, &module, true);
	CHECK_EQ(types.states[0], SYMBOLIZER_DEBUG);
	check_plain(&types);
	typesizes_release(&types);
}

TEST(stripped, "a stripped program has no types, and its state says why")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	struct typesizes types = {0};

	make_program();
	MUST("strip prog");
	read_types(&types, &module, true);
	CHECK_EQ(types.states[0], SYMBOLIZER_STRIPPED);
	CHECK_EQ(types.count, 0);
	typesizes_release(&types);
}

TEST(other_file, "a file with another build-id than the recorded one is not used")
{
	static const u8 build_id[20] = {1, 2, 3};
	struct symbolizer_module module = {.path = in_folder("prog"),
					   .build_id = build_id,
					   .build_id_bytes = sizeof build_id};
	struct typesizes types = {0};

	make_program();
	read_types(&types, &module, true);
	CHECK_EQ(types.states[0], SYMBOLIZER_MISSING);
	CHECK_EQ(types.count, 0);
	typesizes_release(&types);
}

TEST(lost_dwo, "missing .dwo files are counted")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	struct typesizes types = {0};

	MUST("gcc -g -gsplit-dwarf -o prog %s/types_plain.c && rm -f *.dwo", TARGETS);
	read_types(&types, &module, true);
	CHECK_EQ(types.lost_units, 1);
	CHECK_EQ(types.count, 0);
	typesizes_release(&types);
}

TEST(ranks, "types of libraries rank after the program's own, scalars of libraries do not count")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	struct typesizes types = {0};

	make_program();
	read_types(&types, &module, false);
	CHECK_STR(names_of(&types, 72, TYPE_TYPEDEF), "");
	CHECK_STR(names_of(&types, 72, TYPE_LIBRARY), "tagged, tagged_alias");
	CHECK_STR(names_of(&types, 8, TYPE_RESERVED), "");
	typesizes_release(&types);
}

TEST(bound, "the search stops at its bound and says so")
{
	struct symbolizer_module modules[] = {{.path = in_folder("prog")},
					      {.path = in_folder("prog")}};
	struct typesizes_query query = {.modules = modules,
					.module_count = 2,
					.own_modules = 1,
					.sizes = sizes,
					.size_count = COUNT_OF(sizes),
					.max_bytes = 1};
	struct typesizes types = {0};
	struct err err;

	make_program();
	if (typesizes_read(&types, &query, &err) < 0)
		FAIL("%s", err.text);
	CHECK(types.stopped);
	check_plain(&types); /* the first unit was read whole */
	typesizes_release(&types);
}

TEST(stale_dwo, "a .dwo file of another build does not count")
{
	static const char *const extra[] = {"", "-fdebug-types-section"};

	for (u32 i = 0; i < COUNT_OF(extra); i++) {
		struct symbolizer_module module = {.path = in_folder("prog")};
		struct typesizes types = {0};

		MUST("gcc -g -gsplit-dwarf %s -c -o a.o %s/types_plain.c && gcc -o prog a.o",
		     extra[i], TARGETS);
		MUST("gcc -g -gsplit-dwarf %s -Dtagged=renamed -c -o a.o %s/types_plain.c",
		     extra[i], TARGETS);
		read_types(&types, &module, true);
		CHECK_EQ(types.lost_units, 1);
		CHECK_EQ(types.count, 0);
		typesizes_release(&types);
	}
}

/* Where .debug_info is in a file. */
static void find_info(const char *path, u64 *offset, u64 *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t names = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    strcmp(elf_strptr(elf, names, header.sh_name), ".debug_info") != 0)
			continue;
		*offset = header.sh_offset;
		*bytes = header.sh_size;
	}
	elf_end(elf);
	close(fd);
}

TEST(damaged_dwo, "a damaged .dwo file of many sections gives other types and no crash")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	int fd;
	off_t bytes;

	MUST("gcc -g -gsplit-dwarf -fdebug-types-section -c -o a.o %s/types_plain.c && "
	     "gcc -o prog a.o",
	     TARGETS);
	fd = open(in_folder("a.dwo"), O_RDWR | O_CLOEXEC);
	bytes = lseek(fd, 0, SEEK_END);
	if (fd < 0 || bytes <= 0)
		FAIL("no a.dwo");
	for (u32 i = 0; i < 400; i++) { /* damage adds up */
		struct typesizes types = {0};
		u8 byte = (u8)rand();

		if (pwrite(fd, &byte, 1, rand() % bytes) != 1)
			FAIL("cannot write");
		read_types(&types, &module, true);
		typesizes_release(&types);
	}
	close(fd);
}

TEST(damage, "damaged debug info gives other types and no crash")
{
	struct symbolizer_module module = {.path = in_folder("prog")};
	u64 offset = 0, bytes = 0;
	int fd;

	make_program();
	find_info(module.path, &offset, &bytes);
	fd = open(module.path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || bytes == 0)
		FAIL("no .debug_info");
	for (u32 i = 0; i < 400; i++) { /* damage adds up */
		struct typesizes types = {0};
		u8 byte = (u8)rand();

		if (pwrite(fd, &byte, 1, (off_t)(offset + (u64)rand() % bytes)) != 1)
			FAIL("cannot write");
		read_types(&types, &module, true);
		typesizes_release(&types);
	}
	close(fd);
}
