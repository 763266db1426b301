/* SPDX-License-Identifier: MIT
 * Functions, lines and inlined frames against other people's tools, address by address. */
#include "host/symbols/demangle.h"
#include "symbols_tools.h"

/* What a reference tool printed of one address. */
struct answer_lines {
	char *function[64]; /* into the output */
	char *place[64];    /* file:line */
	u32 count;
};

struct reference {
	struct strbuf output;
	struct answer_lines *answers; /* as many as addresses */
};

/* Splits the output of addr2line -a -f -i, which is a line 0xADDRESS and then pairs of lines. */
static void reference_parse(struct reference *self, u64 count)
{
	char *state = NULL;
	u64 at = 0;
	bool place = false;

	self->answers = calloc(count + 1, sizeof(*self->answers));
	if (!self->answers || !self->output.text)
		FAIL("the reference tool printed nothing");
	for (char *line = strtok_r(self->output.text, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		struct answer_lines *answer = at ? &self->answers[at - 1] : NULL;

		if (!strncmp(line, "0x", 2) && !place) {
			if (at++ == count)
				FAIL("too many answers");
		} else if (answer && answer->count < 64) {
			if (place)
				answer->place[answer->count++] = line;
			else
				answer->function[answer->count] = line;
			place = !place;
		}
	}
	if (at != count)
		FAIL("%llu answers, not %llu", (unsigned long long)at, (unsigned long long)count);
}

static struct reference reference_ask(const char *command, const char *program,
				      const struct addresses *addresses)
{
	struct reference self = { 0 };
	FILE *file = fopen(in_folder("addresses"), "w");

	for (u64 i = 0; file && i < addresses->count; i++)
		fprintf(file, "0x%llx\n", (unsigned long long)addresses->data[i]);
	if (!file || fclose(file))
		FAIL("cannot write the addresses");
	MUST("%s %s <addresses >answers 2>/dev/null", command, program);
	file = fopen(in_folder("answers"), "r");
	for (char piece[65536]; file && !feof(file);)
		strbuf_add_bytes(&self.output, piece, fread(piece, 1, sizeof(piece), file));
	if (file)
		fclose(file);
	reference_parse(&self, addresses->count);
	return self;
}

static void reference_release(struct reference *self)
{
	free(self->answers);
	strbuf_release(&self->output);
}

/* "…/dir/file.c:12 (discriminator 3)" → line, and file without folders. 0 = unknown. */
static u32 place_split(const char *place, char *file, size_t bytes)
{
	const char *colon = strrchr(place, ':'), *slash;

	if (!colon)
		return 0;
	for (slash = colon; slash > place && slash[-1] != '/'; slash--)
		;
	snprintf(file, bytes, "%.*s", (int)(colon - slash), slash);
	return (u32)strtoul(colon + 1, NULL, 10);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The bracket that closes the one at `open`, or the end of the text. */
static const char *closing(const char *open)
{
	int depth = 0;

	for (const char *at = open; *at; at++) {
		depth += strchr("<({", *at) != NULL;
		depth -= strchr(">)}", *at) != NULL && at[-1] != '-';
		if (!depth)
			return at;
	}
	return open + strlen(open) - 1;
}

/* The identifier alone: "void a::b<c>::d<e>(f)" → "d", and "operator" for all of those. The tools
 * differ in how much they print around it when the debug info has no linker name. */
static void identifier(const char *name, char *text, size_t bytes)
{
	const char *from = name, *end = NULL, *at;

	for (at = name; *at; at++) {
		if (at == from && !strncmp(at, "operator", 8)) {
			end = at + 8;
			break;
		}
		if (*at == '(' && at > from && strncmp(closing(at) + 1, "::", 2))
			break;
		if (*at == ':' || *at == ' ') {
			from = at + 1;
			end = NULL;
		}
		if (strchr("<({", *at)) {
			end = end ? end : at;
			at = closing(at);
		}
	}
	end = end ? end : at;
	at = memchr(from, '.', (size_t)(end - from)); /* .cold, .part.0 */
	end = at ? at : end;
	snprintf(text, bytes, "%.*s", (int)(end - from), from);
}

/* llvm-symbolizer is asked for linker names, because its demangler writes some in its own way.
 * addr2line gives the name of the symbol table to the innermost frame, even if that is an inlined
 * one, when the debug info has no linker name for it. */
static bool same_name(const struct symbolizer_answer *got, u32 frame, const char *want)
{
	const char *outermost = got->frames[got->frame_count - 1].function;
	char *readable = demangle(want);
	char a[256], b[256];

	identifier(got->frames[frame].function, a, sizeof(a));
	identifier(readable ? readable : want, b, sizeof(b));
	free(readable);
	if (!strcmp(a, b))
		return true;
	identifier(outermost, a, sizeof(a));
	return frame == 0 && !strcmp(a, b);
}

static bool agree(const struct symbolizer_answer *got, const struct answer_lines *want)
{
	if (got->frame_count != want->count)
		return false;
	for (u32 i = 0; i < want->count; i++) {
		const struct symbol_frame *frame = &got->frames[i];
		char file[256] = "";
		u32 line = place_split(want->place[i], file, sizeof(file));

		if (frame->line != line || (line && strcmp(last_part(frame->file), file)))
			return false;
		if (frame->inlined != (i + 1 < want->count) ||
		    !same_name(got, i, want->function[i]))
			return false;
	}
	return true;
}

/* Compares all addresses of which the reference knows a line; says how many those were. */
static u64 compare(const struct addresses *addresses, const struct asked *asked,
		   const struct reference *reference)
{
	u64 known = 0, differ = 0;

	for (u64 i = 0; i < addresses->count; i++) {
		const struct answer_lines *want = &reference->answers[i];
		const struct symbolizer_answer *got = &asked->answers[i];
		char file[256];

		if (!want->count || !place_split(want->place[0], file, sizeof(file)))
			continue;
		known++;
		if (agree(got, want) || differ++ > 3)
			continue;
		CHECK_EQ(got->frame_count, want->count);
		test_check(false, __FILE__, __LINE__, "0x%llx: %s %s:%u, not %s %s",
			   (unsigned long long)addresses->data[i],
			   got->frame_count ? got->frames[0].function : "",
			   got->frame_count ? got->frames[0].file : "",
			   got->frame_count ? got->frames[0].line : 0, want->function[0],
			   want->place[0]);
	}
	CHECK_EQ(differ, 0);
	return known;
}

#define ADDR2LINE "addr2line -a -f -i -C -e"
#define LLVM "llvm-symbolizer --output-style=GNU -a -f -i --no-demangle -e"

struct program {
	const char *build;     /* compiler and flags */
	const char *source;
	const char *reference; /* command that gets the addresses on stdin */
	u64 least;             /* addresses with a known line that must have been compared */
};

static void check_program(const struct program *program)
{
	struct addresses addresses;
	struct reference reference;
	struct asked asked;

	MUST("%s -w -o program " TARGETS "/%s", program->build, program->source);
	addresses = code_addresses(in_folder("program"), 5);
	asked = ask_file(in_folder("program"), &addresses);
	reference = reference_ask(program->reference, "program", &addresses);
	CHECK_EQ(asked.state, SYMBOLIZER_DEBUG);
	if (!CHECK(compare(&addresses, &asked, &reference) >= program->least))
		printf("# %s\n", program->build);
	reference_release(&reference);
	asked_release(&asked);
	vec_release(&addresses);
}

static void check_programs(const struct program *programs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_program(&programs[i]);
}

TEST(gcc_c, "C programs of gcc read as addr2line reads them")
{
	static const struct program programs[] = {
		{ "gcc -O0 -g", "symbols_plain.c", ADDR2LINE, 100 },
		{ "gcc -O2 -g", "symbols_plain.c", ADDR2LINE, 60 },
		{ "gcc -O2 -g -gz", "symbols_plain.c", ADDR2LINE, 60 },
		{ "gcc -O3 -gdwarf-3 -no-pie", "symbols_plain.c", ADDR2LINE, 60 },
	};

	need("addr2line", "binutils");
	check_programs(programs, COUNT_OF(programs));
}

TEST(gcc_cxx, "inlined frames of g++ read as addr2line reads them")
{
	static const struct program programs[] = {
		{ "g++ -O2 -g", "symbols_inline.cpp", ADDR2LINE, 1000 },
		{ "g++ -O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections", "symbols_inline.cpp",
		  ADDR2LINE, 1000 },
		/* Without cold parts: it cannot say of a function that it is in two places. */
		{ "g++ -O2 -gdwarf-2 -gstrict-dwarf -fno-reorder-blocks-and-partition",
		  "symbols_inline.cpp", ADDR2LINE, 500 },
	};

	need("addr2line", "binutils");
	check_programs(programs, COUNT_OF(programs));
}

/* addr2line of binutils 2.40 misses later pieces of an inlined function that clang put in several,
 * as it does for aarch64. */
TEST(clang_c, "C programs of clang read as llvm-symbolizer reads them")
{
	static const struct program programs[] = {
		{ "clang -O0 -g", "symbols_plain.c", LLVM, 100 },
		{ "clang -O2 -g", "symbols_plain.c", LLVM, 60 },
	};

	need("llvm-symbolizer", "llvm");
	need("clang", "clang");
	check_programs(programs, COUNT_OF(programs));
}

TEST(clang_cxx, "inlined frames of clang++ and of g++ -flto read as llvm-symbolizer reads them")
{
	static const struct program programs[] = {
		{ "clang++ -O2 -g", "symbols_inline.cpp", LLVM, 700 },
		{ "clang++ -O2 -gdwarf-4", "symbols_inline.cpp", LLVM, 700 },
		{ "clang++ -O2 -g1", "symbols_inline.cpp", LLVM, 700 },
		{ "g++ -O2 -g -flto", "symbols_inline.cpp", LLVM, 1000 },
	};

	need("llvm-symbolizer", "llvm");
	need("clang++", "clang");
	check_programs(programs, COUNT_OF(programs));
}

/* eu-addr2line gives the same lines by another library of the same project: a check of our own
 * reading of the tree. It prints file:line:column; behind the end of a unit's code version 0.192
 * prints its last line, where addr2line knows none. */
TEST(elfutils_lines, "lines of the innermost frame are those of eu-addr2line")
{
	struct addresses addresses;
	struct reference reference, other;
	struct asked asked;
	u64 known = 0;

	need("eu-addr2line", "elfutils");
	need("addr2line", "binutils");
	MUST("g++ -O2 -g -o program " TARGETS "/symbols_inline.cpp");
	addresses = code_addresses(in_folder("program"), 5);
	asked = ask_file(in_folder("program"), &addresses);
	reference = reference_ask("eu-addr2line -a -f -e", "program", &addresses);
	other = reference_ask("addr2line -a -f -e", "program", &addresses);
	for (u64 i = 0; i < addresses.count; i++) {
		char *place = reference.answers[i].count ? reference.answers[i].place[0] : NULL;
		char *column = place ? strrchr(place, ':') : NULL;

		if (!column || !strncmp(place, "??", 2) || !other.answers[i].count ||
		    strchr(other.answers[i].place[0], '?'))
			continue;
		*column = 0; /* now "file:line" */
		known++;
		CHECK_EQ(asked.answers[i].frames[0].line,
			 strtoul(strrchr(place, ':') + 1, NULL, 10));
	}
	CHECK(known > 1000);
	reference_release(&other);
	reference_release(&reference);
	asked_release(&asked);
	vec_release(&addresses);
}

TEST(no_inlines, "without inlines each address has the one function that holds the code")
{
	static const struct symbolizer_options options = { .no_inlines = true };
	struct addresses addresses;
	struct asked all, outer;
	u64 inlined = 0;

	MUST("gcc -O2 -g -o program " TARGETS "/symbols_plain.c");
	addresses = code_addresses(in_folder("program"), 1);
	all = ask_file(in_folder("program"), &addresses);
	outer = ask(&(struct symbolizer_module){ .path = in_folder("program") }, &addresses,
		    &options);
	for (u64 i = 0; i < addresses.count; i++) {
		const struct symbolizer_answer *got = &outer.answers[i], *want = &all.answers[i];

		CHECK_EQ(got->frame_count, want->frame_count > 0);
		if (!got->frame_count || !want->frame_count)
			continue;
		inlined += want->frame_count > 1;
		CHECK_STR(got->frames[0].function, want->frames[want->frame_count - 1].function);
		CHECK_EQ(got->frames[0].line, want->frames[want->frame_count - 1].line);
	}
	CHECK(inlined > 10);
	asked_release(&all);
	asked_release(&outer);
	vec_release(&addresses);
}

TEST(one_by_one, "an address asked alone has the answer that it has in a crowd")
{
	struct addresses addresses;
	struct asked all;

	MUST("gcc -O2 -g -o program " TARGETS "/symbols_plain.c");
	addresses = code_addresses(in_folder("program"), 7);
	all = ask_file(in_folder("program"), &addresses);
	for (u64 i = 0; i < addresses.count; i++) {
		struct addresses one = { .data = &addresses.data[i], .count = 1 };
		struct asked alone = ask_file(in_folder("program"), &one);

		CHECK(same_answer(&alone.answers[0], &all.answers[i]));
		asked_release(&alone);
	}
	asked_release(&all);
	vec_release(&addresses);
}

/* ---- variables ---- */

/* The address that nm prints for a linker name. */
static u64 nm_address(const char *name)
{
	unsigned long long address = 0;
	FILE *file;

	MUST("nm program | awk '$3 == \"%s\" { print $1 }' >address", name);
	file = fopen(in_folder("address"), "r");
	if (!file || fscanf(file, "%llx", &address) != 1)
		FAIL("the program has no symbol '%s'", name);
	fclose(file);
	return address;
}

TEST(variables, "a variable is found by any of its bytes, with its name in the source")
{
	static const struct {
		const char *linker_name, *name;
		u64 offset, bytes;
	} rows[] = {
		{"table", "table", 792, 800},
		{"_ZZ4mainE5cache", "main::cache", 0, 8},
		{"_ZN3app8registryE", "app::registry", 15, 16},
	};
	struct symbolizer_variable variable;
	struct symbolizer *symbolizer;
	struct err err = {0};
	u32 module = 0;

	MUST("printf '%%s\\n' 'void *table[100]; namespace app { struct { void *a, *b; } registry; }' "
	     "'int main() { static void *cache; table[1] = &cache; return !app::registry.a; }' >program.cc "
	     "&& g++ -g -o program program.cc");
	symbolizer = symbolizer_new(NULL, &err);
	if (!symbolizer ||
	    symbolizer_add(symbolizer, &(struct symbolizer_module){.path = in_folder("program")},
			   &module, &err))
		FAIL("%s", err.text);
	for (u32 i = 0; i < COUNT_OF(rows); i++) {
		u64 start = nm_address(rows[i].linker_name);

		CHECK_EQ(symbolizer_variable(symbolizer, module, start + rows[i].offset, &variable,
					     &err), 0);
		CHECK_STR(variable.name, rows[i].name);
		CHECK_EQ(variable.start, start);
		CHECK_EQ(variable.bytes, rows[i].bytes);
	}
	CHECK_EQ(symbolizer_variable(symbolizer, module, nm_address("main"), &variable, &err), 0);
	CHECK_STR(variable.name, "");
	symbolizer_free(symbolizer);
}
