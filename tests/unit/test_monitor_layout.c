/* SPDX-License-Identifier: MIT
 * Which layouts of memory Heapwise's heap can be had on, and what is said where it cannot. */
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/program/layout.h"

TEST(layouts, "a heap that cannot be had is refused, with the reason")
{
	static const struct {
		struct layout layout;
		const char *says; /* NULL: it can be had */
	} rows[] = {
		{{4096, 47}, NULL},
		{{4096, 48}, NULL},
		{{4096, 52}, NULL},
		{{16384, 47}, "16 KiB"},
		{{65536, 48}, "64 KiB"},
		{{65536, 39}, "64 KiB"},
		{{4096, 39}, "39 bits"},
		{{4096, 42}, "42 bits"},
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		int status = layout_check(&rows[i].layout, &err);

		CHECK_EQ(status < 0, rows[i].says != NULL);
		if (rows[i].says && !strstr(err.text, rows[i].says))
			FAIL("'%s' does not say %s", err.text, rows[i].says);
		if (rows[i].says)
			CHECK(strstr(err.text, "--access off") != NULL);
	}
}

TEST(machine, "the machine's own layout is what the kernel says and addresses show")
{
	struct layout layout = layout_of_machine();

	CHECK_EQ(layout.page_bytes, (u64)getpagesize());
	CHECK((u64)&layout >> (layout.address_bits - 1) == 1);
	CHECK(layout.address_bits >= 39 && layout.address_bits <= 57);
	CHECK(layout_heap_bits() == 46 || layout_heap_bits() == 47);
}
