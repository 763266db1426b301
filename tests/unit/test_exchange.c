/* SPDX-License-Identifier: MIT
 * EMAD's text form: the paper's Listing 4, texts that come back as they were, lines that do not fit,
 * and a recording of our own as such a text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/analysis/emad/callgraph.h"
#include "host/base/io.h"
#include "show/formats/emad.h"
#include "show/formats/export.h"
#include "lib/test.h"
#include "host/trace/writer.h"

static const char listing4[] = "0 19 start main\n"
			       "0 20 start Initialize\n"
			       "0 22 start malloc 32\n"
			       "0 22 exit malloc 842c008 141677579\n"
			       "0 20 exit Initialize\n"
			       "0 34 start operation1\n"
			       "0 22 start malloc 64\n"
			       "0 22 exit malloc 9786cd0 14167757886\n"
			       "0 35 start operation2\n"
			       "0 23 start free 9786cd0\n"
			       "0 23 exit free 14167757928\n"
			       "0 23 start free 842c008\n"
			       "0 23 exit free 14167757928\n"
			       "0 35 exit operation2\n"
			       "0 34 exit operation1\n"
			       "0 19 exit main\n";

/* What stands in a trace, loaded. */
struct opened {
	char path[4096];
	struct model *model;
	struct symbol_table symbols;
};

static const char *file(const char *name)
{
	static char path[4][4096];
	static u32 next;
	char *one = path[next++ % 4];

	snprintf(one, sizeof(path[0]), "%s/%s", test_folder(), name);
	return one;
}

static void write_text(const char *path, const char *text)
{
	struct err err = {0};

	if (io_write_file(path, text, strlen(text), &err) < 0)
		FAIL("%s", err.text);
}

static int import(const char *text, struct emad_summary *summary, struct err *err)
{
	struct emad_import how = {.from = file("in.txt"), .to = file("out.hwt"), .tick_ns = 1};

	write_text(how.from, text);
	return emad_import(&how, summary, err);
}

static void open_trace(struct opened *self, const char *path)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct err err = {0};

	memset(self, 0, sizeof(*self));
	snprintf(self->path, sizeof(self->path), "%s", path);
	self->model = model_new();
	if (!self->model || model_load(self->model, path, &how, NULL, &err) < 0 ||
	    trace_read_symbols(path, &self->symbols, &err) < 0)
		FAIL("%s", err.text);
}

static void close_trace(struct opened *self)
{
	model_free(self->model);
	symbol_table_release(&self->symbols);
}

/* The trace as text, to be freed. */
static char *export(const struct opened *self)
{
	struct export_job job = {.path = self->path,
				 .stacks = {.model = self->model, .symbols = &self->symbols}};
	struct err err = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out || emad_export(&job, out, &err) < 0)
		FAIL("%s", err.text);
	fclose(out);
	return text;
}

static void check_same(const char *text, const char *what)
{
	struct emad_summary summary;
	struct opened trace;
	struct err err = {0};
	char *back;

	if (import(text, &summary, &err) < 0)
		FAIL("%s: %s", what, err.text);
	open_trace(&trace, file("out.hwt"));
	back = export(&trace);
	if (strcmp(back, text) != 0)
		FAIL("%s comes back as\n%.2000s", what, back);
	free(back);
	close_trace(&trace);
}

/* Edges with names, in the order of the table: most calls first. */
static void graph_text(const struct opened *trace, char *text, size_t room)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	static struct routine_graph routines;
	struct stream_sink sink = routine_graph_sink(&routines);
	struct callgraph graph = {0};
	struct err err = {0};
	struct trace_reader *reader = trace_open(trace->path, &err);

	if (!reader || trace_read(reader, &how, &sink, &err) < 0 ||
	    callgraph_of_routines(&graph, &routines, &trace->symbols, &err) < 0)
		FAIL("%s", err.text);
	text[0] = 0;
	for (u64 i = 0; i < graph.edges.count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, room - used, "%s -> %s %" PRIu64 "\n",
			 graph.nodes.data[graph.edges.data[i].caller].name,
			 graph.nodes.data[graph.edges.data[i].callee].name,
			 graph.edges.data[i].calls);
	}
	callgraph_release(&graph);
	routine_graph_release(&routines);
	trace_close(reader);
}

TEST(listing4, "Listing 4 gives exactly Figure 2's graph, and comes back as it was")
{
	struct emad_summary summary;
	struct opened trace;
	struct err err = {0};
	char text[4096];

	check_same(listing4, "Listing 4");
	if (import(listing4, &summary, &err) < 0)
		FAIL("%s", err.text);
	CHECK_EQ(summary.messages, 16);
	CHECK_EQ(summary.routines, 6);
	CHECK_EQ(summary.threads, 1);
	open_trace(&trace, file("out.hwt"));
	graph_text(&trace, text, sizeof(text));
	CHECK_STR(text, "operation2 -> free 2\n"
			"main -> Initialize 1\n"
			"main -> operation1 1\n"
			"Initialize -> malloc 1\n"
			"operation1 -> malloc 1\n"
			"operation1 -> operation2 1\n");
	close_trace(&trace);
}

TEST(chunks, "allocations have the size of the start, the address and the time of the exit, and their callers")
{
	struct emad_summary summary;
	const struct chunk_page *page;
	struct opened trace;
	struct err err = {0};

	if (import(listing4, &summary, &err) < 0)
		FAIL("%s", err.text);
	open_trace(&trace, file("out.hwt"));
	CHECK_EQ(trace.model->chunks.count, 2);
	page = trace.model->chunks.pages.data[0];
	CHECK_EQ(page->size[0], 32);
	CHECK_EQ(page->address[0], 0x842c008);
	CHECK_EQ(page->alloc_ticks[0], 141677579);
	CHECK_EQ(page->size[1], 64);
	CHECK_EQ(page->alloc_ticks[1], 14167757886);
	CHECK_EQ(page->free_ticks[1], 14167757928);
	CHECK_EQ(trace.model->totals.live_chunks, 0);
	CHECK_EQ(trace.model->points.count, 2);
	CHECK_EQ(trace.model->strange_events, 0);
	CHECK_EQ(trace.model->end.totals.allocations, 2);
	CHECK_EQ(trace.model->end.totals.peak_bytes, 96);
	close_trace(&trace);
}

static const struct same {
	const char *what, *text;
	u64 allocations, frees, unknown, repeated;
} texts[] = {
	{"an empty text", "", 0, 0, 0, 0},
	{"a size of 0, a block at the same place again",
	 "1 2 start operator new[](unsigned long) 0\n"
	 "1 2 exit operator new[](unsigned long) ff0 5\n"
	 "1 3 start operator delete[](void*) ff0\n"
	 "1 3 exit operator delete[](void*) 6\n"
	 "1 2 start operator new[](unsigned long) 0\n"
	 "1 2 exit operator new[](unsigned long) ff0 7\n",
	 2, 1, 0, 0},
	{"names with spaces, commas and words that could be numbers",
	 "7 1 start std::map<int, int>::add\n"
	 "7 5 start thunk to add\n"
	 "7 5 exit thunk to add\n"
	 "7 1 exit std::map<int, int>::add\n"
	 "7 6 start add\n"
	 "7 6 exit add\n",
	 0, 0, 0, 0},
	{"a wrapper that tells its block a second time",
	 "0 1 start operator new 8\n"
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc a0 10\n"
	 "0 1 exit operator new a0 11\n"
	 "0 3 start operator delete a0\n"
	 "0 4 start free a0\n"
	 "0 4 exit free 12\n"
	 "0 3 exit operator delete 13\n",
	 1, 1, 0, 2},
	{"a tail call: the exit of the wrapper is missing",
	 "0 9 start main\n"
	 "0 1 start operator new 8\n"
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc a0 10\n"
	 "0 1 start operator new 8\n"
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc b0 11\n"
	 "0 9 exit main\n",
	 2, 0, 0, 0},
	{"an allocator that gives nothing, a free of nothing",
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc 0 10\n"
	 "0 3 start free 0\n"
	 "0 3 exit free 11\n",
	 0, 0, 0, 0},
	{"a free of a block that nobody allocated, an allocation whose free is missing",
	 "0 3 start free abc\n"
	 "0 3 exit free 3\n"
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc 10 4\n"
	 "0 7 start f\n"
	 "0 2 start malloc 8\n"
	 "0 2 exit malloc 20 5\n"
	 "0 2 start malloc 9\n"
	 "0 2 exit malloc 10 6\n",
	 3, 1, 1, 0},
	{"exits of what did not begin",
	 "0 2 exit malloc 10 4\n"
	 "0 3 exit free 5\n"
	 "0 1 exit main\n",
	 1, 0, 0, 0},
	{"times that go back and forth between threads",
	 "10 2 start malloc 8\n"
	 "4294967295 2 start malloc 9\n"
	 "10 2 exit malloc 10 1000\n"
	 "4294967295 2 exit malloc 20 3\n"
	 "10 3 start free 20\n"
	 "10 3 exit free 18446744073709551615\n",
	 2, 1, 0, 0},
	{"the largest numbers",
	 "0 4294967295 start malloc 18446744073709551614\n"
	 "0 4294967295 exit malloc ffffffffffffffff 18446744073709551615\n",
	 1, 0, 0, 0},
	{"an allocator of which no exit is there", "0 1 start pool_get 12\n0 2 start pool_free ab\n", 0,
	 0, 0, 0},
};

TEST(same, "texts come back as they were, and are counted")
{
	for (u32 i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct same *row = &texts[i];
		struct emad_summary summary;
		struct err err = {0};

		if (*row->text)
			check_same(row->text, row->what);
		if (import(row->text, &summary, &err) < 0)
			FAIL("%s: %s", row->what, err.text);
		if (summary.allocations != row->allocations || summary.frees != row->frees ||
		    summary.unknown_frees != row->unknown || summary.repeated != row->repeated)
			test_check(false, __FILE__, __LINE__,
				   "%s: %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
				   " unknown, %" PRIu64 " repeated",
				   row->what, summary.allocations, summary.frees,
				   summary.unknown_frees, summary.repeated);
	}
}

/* ---- random texts ---- */

static u64 random_state = 1234567;

static u32 draw(u32 below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)(random_state >> 11) % below;
}

TEST(random_texts, "random texts, with missing and strange exits in several threads, come back as they were")
{
	static const char *const names[] = {"main", "a b", "operator delete", "f(int, char)", "dead",
					    "x::y<z >", "g", "h"};

	for (u32 round = 0; round < 20; round++) {
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		u64 now = 100, block = 16;

		for (u32 i = 0; i < 3000; i++) {
			u32 thread = draw(3), which = draw(8), what = draw(10);

			if (what < 4)
				fprintf(out, "%u %u start %s\n", thread, 100 + which, names[which]);
			else if (what < 7)
				fprintf(out, "%u %u exit %s\n", thread, 100 + which, names[which]);
			else if (what < 9)
				fprintf(out,
					"%u 5 start malloc %u\n%u 5 exit malloc %" PRIx64 " %" PRIu64 "\n",
					thread, draw(1000), thread,
					draw(3) ? block += 16 : 16 * draw(200), now += draw(9));
			else
				fprintf(out, "%u 6 start free %x\n%u 6 exit free %" PRIu64 "\n",
					thread, 16 * draw(200), thread, now += draw(9));
		}
		fclose(out);
		check_same(text, "a random text");
		free(text);
	}
}

/* ---- lines that do not fit ---- */

static const struct {
	const char *text, *says;
} bad[] = {
	{"main\n", "line 1: expected a thread number at the start of the line, not 'main'"},
	{"0\n", "line 1: expected a routine number after the thread, not ''"},
	{"0 19 start main\n\n0 x start f\n", "line 3: expected a routine number after the thread, not 'x'"},
	{"0 19 begin main\n", "line 1: expected 'start' or 'exit' after the routine, not 'begin'"},
	{"0 19 start\n", "line 1: the name of the routine is missing"},
	{"0 4294967296 start f\n", "line 1: expected a routine number after the thread"},
	{"-1 1 start f\n", "line 1: expected a thread number at the start of the line"},
	{"0 1 start f\n0 1 exit g\n", "line 2: routine 1 is 'g' here, but 'f' in line 1"},
	{"0 1 start malloc 8\n0 1 exit malloc zz 5\n",
	 "line 2: expected nothing, a time, or an address and a time after the name of an exit, not 'zz 5'"},
	{"0 1 start malloc 8\n0 1 exit malloc 10 1f\n", "line 2: expected nothing, a time, or an address and a time after the name of an exit"},
	{"0 1 start malloc 8\n0 1 exit malloc 10 5 6\n", "line 2: expected nothing, a time, or an address and a time after the name of an exit"},
	{"0 1 start malloc 8\n0 1 exit malloc 10 99999999999999999999\n", "line 2: expected nothing, a time, or an address and a time after the name of an exit"},
	{"0 1 start malloc 8f\n0 1 exit malloc 10 5\n",
	 "line 1: the size that malloc allocates is not a decimal number"},
	{"0 1 start malloc 8\n0 1 start malloc 8 9\n0 1 exit malloc 10 5\n",
	 "line 2: expected nothing, a size or an address after the name of a start"},
	{"0 1 start malloc 8\n0 1 exit malloc 10 5\n0 1 exit malloc 5\n",
	 "line 3: routine 1 (malloc) frees here, but not in earlier lines"},
	{"0 1 start f\n0 1 start f 18446744073709551615\n", "line 2: expected nothing, a size or an address after the name of a start"},
};

TEST(bad_lines, "a line that does not fit is told by its number in one sentence, and nothing is written")
{
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct emad_summary summary;
		struct err err = {0};

		unlink(file("out.hwt"));
		if (!test_check(import(bad[i].text, &summary, &err) == ERR_INPUT, __FILE__, __LINE__,
				"%s is refused", bad[i].text))
			continue;
		test_check(strstr(err.text, bad[i].says) != NULL, __FILE__, __LINE__,
			   "'%s' says '%s'", err.text, bad[i].says);
		CHECK(access(file("out.hwt"), F_OK) != 0);
	}
}

TEST(bad_files, "an old trace survives a bad text; a text cannot be its own trace; what cannot be read or written is said")
{
	struct emad_import how = {.from = file("a.txt"), .to = file("kept.hwt"), .tick_ns = 1};
	struct emad_summary summary;
	struct strbuf text = {0};
	struct err err = {0};

	write_text(how.from, "nonsense\n");
	write_text(how.to, "precious");
	CHECK_EQ(emad_import(&how, &summary, &err), ERR_INPUT);
	CHECK_EQ(io_read_file(how.to, 100, &text, &err), 0);
	CHECK_STR(strbuf_text(&text), "precious");
	strbuf_release(&text);
	write_text(how.from, listing4);
	how.to = how.from;
	CHECK_EQ(emad_import(&how, &summary, &err), ERR_USAGE);
	how.to = "/no/such/folder/x";
	CHECK_EQ(emad_import(&how, &summary, &err), ERR_INPUT);
	CHECK(strstr(err.text, "/no/such/folder/x"));
	how.from = "/no/such/text";
	CHECK_EQ(emad_import(&how, &summary, &err), ERR_INPUT);
	CHECK(strstr(err.text, "/no/such/text"));
	how.from = "/";
	CHECK_EQ(emad_import(&how, &summary, &err), ERR_INPUT);
}

TEST(random_bytes, "bytes that are no text are refused without harm")
{
	for (u32 round = 0; round < 200; round++) {
		struct emad_import how = {.from = file("in.txt"), .to = file("out.hwt"), .tick_ns = 1};
		struct emad_summary summary;
		struct err err = {0};
		char bytes[600];

		memcpy(bytes, listing4, sizeof(listing4));
		for (u32 i = 0; i < 1 + round % 8; i++)
			bytes[draw(sizeof(listing4) - 1)] =
				draw(3) ? "0123456789abcdef \n\tx"[draw(20)] : (char)draw(256);
		if (io_write_file(how.from, bytes, sizeof(listing4) - 1, &err) < 0)
			FAIL("%s", err.text);
		if (emad_import(&how, &summary, &err) < 0)
			CHECK(strstr(err.text, "line "));
	}
}

/* ---- a recording of our own ---- */

static void tell_recording(const char *path)
{
	struct err err = {0};
	struct trace_writer *writer = trace_writer_open(path, NULL, &err);
	struct stream_sink sink = writer ? trace_writer_sink(writer) : (struct stream_sink){0};
	static const struct stream_routine rows[] = {
		{.ticks = 1010, .address = 0x4010, .step = ROUTINE_ENTER},
		{.ticks = 1020, .address = 0x4020, .value = 0x4015, .step = ROUTINE_ENTER},
		{.ticks = 1030, .address = 0xabc0, .value = 24, .how = HW_NEW, .step = ROUTINE_ALLOCATION},
		{.ticks = 1040, .address = 0x4020, .step = ROUTINE_LEAVE},
		{.ticks = 1050, .address = 0xabc0, .how = HW_DELETE, .step = ROUTINE_FREE},
		{.ticks = 1060, .address = 0x9999, .step = ROUTINE_LEAVE},
		{.ticks = 1070, .address = 0x4010, .step = ROUTINE_LEAVE},
	};
	struct symbol_frame frame = {.function = "main\n", .file = ""};
	struct symbol_entry entry = {.address = 0x10, .frames = &frame, .frame_count = 1};

	if (!writer)
		FAIL("%s", err.text);
	sink.image(sink.self, &(struct stream_image){.start_ticks = 1000, .program = "p", .command = "p"},
		   &err);
	sink.module(sink.self,
		    &(struct stream_module){.base = 0x4000, .start = 0x4000, .end = 0x5000,
					    .path = "/bin/p"},
		    &err);
	sink.thread(sink.self, &(struct stream_thread){.tid = 77}, &err);
	sink.clock(sink.self, &(struct stream_clock){.ticks = 2000, .ns = 2000}, &err);
	sink.routines(sink.self, rows, sizeof(rows) / sizeof(rows[0]), &err);
	sink.image_end(sink.self, &(struct stream_image_end){.ticks = 2000}, &err);
	if (trace_writer_close(writer, &err) < 0 || trace_write_symbols(path, &entry, 1, &err) < 0)
		FAIL("%s", err.text);
}

TEST(own, "in a recording of our own the allocator's functions become routines, and times are nanoseconds")
{
	struct emad_summary summary;
	struct opened trace;
	struct err err = {0};
	char *text;

	tell_recording(file("own.hwt"));
	open_trace(&trace, file("own.hwt"));
	text = export(&trace);
	CHECK_STR(text, "77 1 start main?\n"
			"77 2 start p+0x20\n"
			"77 3 start operator new 24\n"
			"77 3 exit operator new abc0 60\n"
			"77 2 exit p+0x20\n"
			"77 4 start operator delete abc0\n"
			"77 4 exit operator delete 100\n"
			"77 5 exit 0x9999\n"
			"77 1 exit main?\n");
	CHECK_EQ(import(text, &summary, &err), 0);
	CHECK_EQ(summary.allocations, 1);
	check_same(text, "what was exported");
	free(text);
	close_trace(&trace);
}

TEST(nothing, "a trace without routines cannot be exported as such, and says so")
{
	struct export_job job = {0};
	struct opened trace;
	struct err err = {0};
	struct emad_summary summary;

	CHECK_EQ(import("", &summary, &err), 0);
	open_trace(&trace, file("out.hwt"));
	job = (struct export_job){.path = trace.path,
				  .stacks = {.model = trace.model, .symbols = &trace.symbols}};
	CHECK_EQ(emad_export(&job, stdout, &err), ERR_INPUT);
	CHECK(strstr(err.text, "has no routine events"));
	close_trace(&trace);
}
