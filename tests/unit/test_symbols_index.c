/* SPDX-License-Identifier: MIT
 * The index of types: what its parser bears, and programs whose every allocation is looked up by the place
 * that its debug info gives, with two compilers. */
#include "study/analysis/places/stacks.h"
#include "host/base/io.h"
#include "study/model/model.h"
#include "host/symbols/types/index.h"
#include "host/symbols/types/pattern.h"
#include "symbols_tools.h"

#define HEAPWISE "'" HEAPWISE_BUILD_DIR "/heapwise'" /* for the shell */

enum { FRAMES_MAX = 256, LINES_MAX = 400, TYPES_MAX = 8 };

/* What a line of the source should have, and what was found. */
struct line {
	char text[512];
	bool guess;
	char *types[TYPES_MAX];
	u32 count;
	bool found[TYPES_MAX];
	u32 allocations;
};

struct check {
	const char *base; /* of the source */
	struct line lines[LINES_MAX];
	u32 answers, wrong;
};

static void read_marks(struct check *self, const char *source)
{
	FILE *file = fopen(source, "r");
	char text[512];
	u32 number = 0;

	if (!file)
		FAIL("%s is missing", source);
	while (fgets(text, sizeof text, file) && ++number < LINES_MAX) {
		struct line *line = &self->lines[number];
		char *mark = strstr(text, "/* = "), *end;

		mark = mark ? mark : strstr(text, "// = ");
		if (!mark && (mark = strstr(text, "/* ~ ")))
			line->guess = true;
		if (!mark && (mark = strstr(text, "// ~ ")))
			line->guess = true;
		if (!mark)
			continue;
		strcpy(line->text, mark + 5);
		end = strstr(line->text, " */");
		end = end ? end : strchr(line->text, '\n');
		*end = 0;
		for (char *at = line->text; at && line->count < TYPES_MAX;) {
			char *next = strstr(at, " | ");

			line->types[line->count++] = at;
			if (next)
				*next = 0;
			at = next ? next + 3 : NULL;
		}
	}
	fclose(file);
}

static void check_answer(struct check *self, const struct symbol_frame *frame,
			 const struct type_index_answer *answer)
{
	const char *slash = strrchr(frame->file, '/');
	u32 number = answer->site->line; /* gcc places an expression at its last word */
	struct line *line = &self->lines[number < LINES_MAX ? number : 0];
	const char *base = slash ? slash + 1 : frame->file;
	bool mine = !strcmp(base, self->base);
	bool right =
		!strcmp(base, "elsewhere.y") && frame->line == 9 && !strcmp(answer->type, "tall");

	self->answers++;
	for (u32 i = 0; mine && i < line->count; i++) {
		if (!strcmp(line->types[i], answer->type))
			right = line->found[i] = true;
	}
	if (right && (line->guess || answer->confidence < TYPE_INDEX_GUESS))
		return;
	if (answer->confidence == TYPE_INDEX_GUESS && !right)
		return;
	self->wrong++;
	printf("%s:%u:%u %s: '%s' (%d)\n", frame->file, frame->line, frame->column, frame->function,
	       answer->type, answer->confidence);
}

static void check_chunk(struct check *self, const struct type_index *index,
			const struct stack_source *stacks, struct frame_id id, u64 size)
{
	struct symbol_frame frames[FRAMES_MAX];
	struct type_index_query query = {.frames = frames, .size_bytes = size};
	struct type_index_answer answer;

	while (id.index && query.frame_count < FRAMES_MAX) {
		struct stack_names names = stack_names(stacks, id);

		for (u32 i = 0; i < names.count && query.frame_count < FRAMES_MAX; i++)
			frames[query.frame_count++] = names.frames[i];
		if (!names.count)
			frames[query.frame_count++] =
				(struct symbol_frame){.function = "", .file = ""};
		id.index = context_table_frame(&stacks->model->contexts, id)->parent;
	}
	if (type_index_find_stack(index, &query, &answer))
		check_answer(self, &frames[answer.frame], &answer);
}

static void check_trace(struct check *self, const struct type_index *index, const char *path)
{
	struct trace_read_options options = {.image = 0};
	struct model *model = model_new();
	struct symbol_table symbols;
	struct stack_source stacks = {.model = model, .symbols = &symbols};
	struct err err = {0};

	if (!model || model_load(model, path, &options, NULL, &err) < 0 ||
	    trace_read_symbols(path, &symbols, &err) < 0)
		FAIL("%s", err.text);
	for (u64 chunk = 0; chunk < model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);
		u32 context = page ? page->alloc_context[chunk % CHUNK_PAGE] : 0;
		struct frame_id frame;

		if (!context || context_table_place(&model->contexts, context, &frame, &err) < 0)
			continue;
		check_chunk(self, index, &stacks, frame, page->size[chunk % CHUNK_PAGE]);
	}
	symbol_table_release(&symbols);
	model_free(model);
}

static struct type_index *load_index(const char *path)
{
	struct err err = {0};
	struct type_index *index = type_index_load(path, &err);

	if (!index)
		FAIL("%s", err.text);
	return index;
}

static void check_program(const char *compiler, const char *flags, const char *source)
{
	struct check *self = calloc(1, sizeof *self);
	struct type_index *index;
	u32 missing = 0;

	need(compiler, strncmp(compiler, "clang", 5) == 0 ? "clang" : "g++");
	if (shell(HEAPWISE " trace types-index --database . 2>&1 | grep -q 'built without libclang'") == 0)
		test_skip("needs package libclang-dev");
	self->base = source;
	MUST("cp " TARGETS "/%s .", source);
	read_marks(self, in_folder(source));
	MUST("%s -g %s -fno-builtin -w %s -o program", compiler, flags, source);
	MUST(HEAPWISE " trace types-index %s -- -std=%s >summary", source,
	     strstr(source, ".cpp") ? "c++17" : "gnu11");
	MUST(HEAPWISE " run -q -o trace ./program >out 2>&1");
	index = load_index(in_folder(TYPE_INDEX_NAME));
	check_trace(self, index, in_folder("trace"));
	for (u32 i = 0; i < LINES_MAX; i++)
		for (u32 k = 0; k < self->lines[i].count; k++)
			if (!self->lines[i].found[k] && !self->lines[i].guess) {
				printf("%s:%u: no '%s'\n", source, i, self->lines[i].types[k]);
				missing++;
			}
	CHECK_EQ(self->wrong, 0);
	CHECK_EQ(missing, 0);
	type_index_free(index);
	free(self);
}

TEST(c_gcc_0, "each form of C has its type: gcc -O0")
{
	check_program("gcc", "-O0", "index_forms.c");
}
TEST(c_gcc_2, "each form of C has its type: gcc -O2")
{
	check_program("gcc", "-O2", "index_forms.c");
}
TEST(c_clang_0, "each form of C has its type: clang -O0")
{
	check_program("clang", "-O0", "index_forms.c");
}
TEST(c_clang_2, "each form of C has its type: clang -O2")
{
	check_program("clang", "-O2", "index_forms.c");
}
TEST(cpp_gcc_0, "each form of C++ has its type: g++ -O0")
{
	check_program("g++", "-std=c++17 -O0", "index_forms.cpp");
}
TEST(cpp_gcc_2, "each form of C++ has its type: g++ -O2")
{
	check_program("g++", "-std=c++17 -O2", "index_forms.cpp");
}
TEST(cpp_clang_0, "each form of C++ has its type: clang++ -O0")
{
	check_program("clang++", "-std=c++17 -O0", "index_forms.cpp");
}
TEST(cpp_clang_2, "each form of C++ has its type: clang++ -O2")
{
	check_program("clang++", "-std=c++17 -O2", "index_forms.cpp");
}

/* ---- the parser ---- */

static const char small[] = "heapwise-types 2\n"
			    "v\tclang\n"
			    "f\t1\t2\t/src/a/main.c\n"
			    "f\t1\t2\t/src/b/main.c\n"
			    "f\t1\t2\t/src/tab\\there.c\n"
			    "s\t0\t5\t9\t5\t30\tca-\t16\tnode\t\tmalloc\t\t\n"
			    "s\t0\t5\t20\t5\t25\tcs-\t8\tinner\talias\tmalloc\t\t\n"
			    "s\t0\t8\t1\t12\t4\tnn-\t0\tT *\t\t\tmake T\t\n"
			    "s\t1\t5\t9\t5\t30\tcc-\t4\tint\t\tmalloc\t\t\n"
			    "s\t2\t1\t1\t1\t2\tcb-\t1\tchar\t\tmalloc\t\t\n"
			    "z\tof a later version\n"
			    "u\t77\t/src/a/main.c\t0-1\t0-2 4\n"
			    "e\n";

static struct type_index *parse(const char *text)
{
	struct err err = {0};
	struct type_index *index = type_index_parse(text, strlen(text), &err);

	if (!index)
		FAIL("%s", err.text);
	return index;
}

static const char *type_at(const struct type_index *index, const char *file, u32 line, u32 column,
			   const char *function)
{
	static struct type_index_answer answer;
	struct symbol_frame frame = {.function = function,
				     .file = file,
				     .line = line,
				     .column = column};

	return type_index_find(index, &frame, 0, &answer) ? answer.type : "";
}

TEST(positions, "the innermost place that covers a position is found")
{
	struct type_index *index = parse(small);
	const struct {
		const char *file;
		u32 line, column;
		const char *function, *want;
	} rows[] = {
		{"/src/a/main.c", 5, 9, "", "node"},
		{"/src/a/main.c", 5, 22, "", "inner"},
		{"/src/a/main.c", 5, 25, "", "node"},
		{"/src/a/main.c", 5, 30, "", ""},
		{"/src/a/main.c", 5, 8, "", ""},
		{"/src/a/main.c", 6, 9, "", ""},
		{"/src/b/main.c", 5, 9, "", "int"},
		{"/src/b/../a/./main.c", 5, 9, "", "node"},
		{"/elsewhere/a/main.c", 5, 9, "", "node"},
		{"/elsewhere/main.c", 5, 9, "", ""},
		{"main.c", 5, 9, "", ""},
		{"/src/tab\there.c", 1, 1, "", "char"},
		{"/src/a/main.c", 10, 1, "int** make<int>(long)", "int *"},
		{"/src/a/main.c", 12, 3, "make<ns::X<int, 3> >()", "ns::X<int, 3> *"},
		{"/src/a/main.c", 12, 4, "make<int>()", ""},
		{"/src/a/main.c", 10, 0, "other<int>()", ""},
		{"/src/a/main.c", 0, 0, "", ""},
		{"", 5, 9, "", ""},
	};

	for (u32 i = 0; i < COUNT_OF(rows); i++)
		CHECK_STR(type_at(index, rows[i].file, rows[i].line, rows[i].column,
				  rows[i].function),
			  rows[i].want);
	type_index_free(index);
}

TEST(line_only, "without a column several types of a line are a guess")
{
	struct type_index *index = parse(small);
	struct symbol_frame frame = {.function = "", .file = "/src/a/main.c", .line = 5};
	struct type_index_answer answer;

	CHECK(type_index_find(index, &frame, 0, &answer));
	CHECK_EQ(answer.types, 2);
	CHECK_EQ(answer.confidence, TYPE_INDEX_GUESS);
	frame.file = "/src/b/main.c";
	CHECK(type_index_find(index, &frame, 0, &answer));
	CHECK_EQ(answer.confidence, TYPE_INDEX_LIKELY);
	type_index_free(index);
}

TEST(size, "a type that is larger than the chunk is a guess")
{
	struct type_index *index = parse(small);
	struct symbol_frame frame = {.function = "",
				     .file = "/src/a/main.c",
				     .line = 5,
				     .column = 9};
	struct type_index_answer answer;

	CHECK(type_index_find(index, &frame, 32, &answer));
	CHECK_EQ(answer.confidence, TYPE_INDEX_EXACT);
	CHECK(type_index_find(index, &frame, 8, &answer));
	CHECK_EQ(answer.confidence, TYPE_INDEX_GUESS);
	type_index_free(index);
}

TEST(inner_call, "a position inside an allocation that called something else is not the allocation")
{
	struct type_index *index = parse(small);
	struct symbol_frame frames[2] = {
		{.function = "helper", .file = ""},
		{.function = "f", .file = "/src/a/main.c", .line = 5, .column = 10}};
	struct type_index_query query = {.frames = frames, .frame_count = 2};
	struct type_index_answer answer;

	CHECK(!type_index_find_stack(index, &query, &answer));
	frames[0].function = "__GI___malloc";
	CHECK(type_index_find_stack(index, &query, &answer));
	CHECK_STR(answer.type, "node");
	type_index_free(index);
}

TEST(garbage, "what is no index, or a damaged one, is refused with a reason")
{
	static const char *const bad[] = {
		"",
		"\n",
		"text",
		"heapwise-types\n",
		"heapwise-types 3\ne\n",
		"heapwise-types 2\n",
		"heapwise-types 2\ne",
		"heapwise-types 2\ns\ne\n",
		"heapwise-types 2\nf\t1\t2\ne\n",
		"heapwise-types 2\nf\tx\t2\t/a\ne\n",
		"heapwise-types 2\ns\t0\t1\t1\t1\t2\tnn-\t0\tT\t\t\t\t\ne\n",
		"heapwise-types 2\nf\t1\t2\t/a\ns\t0\t9\t1\t1\t2\tnn-\t0\tT\t\t\t\t\ne\n",
		"heapwise-types 2\nf\t1\t2\t/a\ns\t0\t1\t1\t1\t2\tqq-\t0\tT\t\t\t\t\ne\n",
		"heapwise-types 2\nf\t1\t2\t/a\ns\t0\t99999999999\t1\t1\t2\tnn-\t0\tT\t\t\t\t\ne\n",
		"heapwise-types 2\nf\t1\t2\t/a\nu\t1\t/a\t0-4294967295\t\ne\n",
		"heapwise-types 2\nf\t1\t2\t/a\nu\t1\t/a\t0 0\t\ne\n",
		"heapwise-types 2\ne\nf\t1\t2\t/a\n",
	};
	struct strbuf text = {0};
	struct err err = {0};

	for (u32 i = 0; i < COUNT_OF(bad); i++) {
		if (type_index_parse(bad[i], strlen(bad[i]), &err))
			FAIL("'%s' was taken", bad[i]);
		CHECK(err.text[0] != 0);
	}
	for (u64 cut = 0; cut + 1 < sizeof small; cut++)
		CHECK(type_index_parse(small, cut, &err) == NULL);
	for (u64 at = 0; at + 1 < sizeof small; at++) { /* any byte may be anything */
		struct type_index *index;

		strbuf_clear(&text);
		strbuf_add(&text, small);
		text.text[at] = (char)(0x80 | (text.text[at] * 31));
		index = type_index_parse(text.text, text.count, &err);
		if (index)
			type_at(index, "/src/a/main.c", 5, 9, "make<>");
		type_index_free(index);
	}
	strbuf_release(&text);
}

TEST(bases, "the name of a function is found in its readable form")
{
	static const char *const rows[][2] = {
		{"malloc", "malloc"},
		{"void* ns::alloc<T>(int)", "alloc"},
		{"__GI___strdup", "strdup"},
		{"xmalloc.part.0", "xmalloc"},
		{"operator new(unsigned long)", "operator new"},
		{"Pool::operator new[](unsigned long)", "operator new"},
		{"(anonymous namespace)::get(char const*)", "get"},
		{"a<b<c>, d>::make<(e)3>() const", "make"},
		{"main::{lambda(int)#1}::operator()(int) const", ""},
		{"", ""},
		{"<<<", ""},
		{"f(", "f"},
	};
	struct strbuf out = {0};

	for (u32 i = 0; i < COUNT_OF(rows); i++) {
		function_base(rows[i][0], &out);
		CHECK_STR(strbuf_text(&out), rows[i][1]);
	}
	strbuf_release(&out);
}

TEST(patterns, "template arguments are put into a pattern, or there is no answer")
{
	static const char *const rows[][4] = {
		{"T", "make T", "A** make<A*>(int)", "A*"},
		{"V *", "make V;Pool T N", "Pool<Foo, 3>::make<long>(int)", "long *"},
		{"T", "make V;Pool T N", "Pool<Foo<a, b>, 3>::make<long>(int)", "Foo<a, b>"},
		{"Node<T, N>", "Pool T N", "Pool<x, 3>::f()", "Node<x, 3>"},
		{"T", "Pool T", "LargePool<int>::f()", ""},
		{"typename T::node", "Pool T", "Pool<x>::f()", ""},
		{"T", "Pool T", "Pool<", ""},
		{"T", "Pool T", "Pool<>::f()", ""},
		{"U", "Pool T U", "Pool<a>::f()", ""},
		{"T", "?", "f()", ""},
		{"T", "Pool U", "Pool<int>::f()", ""},
	};
	struct strbuf out = {0};

	for (u32 i = 0; i < COUNT_OF(rows); i++) {
		bool good = pattern_fill(rows[i][0], rows[i][1], rows[i][2], &out);

		CHECK_STR(good ? strbuf_text(&out) : "", rows[i][3]);
	}
	strbuf_release(&out);
}

TEST(locate, "the index is found beside the program and in folders above")
{
	struct strbuf path = {0};

	MUST("mkdir -p build/bin/deep/er other && touch build/" TYPE_INDEX_NAME);
	CHECK(type_index_locate(in_folder("build/bin/deep/er/program"), &path));
	CHECK_STR(path.text, in_folder("build/" TYPE_INDEX_NAME));
	CHECK(type_index_locate(in_folder("build/program"), &path));
	CHECK(!type_index_locate("program", &path));
	CHECK(!type_index_locate("", &path));
	strbuf_release(&path);
}
