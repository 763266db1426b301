/* SPDX-License-Identifier: MIT
 * Names: C++ and Rust demangling on good, odd and hostile input, and the table of names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "host/symbols/demangle.h"
#include "host/symbols/names.h"

struct row {
	const char *mangled;
	const char *want; /* NULL = not a mangled name: stays as it is */
};

static const struct row cxx[] = {
	{ "_ZN3foo3barEi", "foo::bar(int)" },
	{ "_ZN1AC1Ev", "A::A()" },
	{ "_ZN1AC4Ev", "A::A()" },
	{ "_ZN1AD2Ev", "A::~A()" },
	{ "_Znwm", "operator new(unsigned long)" },
	{ "_ZdlPvm", "operator delete(void*, unsigned long)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN12_GLOBAL__N_16hiddenclEi",
	  "(anonymous namespace)::hidden::operator()(int)" },
	{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const" },
	{ "_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]" },
	{ "_ZN3foo3barEi.part.0", "foo::bar(int) [clone .part.0]" },
	{ "_ZNK1ScviEv", "S::operator int() const" },
};

static const struct row rust[] = {
	/* v0, the first one from the specification */
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
	{ "_RNvXs_NtC1a1bNtB4_1SNtB4_1T1f", "<a::b::S as a::b::T>::f" },
	{ "_RNCNvC1a1b0", "a::b::{closure#0}" },
	{ "_RNvC6_123foo3bar.llvm.123456", "123foo::bar" },
	/* legacy, without the hash */
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.99",
	  "core::fmt::Write::write_fmt" },
	{ "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str"
	  "17h0123456789abcdefE",
	  "<alloc::string::String as core::fmt::Write>::write_str" },
};

static const struct row valgrind[] = {
	{ "_vgr10010ZU_VgSoSynsomalloc_malloc", "malloc" },
	{ "_vgr10030ZU_libstdcZpZpZa__Znwm", "operator new(unsigned long)" },
	{ "_vgr20160ZU_ldZhlinuxZhx86Zh64ZdsoZd2_strcmp", "strcmp" },
	{ "_vgr20210ZU_libcZdsoZa___GI_strlen", "__GI_strlen" },
	{ "_vgw00000ZZ_libpthreadZdsoZd0_pthreadZucreateZAZa", "pthread_create@*" },
	{ "_vgr10010ZZ_libcZdsoZa_trailZ", "trailZ" },
	{ "_vgr10010ZU_nofunction", NULL },
	{ "_vgr10010ZU_libc_", NULL },
	{ "_vgr1ZU_libc_malloc", NULL },
	{ "_vgr10010ZU_a__vgr10010ZU_a_malloc", "_vgr10010ZU_a_malloc" },
	{ "_vgr", NULL },
	{ "_vgw10010", NULL },
};

static const struct row plain[] = {
	{ "", NULL }, { "_", NULL }, { "main", NULL }, { "_start", NULL }, { "_Z", NULL },
	{ "_R", NULL }, { "_ZN", NULL }, { "_ZN3fo", NULL }, { "_Zxx", NULL }, { "_ZNSt", NULL },
	{ "_RNvC", NULL }, { "_RNvC9short3bar", NULL }, { "_ZN99999999999999999999fooE", NULL },
	{ "_ZS_", NULL }, { "_ZT_", NULL }, { "_RB_", NULL }, { "Z3foov", NULL },
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *got = demangle(rows[i].mangled);

		if (rows[i].want)
			CHECK_STR(got ? got : "(none)", rows[i].want);
		else
			CHECK_STR(got ? got : "(none)", "(none)");
		free(got);
	}
}

#define ROWS(table) check_rows(table, sizeof(table) / sizeof((table)[0]))

TEST(cxx_names, "C++ names read as they were written")
{
	ROWS(cxx);
}

TEST(rust_names, "Rust names of both manglings read as paths, without hash")
{
	ROWS(rust);
}

TEST(valgrind_names, "functions that Valgrind puts in the place of others have the names of those")
{
	ROWS(valgrind);
}

TEST(plain_names, "names that are not mangled, or badly, stay as they are")
{
	ROWS(plain);
}

/* prefix, then `middle` repeated, then suffix. */
static char *repeat(const char *prefix, const char *middle, size_t times, const char *suffix)
{
	size_t step = strlen(middle), bytes = strlen(prefix) + step * times + strlen(suffix) + 1;
	char *text = malloc(bytes), *at = text;

	if (!text)
		FAIL("no memory");
	at = stpcpy(at, prefix);
	for (size_t i = 0; i < times; i++, at += step)
		memcpy(at, middle, step);
	memcpy(at, suffix, strlen(suffix) + 1);
	return text;
}

TEST(long_name, "a C++ name of several thousand bytes is demangled")
{
	char *mangled = repeat("_Z1fISt5tupleIJ", "N3abc3defE", 500, "EEEvT_");
	char *got = demangle(mangled);

	CHECK(strlen(mangled) > 5000);
	CHECK(got != NULL);
	CHECK(got && !strncmp(got, "void f<std::tuple<abc::def, abc::def, ", 38));
	free(got);
	free(mangled);
}

TEST(huge_names, "names of 100 KB, nested to any depth, give a text or nothing, and no crash")
{
	static const struct {
		const char *prefix, *middle, *suffix;
	} shapes[] = {
		{ "_Z1f", "P", "i" },          /* pointers to pointers to … */
		{ "_Z1f", "FvP", "i" },        /* functions of functions */
		{ "_Z1fI", "1AI", "i" },       /* open templates */
		{ "_ZN", "1a", "E" },          /* namespaces */
		{ "_Z1fIXad", "L_Z1f", "E" },
		{ "_R", "Nv", "C1a1b" },
		{ "_RIN", "I", "C1a1bE" },
		{ "_RNv", "MC1a", "1b" },
		{ "_ZN", "S_", "E" },
		{ "_Z", "1", "" },
		{ "_Z1fIJ", "DpT_", "EE" },
		{ "_R", "Y", "u" },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t times = (100 << 10) / strlen(shapes[i].middle);
		char *mangled = repeat(shapes[i].prefix, shapes[i].middle, times, shapes[i].suffix);

		free(demangle(mangled));
		free(mangled);
	}
}

TEST(sound_100_kb, "a name of 100 KB that is sound is demangled")
{
	char *mangled = repeat("_ZN3foo100000", "a", 100000, "Ev");
	char *got = demangle(mangled);

	CHECK(got && !strncmp(got, "foo::aaaa", 9));
	CHECK_EQ(got ? strlen(got) : 0, 5 + 100000 + 2);
	free(got);
	free(mangled);
}

/* Each pair holds the pair before it twice: 2^40 words when written out. */
TEST(exploding_name, "a short name that stands for gigabytes is given up")
{
	char mangled[1024] = "_Z1f1AIiiE";
	char *at = mangled + strlen(mangled);
	char *got;

	at = stpcpy(at, "S_IS0_S0_ES_IS1_S1_E");
	for (int i = 2; i < 10; i++)
		at += sprintf(at, "S_IS%d_S%d_E", i, i);
	for (int i = 0; i < 26; i++)
		at += sprintf(at, "S_IS%c_S%c_E", 'A' + i, 'A' + i);
	got = demangle(mangled);
	CHECK(!got || strlen(got) <= 1 << 20);
	free(got);
}

TEST(random_names, "random bytes behind a mangling prefix never crash")
{
	static const char letters[] = "NSsTIJELZXPRKFvijKC12345_0tcDpadnwB.$uMYG";
	unsigned seed = 7;

	for (int round = 0; round < 50000; round++) {
		char name[80];
		int bytes = 2 + rand_r(&seed) % 70;

		memcpy(name, round % 3 ? "_Z" : "_R", 2);
		for (int i = 2; i < bytes; i++)
			name[i] = letters[(unsigned)rand_r(&seed) % (sizeof(letters) - 1)];
		name[bytes] = 0;
		free(demangle(name));
	}
}

TEST(kept_once, "equal texts are kept once, and readable names are remembered")
{
	struct names names = { 0 };
	const char *first = names_keep(&names, "text");
	const char *readable = names_readable(&names, "_ZN3foo3barEi");
	char text[32];

	CHECK_STR(readable, "foo::bar(int)");
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		CHECK_STR(names_keep(&names, text), text);
	}
	CHECK(names_keep(&names, "text") == first);
	CHECK(names_keep_bytes(&names, "textile", 4) == first);
	CHECK(names_readable(&names, "_ZN3foo3barEi") == readable);
	CHECK_STR(names_readable(&names, "main"), "main");
	CHECK_STR(names_keep(&names, NULL), "");
	CHECK_STR(names_keep(&names, ""), "");
	names_release(&names);
}
