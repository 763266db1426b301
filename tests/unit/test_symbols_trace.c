/* SPDX-License-Identifier: MIT
 * From the contexts of a trace to the symbols in it, with images, generations and missing files. */
#include "host/symbols/collect.h"
#include "host/symbols/resolve/resolve.h"
#include "symbols_tools.h"
#include "host/trace/reader.h"
#include "host/trace/writer.h"

enum { BASE_A = 0x10000000, BASE_B = 0x20000000 };

/* Tells the stream of a small recording to a sink. */
struct teller {
	struct stream_sink sink;
	u32 contexts;
};

static void must(int result, const struct err *err)
{
	if (result)
		FAIL("%s", err->text);
}

static void tell_image(struct teller *self, u32 number, const char *program)
{
	struct stream_image image = { .pid = 10, .number = number, .program = program,
				      .command = "" };
	struct err err;

	self->contexts = 0;
	must(self->sink.image(self->sink.self, &image, &err), &err);
}

static void tell_module(struct teller *self, u32 id, u32 generation, u64 base, const char *path)
{
	struct stream_module module = { .id = id, .generation = generation, .base = base,
					.start = base, .end = base + 0x100000, .path = path };
	struct err err;

	must(self->sink.module(self->sink.self, &module, &err), &err);
}

/* The number of the new context. */
static u32 tell_context(struct teller *self, u32 parent, u64 pc)
{
	struct stream_context context = { .id = ++self->contexts, .parent = parent, .pc = pc };
	struct err err;

	must(self->sink.contexts(self->sink.self, &context, 1, &err), &err);
	return context.id;
}

static void tell_end(struct teller *self, u32 how)
{
	struct stream_image_end end = { .how = how };
	struct err err;

	if (self->sink.image_end)
		must(self->sink.image_end(self->sink.self, &end, &err), &err);
}

static u64 symbol_address(const char *path, const char *name)
{
	struct code_symbols symbols = code_symbols(path, SHT_SYMTAB);
	u64 address = 0;

	for (u64 i = 0; i < symbols.count; i++)
		if (!strcmp(symbols.data[i].name, name))
			address = symbols.data[i].start;
	vec_release(&symbols);
	if (!address)
		FAIL("%s has no %s", path, name);
	return address;
}

/* Two libraries, a recording that loads the second into the place of the first, and an exec. */
struct recording {
	char first[512], second[512];
	u64 in_first, in_second; /* addresses of visible() and of weigh() in their files */
};

static void build_recording(struct recording *self)
{
	snprintf(self->first, sizeof(self->first), "%s", in_folder("first.so"));
	snprintf(self->second, sizeof(self->second), "%s", in_folder("second.so"));
	MUST("gcc -O0 -g -shared -fPIC -o first.so " TARGETS "/symbols_plain.c"
	     " && echo 'int pad(void) { return 0; } int weigh(int x) { return x * 2; }' >second.c"
	     " && gcc -O0 -shared -fPIC -o second.so second.c");
	self->in_first = symbol_address(self->first, "visible");
	self->in_second = symbol_address(self->second, "weigh");
}

static void tell_recording(struct teller *self, const struct recording *recording)
{
	u32 root, parent;

	tell_image(self, 0, recording->second);
	tell_module(self, 0, 0, BASE_A, recording->first);
	tell_module(self, 1, 0, BASE_B, ""); /* the program itself */
	parent = tell_context(self, 0, BASE_B + recording->in_second + 1);
	tell_context(self, parent, BASE_A + recording->in_first + 1);
	tell_context(self, parent, BASE_A + recording->in_first + 1); /* the same frame once more */
	tell_context(self, parent, 0x7000);                           /* nowhere */
	tell_module(self, 2, 1, BASE_A, recording->second);
	root = tell_context(self, 0, 1);
	tell_context(self, root, BASE_A + recording->in_second + 1);
	tell_end(self, IMAGE_EXEC);
	tell_image(self, 1, in_folder("absent"));
	tell_module(self, 0, 0, BASE_A, "");
	tell_module(self, 1, 0, BASE_B, recording->first);
	tell_context(self, 0, BASE_A + 0x1234);
	tell_context(self, 0, BASE_B + recording->in_first + 1);
	tell_end(self, IMAGE_EXITED);
}

TEST(collected, "addresses are gathered once per file, with each image and module that uses them")
{
	struct recording recording;
	struct collect collect = { 0 };
	struct teller teller = { .sink = collect_sink(&collect) };
	struct err err;
	u64 files[3] = { 0 };

	build_recording(&recording);
	tell_recording(&teller, &recording);
	must(collect_finish(&collect, &err), &err);
	CHECK_EQ(collect.files.count, 3);
	CHECK_EQ(collect.wanted.count, 5);
	for (u64 i = 0; i < collect.wanted.count; i++) {
		const struct wanted *wanted = &collect.wanted.data[i];
		const char *path = collect.files.data[wanted->file].path;

		CHECK(i == 0 || wanted->file >= wanted[-1].file);
		if (!strcmp(path, recording.first) && ++files[0])
			CHECK_EQ(wanted->address, recording.in_first);
		else if (!strcmp(path, recording.second) && ++files[1])
			CHECK_EQ(wanted->address, recording.in_second);
		else if (!strcmp(path, in_folder("absent")) && ++files[2])
			CHECK_EQ(wanted->address, 0x1233);
	}
	CHECK_EQ(files[0], 2);
	CHECK_EQ(files[1], 2);
	CHECK_EQ(files[2], 1);
	collect_release(&collect);
}

static const char *function_of(const struct symbol_table *table, u32 image, u32 module, u64 address)
{
	const struct symbol_entry *entry = symbol_table_find(table, image, module, address);

	return entry && entry->frame_count ? entry->frames[0].function : "(none)";
}

static void write_trace(const char *path, const struct recording *recording)
{
	struct trace_writer_options options = { 0 };
	struct err err;
	struct trace_writer *writer = trace_writer_open(path, &options, &err);
	struct teller teller;

	if (!writer)
		FAIL("%s", err.text);
	teller.sink = trace_writer_sink(writer);
	tell_recording(&teller, recording);
	must(trace_writer_close(writer, &err), &err);
}

static void note_progress(void *self, double share)
{
	*(double *)self = share;
}

TEST(resolved, "a trace is resolved by module, generation and image, and keeps the result")
{
	struct recording recording;
	struct symbolize_summary summary;
	struct symbol_table table;
	double share = 0;
	struct symbolize_options options = { .progress = note_progress, .progress_self = &share };
	const char *path = in_folder("trace");
	const struct symbol_entry *entry;
	struct err err;

	build_recording(&recording);
	write_trace(path, &recording);
	must(symbols_resolve_trace(path, &options, &summary, &err), &err);
	CHECK_EQ(summary.addresses, 5);
	CHECK_EQ(summary.named, 4);
	CHECK_EQ(summary.with_lines, 2);
	CHECK_EQ(summary.modules, 3);
	CHECK_EQ(summary.modules_missing, 1);
	CHECK_EQ(summary.modules_stripped, 0);
	CHECK(share == 1.0);
	must(trace_read_symbols(path, &table, &err), &err);
	CHECK_EQ(table.count, 4);
	CHECK_STR(function_of(&table, 0, 0, recording.in_first), "visible");
	CHECK_STR(function_of(&table, 0, 1, recording.in_second), "weigh");
	CHECK_STR(function_of(&table, 0, 2, recording.in_second), "weigh");
	CHECK_STR(function_of(&table, 1, 1, recording.in_first), "visible");
	CHECK_STR(function_of(&table, 1, 0, 0x1233), "(none)");
	entry = symbol_table_find(&table, 0, 0, recording.in_first);
	CHECK(entry && strstr(entry->frames[0].file, "symbols_plain.c") != NULL);
	CHECK(entry && entry->frames[0].line > 0);
	symbol_table_release(&table);
}

TEST(resolved_again, "a trace whose files are gone keeps the symbols of an earlier time")
{
	struct recording recording;
	struct symbolize_summary summary;
	struct symbol_table table;
	const char *path = in_folder("trace");
	struct err err;

	build_recording(&recording);
	write_trace(path, &recording);
	must(symbols_resolve_trace(path, NULL, NULL, &err), &err);
	MUST("rm first.so second.so");
	must(symbols_resolve_trace(path, NULL, &summary, &err), &err);
	CHECK_EQ(summary.named, 0);
	CHECK_EQ(summary.modules_missing, 3);
	must(trace_read_symbols(path, &table, &err), &err);
	CHECK_STR(function_of(&table, 0, 0, recording.in_first), "visible");
	symbol_table_release(&table);
}

TEST(no_trace, "a file that is no trace is an error with words")
{
	struct err err = { 0 };

	MUST("echo no trace >text");
	CHECK(symbols_resolve_trace(in_folder("text"), NULL, NULL, &err) < 0);
	CHECK(strlen(err.text) > 5);
	CHECK(symbols_resolve_trace(in_folder("none"), NULL, NULL, &err) < 0);
}
