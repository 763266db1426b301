/* SPDX-License-Identifier: MIT
 * Types beside call sites, of debug information that was written by hand; whole and damaged. */
#include "host/symbols/types/call.h"
#include "unit/symbols_tools.h"

enum { DAMAGES = 400 };

static int read_calls(struct call_types *calls, const char *path)
{
	struct symbolizer_module modules[] = {{.path = "/bin/true"}, {.path = path}};
	struct call_types_query query = {.modules = modules, .module_count = 2};
	struct err err;

	return call_types_read(calls, &query, &err);
}

/* The one row of the type, or NULL. */
static const struct call_type *row_of(const struct call_types *calls, const char *type)
{
	const struct call_type *found = NULL;

	for (u64 i = 0; i < calls->rows.count; i++)
		if (strcmp(calls->rows.data[i].type, type) == 0)
			found = found ? NULL : &calls->rows.data[i];
	return found;
}

/* The address of a symbol by nm, whose functions are all alike: distances are those of the calls. */
static u64 address_of(const char *symbol)
{
	char line[64];
	FILE *file;

	MUST("nm whole | sed -n 's/ T %s$//p' >address", symbol);
	file = fopen(in_folder("address"), "r");
	if (!file || !fgets(line, sizeof line, file))
		FAIL("no symbol %s", symbol);
	fclose(file);
	return strtoull(line, NULL, 16);
}

static void check_rows(void)
{
	struct call_types calls = {0};
	const struct call_type *point, *links;

	CHECK_EQ(read_calls(&calls, in_folder("whole")), 0);
	CHECK_EQ(calls.rows.count, 3);
	point = row_of(&calls, "space::Point");
	links = row_of(&calls, "space::Point*");
	CHECK(point && links && row_of(&calls, "Cell"));
	CHECK_EQ(point->size, 24);
	CHECK_EQ(links->size, 8);
	CHECK_EQ(row_of(&calls, "Cell")->size, 16);
	CHECK(point->address > address_of("make_point") &&
	      point->address < address_of("make_cells"));
	CHECK_EQ(links->address - point->address,
		 address_of("make_links") - address_of("make_point"));
	CHECK(call_types_find(&calls, 1, point->address) == point);
	CHECK(!call_types_find(&calls, 0, point->address));
	CHECK(!call_types_find(&calls, 1, point->address + 1));
	CHECK(!call_types_find(&calls, 1, UINT64_MAX));
	call_types_release(&calls);
}

TEST(call_sites, "call sites that have a type are found, with its name and size")
{
	MUST("cc -g0 -o whole " TARGETS "/call_types.c " TARGETS "/call_types.S");
	check_rows();
}

TEST(separate, "the same in a separate debug file")
{
	need("objcopy", "binutils");
	MUST("cc -g0 -Wl,--build-id -o whole " TARGETS "/call_types.c " TARGETS "/call_types.S");
	MUST("objcopy --only-keep-debug whole whole.debug && objcopy --strip-debug "
	     "--add-gnu-debuglink=whole.debug whole");
	check_rows();
}

TEST(none, "programs of other compilers have none")
{
	struct call_types calls = {0};

	MUST("cc -O2 -g -o whole " TARGETS "/symbols_plain.c");
	CHECK_EQ(read_calls(&calls, in_folder("whole")), 0);
	CHECK_EQ(calls.rows.count, 0);
	call_types_release(&calls);
}

static u64 read_file(const char *path, u8 *bytes, u64 most)
{
	FILE *file = fopen(path, "r");
	u64 count = file ? fread(bytes, 1, most, file) : 0;

	if (!count || count == most)
		FAIL("cannot read %s", path);
	fclose(file);
	return count;
}

static void write_file(const char *path, const u8 *bytes, u64 count)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
		FAIL("cannot write %s", path);
}

/* Where the section is in the file. */
static u64 section_offset(const char *name, u64 *bytes)
{
	unsigned long offset = 0, size = 0;
	FILE *file;

	MUST("readelf -SW whole | sed -n 's/.* %s *PROGBITS *[0-9a-f]* \\([0-9a-f]* "
	     "[0-9a-f]*\\).*/\\1/p' "
	     ">section",
	     name);
	file = fopen(in_folder("section"), "r");
	if (!file || fscanf(file, "%lx %lx", &offset, &size) != 2)
		FAIL("no section %s", name);
	fclose(file);
	*bytes = size;
	return offset;
}

TEST(damaged, "damaged debug information is survived")
{
	static u8 whole[1 << 18], bytes[1 << 18];
	static const char *const names[] = {"\\.debug_info", "\\.debug_abbrev"};
	u64 offsets[2], sizes[2], count, rows = 0;
	unsigned seed = 5;

	MUST("cc -g0 -o whole " TARGETS "/call_types.c " TARGETS "/call_types.S");
	count = read_file(in_folder("whole"), whole, sizeof whole);
	for (u32 i = 0; i < 2; i++)
		offsets[i] = section_offset(names[i], &sizes[i]);
	for (u32 round = 0; round < DAMAGES; round++) {
		struct call_types calls = {0};

		memcpy(bytes, whole, count);
		for (u32 i = 0, changes = 1 + round % 8; i < changes; i++)
			bytes[offsets[round % 2] + (u64)rand_r(&seed) % sizes[round % 2]] =
				(u8)rand_r(&seed);
		write_file(in_folder("damaged"), bytes, count);
		CHECK_EQ(read_calls(&calls, in_folder("damaged")), 0);
		for (u64 i = 0; i < calls.rows.count; i++)
			rows += strlen(calls.rows.data[i].type) > 0;
		call_types_release(&calls);
	}
	CHECK(rows > 0);
}
