/* SPDX-License-Identifier: MIT
 * The host's foundations: errors, arenas, vectors, texts, maps, units, files. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/arena.h"
#include "host/base/bytemap.h"
#include "host/base/err.h"
#include "host/base/io.h"
#include "host/base/library.h"
#include "host/base/map.h"
#include "host/base/parts.h"
#include "host/base/pattern.h"
#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "host/base/vec.h"
#include "lib/test.h"

TEST(err_text, "an error keeps its code and text, and takes prefixes")
{
	struct err err = {0};

	CHECK_EQ(err_set(&err, ERR_INPUT, "cannot open %s", "x"), ERR_INPUT);
	CHECK_EQ(err.code, ERR_INPUT);
	CHECK_STR(err.text, "cannot open x");
	CHECK_EQ(err_prefix(&err, "trace %d", 3), ERR_INPUT);
	CHECK_STR(err.text, "trace 3: cannot open x");
	CHECK_EQ(err_set(NULL, ERR_USAGE, "nobody listens"), ERR_USAGE);
}

TEST(err_long, "a text that is too long is cut, with and without a prefix")
{
	struct err err = {0};
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_INPUT, "%s", text);
	CHECK_EQ(strlen(err.text), sizeof(err.text) - 1);
	err_prefix(&err, "prefix");
	CHECK(strncmp(err.text, "prefix: xxx", 11) == 0);
	CHECK(strlen(err.text) < sizeof(err.text));
	err_prefix(&err, "%s", text);
	CHECK_EQ(strlen(err.text), sizeof(err.text) - 1);
}

TEST(arena_pieces, "pieces of an arena are zero, aligned, apart, and keep their bytes")
{
	struct arena arena = {0};
	u8 *pieces[1000];
	u64 wrong = 0;

	for (u32 i = 0; i < 1000; i++) {
		u64 bytes = i % 37 * (i % 11 ? 3 : 5000);

		pieces[i] = arena_alloc(&arena, bytes);
		wrong += !pieces[i] || (uintptr_t)pieces[i] % 16;
		for (u64 k = 0; k < bytes; k++)
			wrong += pieces[i][k] != 0;
		memset(pieces[i], (int)i, bytes);
	}
	for (u32 i = 0; i < 1000; i++) {
		u64 bytes = i % 37 * (i % 11 ? 3 : 5000);

		for (u64 k = 0; k < bytes; k++)
			wrong += pieces[i][k] != (u8)i;
	}
	CHECK_EQ(wrong, 0);
	arena_release(&arena);
	CHECK_EQ(arena.bytes, 0);
}

TEST(arena_copies, "an arena copies texts and refuses what cannot be")
{
	struct arena arena = {0};

	CHECK_STR(arena_copy(&arena, "text"), "text");
	CHECK_STR(arena_copy_text(&arena, "text and more", 4), "text");
	CHECK(arena_copy(&arena, NULL) == NULL);
	CHECK(arena_alloc(&arena, UINT64_MAX) == NULL);
	CHECK(arena_alloc(&arena, UINT64_MAX - 40) == NULL);
	CHECK(arena_alloc_array(&arena, UINT64_MAX / 8, 16) == NULL);
	CHECK_STR(arena_copy(&arena, "still usable"), "still usable");
	arena_release(&arena);
}

TEST(vec_growth, "a vector keeps its elements while it grows")
{
	VEC(u32) vec = {0};

	for (u32 i = 0; i < 10000; i++)
		CHECK(vec_push(&vec, i * 3));
	CHECK_EQ(vec.count, 10000);
	for (u32 i = 0; i < 10000; i++)
		CHECK_EQ(vec.data[i], i * 3);
	CHECK(vec_extend(&vec, 20000));
	CHECK_EQ(vec.data[9999], 9999 * 3);
	CHECK_EQ(vec.data[10000] | vec.data[19999], 0);
	CHECK(vec_extend(&vec, 5));
	CHECK_EQ(vec.count, 20000);
	vec_release(&vec);
	CHECK_EQ(vec.capacity, 0);
}

TEST(vec_overflow, "a vector that cannot grow says so and stays as it was")
{
	VEC(u64) vec = {0};

	CHECK(vec_push(&vec, 7));
	CHECK(!vec_reserve(&vec, UINT64_MAX));
	CHECK(!vec_reserve(&vec, UINT64_MAX / 8));
	CHECK(!vec_extend(&vec, UINT64_MAX / 2));
	CHECK_EQ(vec.count, 1);
	CHECK_EQ(vec.data[0], 7);
	vec_release(&vec);
}

TEST(strbuf_pieces, "a text is the sum of its pieces")
{
	struct strbuf buf = {0};
	char *taken;

	CHECK_STR(strbuf_text(&buf), "");
	strbuf_add(&buf, "a");
	strbuf_add_char(&buf, 'b');
	strbuf_addf(&buf, "%d-%s", 12, "c");
	strbuf_add_bytes(&buf, "\0z", 2);
	CHECK_EQ(buf.count, 8);
	CHECK(memcmp(buf.text, "ab12-c\0z", 9) == 0);
	strbuf_clear(&buf);
	for (u32 i = 0; i < 5000; i++)
		strbuf_addf(&buf, "%u,", i % 10);
	CHECK_EQ(buf.count, 10000);
	taken = strbuf_take(&buf);
	CHECK_EQ(strlen(taken), 10000);
	CHECK(buf.text == NULL);
	free(taken);
	taken = strbuf_take(&buf);
	CHECK_STR(taken, "");
	free(taken);
}

TEST(strbuf_failure, "a text that could not grow is incomplete until it is cleared")
{
	struct strbuf buf = {0};

	strbuf_add(&buf, "some");
	strbuf_add_bytes(&buf, "x", UINT64_MAX - 100);
	CHECK(buf.failed);
	strbuf_add(&buf, "thing");
	CHECK_STR(strbuf_text(&buf), "some");
	CHECK(strbuf_take(&buf) == NULL);
	strbuf_add(&buf, "anew");
	CHECK_STR(strbuf_text(&buf), "anew");
	strbuf_release(&buf);
}

/* The map against a plain array: every key of a small range, put and removed at random. */
TEST(map_random, "a map holds what was put and not what was removed")
{
	enum { KEYS = 300 };
	struct map map = {0};
	u64 want[KEYS] = {0}, random = 88172645463325252ull, wrong = 0;
	bool has[KEYS] = {false};

	for (u32 step = 0; step < 200000; step++) {
		u64 key, value;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		key = (random >> 33) % KEYS;
		if (random >> 60 < 9) {
			wrong += !map_put(&map, key * 4096, step);
			want[key] = step;
			has[key] = true;
		} else {
			bool was = map_remove(&map, key * 4096, &value);

			wrong += was != has[key] || (was && value != want[key]);
			has[key] = false;
		}
		key = random % KEYS;
		wrong += has[key] != (map_find(&map, key * 4096) != NULL);
		wrong += has[key] && *map_find(&map, key * 4096) != want[key];
	}
	CHECK_EQ(wrong, 0);
	map_release(&map);
}

TEST(map_walk, "walking a map finds each pair once, key 0 and the largest included")
{
	struct map map = {0};
	u64 sum = 0, count = 0;

	CHECK(map_find(&map, 5) == NULL);
	CHECK(!map_remove(&map, 5, NULL));
	for (u64 i = 0; i < 1000; i++)
		CHECK(map_put(&map, i ? 0 - i : 0, i));
	CHECK_EQ(map_count(&map), 1000);
	for (u64 at = 0, key, value; map_next(&map, &at, &key, &value);) {
		CHECK_EQ(key, 0 - value);
		sum += value;
		count++;
	}
	CHECK_EQ(count, 1000);
	CHECK_EQ(sum, 999 * 1000 / 2);
	++*map_at(&map, 7);
	CHECK_EQ(*map_find(&map, 7), 1);
	map_clear(&map);
	CHECK_EQ(map_count(&map), 0);
	CHECK(map_find(&map, 0) == NULL);
	map_release(&map);
}

static const struct {
	u64 bytes;
	const char *text;
} byte_rows[] = {
	{0, "0 B"}, {999, "999 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1536, "1.5 KiB"},
	{1048575, "1.0 MiB"}, {1572864, "1.5 MiB"}, {120ull << 30, "120 GiB"},
	{UINT64_MAX, "16.0 EiB"},
};

TEST(bytes, "bytes are shown in the unit that fits")
{
	for (u64 i = 0; i < sizeof(byte_rows) / sizeof(byte_rows[0]); i++)
		CHECK_STR(units_bytes(byte_rows[i].bytes).text, byte_rows[i].text);
}

static const struct {
	u64 ns;
	const char *text;
} ns_rows[] = {
	{0, "0 ns"}, {999, "999 ns"}, {1500, "1.5 us"}, {2300000, "2.3 ms"}, {999960, "1.0 ms"},
	{1500000000, "1.50 s"}, {999960000, "1.00 s"}, {59999000000, "60.00 s"},
	{125000000000, "2 min 05 s"}, {11220000000000, "3 h 07 min"},
};

TEST(durations, "durations are shown in the unit that fits")
{
	for (u64 i = 0; i < sizeof(ns_rows) / sizeof(ns_rows[0]); i++)
		CHECK_STR(units_ns(ns_rows[i].ns).text, ns_rows[i].text);
}

TEST(counts, "counts are grouped by thousands, shares are percents")
{
	CHECK_STR(units_count(0).text, "0");
	CHECK_STR(units_count(999).text, "999");
	CHECK_STR(units_count(12345).text, "12,345");
	CHECK_STR(units_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_STR(units_signed(-1234567).text, "-1,234,567");
	CHECK_STR(units_things(1, "event(s) (was|were) lost").text, "1 event was lost");
	CHECK_STR(units_things(0, "event(s) (was|were) lost").text, "0 events were lost");
	CHECK_STR(units_things(2000, "process(es) of (it|them) (static, setuid)").text, "2,000 processes of them (static, setuid)");
	CHECK_STR(units_words(1, "point(s) (grows|grow").text, "point (grows|grow");
	CHECK_STR(units_signed(INT64_MIN).text, "-9,223,372,036,854,775,808");
	CHECK_STR(units_percent(0.1234).text, "12.3 %");
	CHECK_STR(units_percent(0).text, "0.0 %");
	CHECK_STR(units_percent(0.0001).text, "<0.1 %");
	CHECK_STR(units_percent(units_share(1, 4)).text, "25.0 %");
	CHECK(units_share(5, 0) == 0);
}

TEST(arena_adopt, "what an arena adopts stays, and more can be taken from both")
{
	static const u32 sizes[] = {10, 3000, 5000000};
	struct arena arena = {0}, other = {0};
	char *kept[6];

	arena_adopt(&arena, &other);
	CHECK(!arena.blocks);
	for (u32 i = 0; i < 6; i++) {
		u64 bytes = arena.bytes;

		kept[i] = arena_alloc(&other, sizes[i / 2]);
		memset(kept[i], (int)i + 1, sizes[i / 2]);
		bytes += other.bytes;
		arena_adopt(&arena, &other);
		CHECK(!other.blocks && arena.bytes == bytes);
		CHECK_EQ(*(char *)arena_alloc(&arena, 1000), 0);
	}
	for (u32 i = 0; i < 6; i++)
		CHECK(kept[i][0] == (char)(i + 1) && kept[i][sizes[i / 2] - 1] == (char)(i + 1));
	arena_release(&arena);
}

TEST(files, "a file is read as it was written, with a limit, in folders made for it")
{
	char folder[200], path[300], text[400];
	struct strbuf buf = {0};
	struct err err = {0};

	snprintf(folder, sizeof(folder), "%s/a/b//c", test_folder());
	CHECK_EQ(io_make_folder(folder, 0700, &err), 0);
	CHECK_EQ(io_make_folder(folder, 0700, &err), 0);
	snprintf(path, sizeof(path), "%s/file", folder);
	CHECK_EQ(io_write_file(path, "0123456789", 10, &err), 0);
	CHECK_EQ(io_read_file(path, 10, &buf, &err), 0);
	CHECK_STR(strbuf_text(&buf), "0123456789");
	CHECK_EQ(io_read_file(path, 9, &buf, &err), ERR_INPUT);
	CHECK(strstr(err.text, "is too large") != NULL && strstr(err.text, path) == err.text);
	CHECK_EQ(io_make_folder(path, 0700, &err), ERR_SYSTEM);
	snprintf(path, sizeof(path), "%s/absent", folder);
	snprintf(text, sizeof(text), "cannot open %s: No such file or directory", path);
	CHECK_EQ(io_read_file(path, 9, &buf, &err), ERR_INPUT);
	CHECK_STR(err.text, text);
	CHECK_EQ(io_write_file("/dev/full", "x", 1, &err), ERR_SYSTEM);
	CHECK_STR(err.text, "cannot write /dev/full: No space left on device");
	strbuf_release(&buf);
}

TEST(regular_files, "a path from a stranger is read if it is a regular file, and never waited for")
{
	static const char *const refused[] = {"/dev/zero", "/dev/tty", "/proc/version", "/proc",
					      "/absent"};
	char path[300];
	struct strbuf buf = {0};
	struct err err = {0};

	for (u32 i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		CHECK_EQ(io_read_regular(refused[i], 1 << 20, &buf, &err), ERR_INPUT);
	snprintf(path, sizeof(path), "%s/pipe", test_folder());
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(io_read_regular(path, 10, &buf, &err), ERR_INPUT);
	snprintf(path, sizeof(path), "%s/file", test_folder());
	CHECK_EQ(io_write_file(path, "0123456789", 10, &err), 0);
	CHECK_EQ(io_read_regular(path, 9, &buf, &err), ERR_INPUT);
	CHECK_EQ(buf.count, 0);
	CHECK_EQ(io_read_regular(path, 10, &buf, &err), 0);
	CHECK_STR(strbuf_text(&buf), "0123456789");
	strbuf_release(&buf);
}

TEST(user_folders, "folders of the user are below a home that exists, and nowhere else")
{
	static const struct {
		const char *home, *named; /* below the test's folder; NULL: not set */
		const char *want;         /* NULL: there is none */
	} rows[] = {
		{"", NULL, "/.cache"},
		{"", "/named", "/named"},
		{"", "/named/", "/named/"},
		{NULL, "/named", "/named"},
		{"/absent", "/named", "/named"},
		{"/absent", NULL, NULL},
		{"/file", NULL, NULL},
		{"", "/absent/named", NULL},
		{NULL, NULL, NULL},
	};
	char path[300];

	snprintf(path, sizeof(path), "%s/file", test_folder());
	CHECK_EQ(io_write_file(path, "", 0, NULL), 0);
	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct strbuf got = {0};

		unsetenv("HOME");
		unsetenv("HEAPWISE_TEST_FOLDER");
		snprintf(path, sizeof(path), "%s%s", test_folder(), rows[i].home ? rows[i].home : "");
		if (rows[i].home)
			setenv("HOME", path, 1);
		snprintf(path, sizeof(path), "%s%s", test_folder(), rows[i].named ? rows[i].named : "");
		if (rows[i].named)
			setenv("HEAPWISE_TEST_FOLDER", path, 1);
		snprintf(path, sizeof(path), "%s%s", rows[i].want ? test_folder() : "",
			 rows[i].want ? rows[i].want : "");
		CHECK_EQ(io_user_folder("HEAPWISE_TEST_FOLDER", ".cache", &got), rows[i].want != NULL);
		CHECK_STR(strbuf_text(&got), path);
		strbuf_release(&got);
	}
	setenv("HOME", "relative", 1);
	CHECK(!io_user_folder("HEAPWISE_TEST_FOLDER", ".cache", &(struct strbuf){0}));
}

TEST(bytemaps, "maps of bytes are set, searched, counted and told as a plain array says")
{
	u64 seed = 7;

	for (u32 round = 0; round < 300; round++) {
		u64 map[HW_MAP_WORDS] = {0}, from = 0, end = 0, wrong = 0, count = 0;
		u8 plain[HW_MAP_BYTES] = {0};

		for (u32 i = 0; i < round % 9; i++) {
			seed = seed * 6364136223846793005 + 1;
			from = seed >> 33 & (HW_MAP_BYTES - 1);
			end = from + (seed >> 50) % (HW_MAP_BYTES - from + 1);
			bytemap_set(map, from, end);
			memset(plain + from, 1, end - from);
		}
		for (u64 i = 0; i <= HW_MAP_BYTES; i++) {
			u64 next = i, gap = i;

			while (next < HW_MAP_BYTES && !plain[next])
				next++;
			while (gap < HW_MAP_BYTES && plain[gap])
				gap++;
			wrong += bytemap_count(map, i) != count;
			wrong += bytemap_next(map, i, HW_MAP_BYTES, true) != next;
			wrong += bytemap_next(map, i, HW_MAP_BYTES, false) != gap;
			wrong += i < end && bytemap_next(map, i, end, true) != (next < end ? next : end);
			count += i < HW_MAP_BYTES && plain[i];
		}
		CHECK_EQ(wrong, 0);
	}
}

TEST(bytemap_ranges, "ranges of a map are words, cut after some")
{
	u64 map[HW_MAP_WORDS] = {0};
	struct strbuf text = {0};

	bytemap_add_ranges(&text, map, 100, true, 0);
	CHECK_STR(strbuf_text(&text), "");
	bytemap_set(map, 0, 4);
	bytemap_set(map, 8, 9);
	bytemap_set(map, 60, 130);
	bytemap_add_ranges(&text, map, 100, true, 0);
	CHECK_STR(strbuf_text(&text), "0-3,8,60-99");
	strbuf_clear(&text);
	bytemap_add_ranges(&text, map, HW_MAP_BYTES, false, 2);
	CHECK_STR(strbuf_text(&text), "4-7,9-59,…");
	strbuf_clear(&text);
	bytemap_add_ranges(&text, map, HW_MAP_BYTES, false, 3);
	CHECK_STR(strbuf_text(&text), "4-7,9-59,130-1023");
	strbuf_release(&text);
}

/* ---- pattern ---- */

TEST(pattern, "expressions that the library would copy out of all bounds are refused, and no others")
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{"", true},
		{"std::vector<.*>::push_back", true},
		{"a+b+c+d+e+f+g+h+i+j+k+l+", true},
		{"((a+)+)+", true},
		{"(ab|cd){1,3}(ef)+", true},
		{"[]+++++++++++++++++++++++++++]x", true},
		{"[[:alpha:]+++++++++++++++++++]", true},
		{"\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+", true},
		{"a{255}", true},
		{"a{256}", false},
		{"(a{40}){40}", false},
		{"a{200}{200}", false},
		{"a{2}{2}{2}{2}{2}{2}{2}", false},
		{"a{2,3}b{3}c{4,}", true},
		{"q+++++++++++", false},
		{"q?????????????????????????????", false}, /* more than 10 seconds */
		{"q***********", false},
		{"a?b?c?d*e*f*(g?h*)?(i*)*", true},
		{"((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+", false},
		{"((((((((((a|b){2}){2}){2}){2}){2}){2}){2}){2})", false},
		{"((()$)+)+*++++", false}, /* glibc takes more than 20 seconds with one + less */
		{"(()$|()^|\\b|\\<)*", false},
		{"(\\<a){3}", false},
		{"^(a|b)*(c$)?", true},
		{"[^$]*\\$+", true},
		{"(a)\\1", false},
		{"a\tb", false},
		{"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a", false},
		{")))+", true}, /* no expression, but none that costs anything */
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		if ((pattern_trouble(rows[i].text) == NULL) != rows[i].good)
			FAIL("'%s' is %s", rows[i].text, rows[i].good ? "refused" : "taken");
}

/* ---- library ---- */

TEST(library_inside, "a library that the system lacks is taken from libs/ beside our parts")
{
	struct table {
		pid_t (*process)(void);
	} table = {NULL};
	static const struct library_function functions[] = {{"getpid", 0}};
	char name[64], folder[PARTS_PATH], libs[PARTS_PATH + 8], copy[PARTS_PATH + 80];
	struct library library = {name, "none", functions, 1};
	struct strbuf bytes = {0};
	struct err err = {0};
	Dl_info libc;

	snprintf(name, sizeof(name), "libinside-%d.so.1", (int)getpid());
	parts_own_folder(folder);
	snprintf(libs, sizeof(libs), "%s/libs", folder);
	snprintf(copy, sizeof(copy), "%s/%s", libs, name);
	CHECK_EQ(library_load(&library, &table, &err), ERR_SYSTEM);
	CHECK(dladdr((void *)getenv, &libc) != 0);
	mkdir(libs, 0777);
	/* no link: an emulator has the library elsewhere */
	CHECK_EQ(io_read_file(libc.dli_fname, 64 << 20, &bytes, &err), 0);
	CHECK_EQ(io_write_file(copy, bytes.text, bytes.count, &err), 0);
	strbuf_release(&bytes);
	CHECK_EQ(library_load(&library, &table, &err), 0);
	CHECK(table.process && table.process() == getpid());
	CHECK_EQ(unlink(copy), 0);
	rmdir(libs);
}

TEST(library, "a library or a function that is not there is named, with what to install")
{
	struct table {
		size_t (*length)(const char *);
		void *other;
	} table = {NULL, NULL};
	static const struct library_function functions[] = {
		{"strlen", offsetof(struct table, length)},
		{"no_such_function", offsetof(struct table, other)},
	};
	struct library library = {"libno-such-library.so.7", "libno7", functions, 1};
	struct err err = {0};

	CHECK_EQ(library_load(&library, &table, &err), ERR_SYSTEM);
	CHECK(strncmp(err.text, "libno-such-library.so.7 cannot be loaded: ", 41) == 0);
	CHECK(strstr(err.text, "install it (package libno7 ") != NULL);
	library.name = "libc.so.6";
	CHECK_EQ(library_load(&library, &table, &err), 0);
	CHECK_EQ(table.length("four"), 4);
	library.count = 2;
	CHECK_EQ(library_load(&library, &table, &err), ERR_SYSTEM);
	CHECK_STR(err.text, "libc.so.6 has no function no_such_function: its version may be too old; install a newer one");
}
