/* SPDX-License-Identifier: MIT
 * When it is said that functions have no names, and of which modules. */
#include "host/symbols/remedy.h"
#include "study/analysis/findings/unnamed.h"
#include "study/analysis/places/folds.h"
#include "unit/test_access.h"

enum { LIBSTDCXX_BASE = 0x300000 };

struct program {
	struct feed feed;
	struct symbol_frame frames[2];
	struct symbol_entry entries[2];
	struct symbol_table symbols;
	struct stack_source source;
	struct strbuf text;
};

/* Context 1 is main, 2 a function without a name that main calls, 3 one of a library, 4 one of the C++ library alone. */
static void begin(struct program *self)
{
	*self = (struct program){.feed = feed_new()};
	tell_functions(&self->feed, 1);
	tell_module(&self->feed, 2, LIBSTDCXX_BASE, 0, "/nowhere/libstdc++.so.6");
	tell_context(&self->feed, 2, 1, pc_of(PROGRAM_BASE, 7));
	tell_context(&self->feed, 3, 1, pc_of(LIBRARY_BASE, 7));
	tell_context(&self->feed, 4, 0, pc_of(LIBSTDCXX_BASE, 7));
}

static bool advice_with(struct program *self, bool packages)
{
	static const char *const names[] = {"main", "xmalloc"};

	end_at(&self->feed, 100000);
	self->symbols = named_table(names, 2, self->frames, self->entries);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
	return unnamed_advice(&self->source, packages, &self->text);
}

static bool advice(struct program *self) { return advice_with(self, false); }

static void release(struct program *self)
{
	strbuf_release(&self->text);
	model_free(self->feed.model);
}

TEST(modules, "modules with bytes that have no names are told with their shares, most first")
{
	struct program program;

	begin(&program);
	tell_alloc(&program.feed, HW_MALLOC, 1, 500);
	tell_alloc(&program.feed, HW_MALLOC, 2, 100);
	tell_alloc(&program.feed, HW_MALLOC, 3, 400);
	CHECK(advice(&program));
	CHECK_EQ(strncmp(strbuf_text(&program.text), "no function names for 50.0 % of the bytes: libhelp.so.1 (40.0 %, not found), prog (10.0 %, not found). "
						     "Remedy: restore /usr/lib/libhelp.so.1, then run 'heapwise trace symbolize FILE'; ", 150), 0);
	release(&program);
}

static bool has_package(const char *path)
{
	const struct symbolizer_module module = {.path = path};
	struct remedy remedy;

	remedy_find("", &module, 1, &remedy);
	return *remedy.install;
}

TEST(packages, "a package that has two modules is installed once")
{
	struct program program;
	const char *named;

	if (!has_package("/usr/bin/sort") || !has_package("/usr/bin/tac"))
		test_skip("dpkg lists no stripped programs of this CPU here");
	begin(&program);
	tell_module(&program.feed, 3, 0x400000, 0, "/usr/bin/sort");
	tell_module(&program.feed, 4, 0x500000, 0, "/usr/bin/tac");
	tell_context(&program.feed, 5, 0, pc_of(0x400000, 7));
	tell_context(&program.feed, 6, 0, pc_of(0x500000, 7));
	tell_alloc(&program.feed, HW_MALLOC, 5, 500);
	tell_alloc(&program.feed, HW_MALLOC, 6, 400);
	CHECK(advice_with(&program, true));
	named = strstr(strbuf_text(&program.text), "coreutils-dbgsym");
	CHECK(named && !strstr(named + 1, "coreutils-dbgsym"));
	release(&program);
}

TEST(few, "a tenth of the bytes is not worth a sentence")
{
	struct program program;

	begin(&program);
	tell_alloc(&program.feed, HW_MALLOC, 1, 900);
	tell_alloc(&program.feed, HW_MALLOC, 2, 100);
	CHECK(!advice(&program));
	CHECK_EQ(program.text.count, 0);
	release(&program);
}

TEST(foreign, "what the C++ library requests for itself does not count")
{
	struct program program;

	begin(&program);
	tell_alloc(&program.feed, HW_MALLOC, 1, 1000);
	tell_alloc(&program.feed, HW_MALLOC, 4, 72704);
	CHECK(!advice(&program));
	release(&program);
}

TEST(folded, "the share does not depend on the wrappers that the user folds")
{
	struct program program;
	struct folds none = {0};

	begin(&program);
	tell_context(&program.feed, 5, 2, pc_of(PROGRAM_BASE, 2)); /* xmalloc, called by who has no name */
	tell_alloc(&program.feed, HW_MALLOC, 1, 500);
	tell_alloc(&program.feed, HW_MALLOC, 5, 500);
	CHECK(advice(&program));
	CHECK_EQ(strncmp(strbuf_text(&program.text), "no function names for 50.0 % ", 29), 0);
	program.source.folds = &none; /* --no-fold */
	strbuf_release(&program.text);
	CHECK(unnamed_advice(&program.source, false, &program.text));
	CHECK_EQ(strncmp(strbuf_text(&program.text), "no function names for 50.0 % ", 29), 0);
	release(&program);
}
