/* SPDX-License-Identifier: MIT
 * Names that GNAT gives to what is in packages. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "host/symbols/ada_names.h"
#include "host/symbols/demangle.h"

static const struct {
	const char *linker_name, *readable;
} rows[] = {
	{"a__leak", "a.leak"},
	{"a__leak__nested", "a.leak.nested"},
	{"a__leak__nested.48", "a.leak.nested"},
	{"_ada_leaks", "leaks"},
	{"a__inner__Oadd", "a.inner.\"+\""},
	{"a__numbers__Oconcat__2X", "a.numbers.\"&\""},
	{"a__numbers__append__3X", "a.numbers.append"},
	{"a__numbers__find_indexXnb", "a.numbers.find_index"},
	{"a__worker__runTKB", "a.worker.run"},
	{"a___elabb", "a'elab_body"},
	{"system__standard_library__adafinal", "system.standard_library.adafinal"},
	{"a__ordered", "a.ordered"},
	{"a__nodeIP", "a.nodeIP"},
	{"main", "main"},
	{"_", "_"},
	{"__", "__"},
	{"a__", "a__"},
	{"a__3", "a"},
	{"X", ""},
	{"", ""},
};

TEST(decode, "names of GNAT become those that people wrote")
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strbuf got = {0};

		ada_name_add(&got, rows[i].linker_name);
		CHECK_STR(strbuf_text(&got), rows[i].readable);
		strbuf_release(&got);
	}
}

TEST(hostile, "names that are cut anywhere are decoded, and nothing breaks")
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t bytes = 0; bytes <= strlen(rows[i].linker_name); bytes++) {
			char *cut = strndup(rows[i].linker_name, bytes);
			struct strbuf got = {0};

			ada_name_add(&got, cut);
			ada_is_possible(cut);
			strbuf_release(&got);
			free(cut);
		}
}

TEST(which, "without debug info only Ada's own units are certain, and what has two underscores in it possible")
{
	char *text = demangle("ada__text_io__put_line");

	CHECK_STR(text, "ada.text_io.put_line");
	free(text);
	CHECK(ada_is_certain("_ada_leaks"));
	CHECK(!ada_is_certain("a__leak"));
	CHECK(!ada_is_certain("adainit"));
	CHECK(ada_is_possible("a__leak"));
	CHECK(!ada_is_possible("__libc_start_main"));
	CHECK(!ada_is_possible("main"));
	CHECK(!ada_is_possible("f__x@plt"));
	CHECK(!demangle("a__leak"));
}
