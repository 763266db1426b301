/* SPDX-License-Identifier: MIT
 * Rust's older names get the types that debug info has. The rows are what rustc writes. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "host/symbols/rust_names.h"

static const struct {
	const char *readable, *plain, *parameters; /* of these, each one word */
	const char *filled;                        /* "" = does not fit */
} rows[] = {
	{"alloc::vec::Vec<T,A>::push", "push<app::Point, alloc::alloc::Global>", "T A", "alloc::vec::Vec<app::Point>::push"},
	{"alloc::boxed::Box<T>::new", "new<app::Account>", "T", "alloc::boxed::Box<app::Account>::new"},
	{"alloc::boxed::Box<T,A>::new_in", "new_in<app::Node, &alloc::alloc::Global>", "T A",
	 "alloc::boxed::Box<app::Node, &alloc::alloc::Global>::new_in"},
	{"alloc::raw_vec::RawVecInner<A>::grow_one", "grow_one<alloc::alloc::Global>", "A", "alloc::raw_vec::RawVecInner::grow_one"},
	{"alloc::vec::from_elem", "from_elem<u32>", "T", "alloc::vec::from_elem::<u32>"},
	{"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "from_elem<u32, alloc::alloc::Global>", "T A",
	 "<u32 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem"},
	{"<&A as core::alloc::Allocator>::allocate", "allocate<alloc::alloc::Global>", "A",
	 "<&alloc::alloc::Global as core::alloc::Allocator>::allocate"},
	{"alloc::slice::<impl [T]>::to_vec", "to_vec<alloc::vec::Vec<u8, alloc::alloc::Global>>", "T",
	 "alloc::slice::<impl [alloc::vec::Vec<u8>]>::to_vec"},
	{"core::option::Option<T>::map_or_else", "map_or_else<&str, alloc::string::String, fn(&str) -> alloc::string::String>", "T U F",
	 "core::option::Option<&str>::map_or_else::<alloc::string::String, fn(&str) -> alloc::string::String>"},
	{"hashbrown::raw::RawTable<T,A>::reserve", "reserve<(u64, app::Point), alloc::alloc::Global>", "T A",
	 "hashbrown::raw::RawTable<(u64, app::Point)>::reserve"},
	/* values are no parameters of debug info, and a word of a path is none either */
	{"app::Ring<T,_>::new", "new<u8, 16>", "T", "app::Ring<u8, _>::new"},
	{"app::T::make", "make<u8>", "T", "app::T::make::<u8>"},
	{"app::make", "make", "T", ""},
	{"app::make", "make<u8>", "", ""},
	{"app::make", "make<u8, u16>", "T", ""},
	{"app::make", "make<u8", "T", ""},
	{"app::make", "make<u8>>", "T", ""},
	{"", "<", "T", ""},
	{"T", "<u8>", "T", "u8"},
};

TEST(fill, "parameters become what they stand for, and the global allocator goes")
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span parameters[RUST_PARAMETERS];
		struct strbuf got = {0};
		u32 count = 0;

		for (const char *p = rows[i].parameters; *p && count < RUST_PARAMETERS; p += *p == ' ') {
			size_t bytes = strcspn(p, " ");

			parameters[count++] = (struct span){p, (u32)bytes};
			p += bytes;
		}
		CHECK_EQ(rust_name_fill(rows[i].readable, rows[i].plain, parameters, count, &got), *rows[i].filled != 0);
		CHECK_STR(strbuf_text(&got), rows[i].filled);
		strbuf_release(&got);
	}
}

static const struct {
	const char *readable, *plain, *filled; /* "" = unknown */
} nameless_rows[] = {
	{"alloc::vec::Vec<T,A>::push", "push<app::Point, alloc::alloc::Global>", "alloc::vec::Vec<app::Point>::push"},
	{"alloc::vec::from_elem", "from_elem<u32>", "alloc::vec::from_elem::<u32>"},
	{"hashbrown::raw::RawTable<T,A>::reserve", "reserve<(u64, app::Point), alloc::alloc::Global, app::hasher>",
	 "hashbrown::raw::RawTable<(u64, app::Point)>::reserve::<app::hasher>"},
	{"alloc::collections::btree::node::NodeRef<BorrowType,K,V,alloc::collections::btree::node::marker::Leaf>::push",
	 "push<app::Mut, u64, app::Point>",
	 "alloc::collections::btree::node::NodeRef<app::Mut, u64, app::Point, alloc::collections::btree::node::marker::Leaf>::push"},
	{"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "from_elem<u32, alloc::alloc::Global>", ""},
	{"app::Ring<T>::new", "new<u8>", ""},
	{"alloc::vec::Vec<T,A>::push", "push<u8>", ""},
	{"alloc::vec::Vec<T", "push<u8>", "alloc::vec::Vec<T::<u8>"},
};

TEST(nameless, "without names of parameters those of the library's types are taken")
{
	for (size_t i = 0; i < sizeof nameless_rows / sizeof *nameless_rows; i++) {
		struct span parameters[RUST_PARAMETERS];
		struct strbuf got = {0};
		u32 count = rust_parameters(nameless_rows[i].readable, nameless_rows[i].plain, parameters);

		rust_name_fill(nameless_rows[i].readable, nameless_rows[i].plain, parameters, count, &got);
		CHECK_STR(strbuf_text(&got), nameless_rows[i].filled);
		strbuf_release(&got);
	}
}

TEST(hostile, "names that are cut anywhere are refused or filled, and nothing breaks")
{
	struct span parameters[] = {{"T", 1}, {"A", 1}, {"F", 1}}, some[RUST_PARAMETERS];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (size_t bytes = 0; bytes <= strlen(rows[i].readable) + strlen(rows[i].plain); bytes++) {
			size_t left = strlen(rows[i].readable);
			char *readable = strndup(rows[i].readable, bytes < left ? bytes : left);
			char *plain = strndup(rows[i].plain, bytes < left ? strlen(rows[i].plain) : bytes - left);

			for (u32 count = 0; count <= 3; count++) {
				struct strbuf got = {0};

				rust_name_fill(readable, plain, parameters, count, &got);
				strbuf_release(&got);
			}
			rust_parameters(readable, plain, some);
			rust_is_legacy(plain);
			free(readable);
			free(plain);
		}
	}
}

TEST(legacy, "only names that end in a hash are Rust's older ones")
{
	CHECK(rust_is_legacy("_ZN5alloc5boxed12Box$LT$T$GT$3new17h7bb1676d5ba46c56E"));
	CHECK(!rust_is_legacy("_ZN5alloc5boxed3newE"));
	CHECK(!rust_is_legacy("_ZN3app3new17h7bb1676d5ba46c5gE"));
	CHECK(!rust_is_legacy("_RNvC3app4main"));
	CHECK(!rust_is_legacy("17h7bb1676d5ba46c56E"));
	CHECK(!rust_is_legacy("E"));
	CHECK(!rust_is_legacy(""));
}
