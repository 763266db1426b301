/* SPDX-License-Identifier: MIT
 * Types from readable names of functions: the parser, types as people write them, folding, and the
 * search in stacks. The names are what demanglers make of real programs. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "host/symbols/types/frame.h"

/* ---- parser ---- */

/* Parts as "name<argument|argument>" joined by " / "; "" = not parsed. */
static void show_parts(const char *text, struct strbuf *out)
{
	struct name_parts parts;

	if (!name_parse(text, &parts))
		return;
	for (u32 i = 0; i < parts.count; i++) {
		const struct name_part *part = &parts.parts[i];

		strbuf_addf(out, "%s%.*s", i ? " / " : "", (int)part->name.bytes, part->name.text);
		for (u32 k = 0; k < part->argument_count; k++)
			strbuf_addf(out, "%s%.*s", k ? "|" : "<", (int)part->arguments[k].bytes,
				    part->arguments[k].text);
		strbuf_add(out, part->argument_count ? ">" : "");
	}
}

static const struct {
	const char *name, *parts;
} parser_rows[] = {
	{"main", "main"},
	{"foo::bar(int)", "foo / bar"},
	{"std::vector<int, std::allocator<int> >::push_back(int const&)",
	 "std / vector<int|std::allocator<int>> / push_back"},
	{"void std::vector<Foo, std::allocator<Foo> >::_M_realloc_insert<Foo const&>(__gnu_cxx::"
	 "__normal_iterator<Foo*, std::vector<Foo, std::allocator<Foo> > >, Foo const&)",
	 "std / vector<Foo|std::allocator<Foo>> / _M_realloc_insert<Foo const&>"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create("
	 "unsigned long&, unsigned long)",
	 "std / basic_string<char|std::char_traits<char>|std::allocator<char>> / _M_create"},
	{"(anonymous namespace)::hidden::operator()(int)",
	 "(anonymous namespace) / hidden / operator()"},
	{"main::{lambda(int, std::vector<int>)#1}::operator()(int) const",
	 "main / {lambda(int, std::vector<int>)#1} / operator()"},
	{"f(int, char const*)::Local::Local()", "f / Local / Local"},
	{"operator new(unsigned long)", "operator new"},
	{"operator new[](unsigned long, std::align_val_t)", "operator new[]"},
	{"Pool::operator new(unsigned long)", "Pool / operator new"},
	{"bool operator< <int>(A<int> const&, A<int> const&)", "operator<<int>"},
	{"foo(int) const::{lambda()#2}::operator()() const", "foo / {lambda()#2} / operator()"},
	{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
	 "std / operator<<<std::char_traits<char>>"},
	{"S::operator int() const", "S / operator int"},
	{"S::operator std::vector<int, A>() const", "S / operator std::vector<int, A>"},
	{"Foo<(Kind)1, (2 > 1)>::make()", "Foo<(Kind)1|(2 > 1)> / make"},
	{"Foo<&Bar::operator<, int>::make()", "Foo<&Bar::operator<|int> / make"},
	{"Foo<&Bar::operator->, int>::make()", "Foo<&Bar::operator->|int> / make"},
	{"Foo<void (*)(int, char), std::pair<int, int> >::make()",
	 "Foo<void (*)(int, char)|std::pair<int, int>> / make"},
	{"decltype(auto) ns::call<Foo, int>(Foo&&, int)", "ns / call<Foo|int>"},
	{"std::enable_if<((sizeof (int))>(4)), Foo>::type ns::pick<Foo>(Foo)", "ns / pick<Foo>"},
	{"Foo<char, (char)62>::get() const &", "Foo<char|(char)62> / get"},
	{"foo::bar(int) [clone .cold]", "foo / bar"},
	{"foo::bar[abi:cxx11](int)", "foo / bar[abi:cxx11]"},
	{"char const* name<int>()", "name<int>"},
	{"unsigned long long f<int>(int)", "f<int>"},
	{"Foo* const& g<int>()", "g<int>"},
	{"<alloc::vec::Vec<i32>>::push", "alloc / vec / Vec<i32> / push"},
	{"<alloc::vec::Vec<a::B> as core::iter::FromIterator<a::B>>::from_iter",
	 "alloc / vec / Vec<a::B> / from_iter"},
	{"alloc::vec::Vec<T,A>::push", "alloc / vec / Vec<T|A> / push"},
	{"std::mem::align_of::<usize>", "std / mem / align_of<usize>"},
	{"<[a::B]>::to_vec", "[a::B] / to_vec"},
	{"void (*signal(int, void (*)(int)))(int)", ""},
	{"Foo<int", ""},
	{"Foo>::x(", ""},
	{"a::b)(", ""},
	{"", ""},
	{"::", ""},
	{"<", ""},
	{"<>", ""},
	{"<<>>::<", ""},
	{"operator", "operator"},
	{"operator<", "operator<"},
};

TEST(parser, "names of functions fall into classes, templates and arguments")
{
	for (size_t i = 0; i < sizeof parser_rows / sizeof *parser_rows; i++) {
		struct strbuf got = {0};

		show_parts(parser_rows[i].name, &got);
		CHECK_STR(strbuf_text(&got), parser_rows[i].parts);
		strbuf_release(&got);
	}
}

TEST(parser_hostile, "deep, long and cut names are refused or read, and nothing breaks")
{
	static char deep[4096];

	for (size_t cut = 0; cut < sizeof parser_rows / sizeof *parser_rows; cut++) {
		const char *name = parser_rows[cut].name;

		for (size_t bytes = 0; bytes <= strlen(name); bytes++) {
			char *copy = strndup(name, bytes);
			struct strbuf out = {0};
			struct name_parts parts;

			name_parse(copy, &parts);
			type_add_readable(&out, span_of(copy));
			type_add_folded(&out, copy);
			strbuf_release(&out);
			free(copy);
		}
	}
	for (int c = 0; c < 4; c++) {
		struct strbuf out = {0};
		struct name_parts parts;

		memset(deep, "<({["[c], sizeof deep - 1);
		CHECK(!name_parse(deep, &parts));
		memset(deep + 2048, ">)}]"[c], 2047);
		CHECK(!name_parse(deep, &parts));
		type_add_readable(&out, span_of(deep));
		strbuf_release(&out);
	}
}

/* ---- readable types ---- */

static const struct {
	const char *type, *readable, *folded;
} type_rows[] = {
	{"int", "int", "int"},
	{"long unsigned int", "unsigned long", "unsigned long"},
	{"short int", "short", "short"},
	{"longint", "longint", "longint"},
	{"Noisy const", "Noisy", "Noisy"},
	{"const Noisy", "Noisy", "Noisy"},
	{"char const*", "char const*", "char const*"},
	{"std::vector<int, std::allocator<int> >", "std::vector<int>", "std::vector<*>"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	 "std::string", "std::string"},
	{"std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, std::__1::allocator<wchar_t> >",
	 "std::wstring", "std::wstring"},
	{"std::basic_string<char, std::char_traits<char>, heapwise::allocator<char> >",
	 "std::basic_string<char, std::char_traits<char>, heapwise::allocator<char>>",
	 "std::basic_string<*>"},
	{"std::_Rb_tree_node<std::pair<int const, Leaf> >", "std::map<int, Leaf> node",
	 "std::map<*> node"},
	{"std::_Rb_tree_node<std::pair<int, Leaf> >", "std::set<std::pair<int, Leaf>> node",
	 "std::set<*> node"},
	{"std::_Rb_tree_node<std::pair<const int, Leaf> >", "std::map<int, Leaf> node",
	 "std::map<*> node"},
	{"std::__1::__tree_node<std::__1::__value_type<int, Leaf>, void*>", "std::map<int, Leaf> node",
	 "std::map<*> node"},
	{"std::_List_node<Leaf>", "std::list<Leaf> node", "std::list<*> node"},
	{"std::__detail::_Hash_node<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, "
	 "std::allocator<char> > const, std::vector<int, std::allocator<int> > >, true>",
	 "std::unordered_map<std::string, std::vector<int>> node", "std::unordered_map<*> node"},
	{"std::_Sp_counted_ptr_inplace<Pod, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>", "Pod",
	 "Pod"},
	{"std::_Sp_counted_ptr<Pod*, (__gnu_cxx::_Lock_policy)2>", "std::shared_ptr<Pod> count",
	 "std::shared_ptr<*> count"},
	{"std::unique_ptr<A, std::default_delete<A> >", "std::unique_ptr<A>", "std::unique_ptr<*>"},
	{"std::array<int, 5ul>", "std::array<int, 5>", "std::array<*>"},
	{"Table<short, std::pair<long, char> >", "Table<short, std::pair<long, char>>", "Table<*>"},
	{"(anonymous namespace)::Box<std::vector<int, std::allocator<int> > >",
	 "(anonymous namespace)::Box<std::vector<int>>", "(anonymous namespace)::Box<*>"},
	{"A<int>::B<char, std::allocator<char> >", "A<int>::B<char, std::allocator<char>>",
	 "A<*>::B<*>"},
	{"callables()::{lambda()#1}", "callables()::{lambda()#1}", "callables()::{lambda()#1}"},
	{"Own<int, std::allocator<int> >", "Own<int, std::allocator<int>>", "Own<*>"},
};

TEST(readable, "types are written as people write them, whoever told them")
{
	for (size_t i = 0; i < sizeof type_rows / sizeof *type_rows; i++) {
		struct strbuf got = {0}, folded = {0};

		type_add_readable(&got, span_of(type_rows[i].type));
		CHECK_STR(strbuf_text(&got), type_rows[i].readable);
		type_add_folded(&folded, strbuf_text(&got));
		CHECK_STR(strbuf_text(&folded), type_rows[i].folded);
		strbuf_release(&got);
		strbuf_release(&folded);
	}
}

/* ---- stacks ---- */

static const struct {
	const char *frames[6]; /* innermost first; a line is known unless the name begins with '-' */
	const char *type;      /* "" = none */
	enum type_confidence confidence;
} stack_rows[] = {
	{{"main"}, "", TYPE_UNKNOWN},
	{{"std::__new_allocator<Foo>::allocate(unsigned long, void const*)", "main"}, "Foo", TYPE_EXACT},
	{{"__gnu_cxx::new_allocator<std::_Rb_tree_node<std::pair<int const, Foo> > >::allocate(unsigned "
	  "long, void const*)",
	  "std::allocator_traits<std::allocator<std::_Rb_tree_node<std::pair<int const, Foo> > > "
	  ">::allocate(std::allocator<std::_Rb_tree_node<std::pair<int const, Foo> > >&, unsigned long)",
	  "main"},
	 "std::map<int, Foo> node",
	 TYPE_LIKELY},
	/* nodes of a multimap have the same type: who asks for them tells */
	{{"std::__new_allocator<std::_Rb_tree_node<std::pair<int const, Foo> > >::allocate(unsigned long, void const*)",
	  "std::_Rb_tree<int, std::pair<int const, Foo>, std::_Select1st<std::pair<int const, Foo> >, std::less<int>, "
	  "std::allocator<std::pair<int const, Foo> > >::_M_get_node()",
	  "std::_Rb_tree_iterator<std::pair<int const, Foo> > std::_Rb_tree<int, std::pair<int const, Foo>, "
	  "std::_Select1st<std::pair<int const, Foo> >, std::less<int>, std::allocator<std::pair<int const, Foo> > "
	  ">::_M_insert_equal<std::pair<int const, Foo> >(std::pair<int const, Foo>&&)",
	  "main"},
	 "std::multimap<int, Foo> node",
	 TYPE_EXACT},
	{{"std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long, void const*)",
	  "std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, std::allocator<int> >::_M_copy(int)",
	  "std::multiset<int, std::less<int>, std::allocator<int> >::multiset(std::multiset<int> const&)", "main"},
	 "std::multiset<int> node",
	 TYPE_EXACT},
	{{"std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long, void const*)",
	  "std::pair<std::_Rb_tree_iterator<int>, bool> std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, "
	  "std::allocator<int> >::_M_insert_unique<int>(int&&)",
	  "main"},
	 "std::set<int> node",
	 TYPE_EXACT},
	{{"std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, Foo>, false> >::allocate(unsigned long, "
	  "void const*)",
	  "std::_Hashtable<int, std::pair<int const, Foo>, std::allocator<std::pair<int const, Foo> >, "
	  "std::__detail::_Hashtable_traits<false, false, false> >::_M_emplace<int>(int)",
	  "main"},
	 "std::unordered_multimap<int, Foo> node",
	 TYPE_EXACT},
	{{"-std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, std::allocator<int> >::_M_insert_equal(int)",
	  "main"},
	 "std::multiset<int> node",
	 TYPE_GUESS},
	{{"std::allocator_traits<std::allocator<Foo> >::allocate(std::allocator<Foo>&, unsigned long)"},
	 "Foo",
	 TYPE_EXACT},
	/* what a constructor allocates is not what is constructed */
	{{"std::thread::thread<void (&)(), , void>(void (&)())",
	  "void std::allocator_traits<std::allocator<std::thread> >::construct<std::thread, void (&)()>("
	  "std::allocator<std::thread>&, std::thread*, void (&)())",
	  "std::vector<std::thread, std::allocator<std::thread> >::emplace_back(void (&)())", "main"},
	 "",
	 TYPE_UNKNOWN},
	{{"Foo::Foo()", "std::vector<Foo, std::allocator<Foo> >::emplace_back()", "main"},
	 "",
	 TYPE_UNKNOWN},
	{{"std::_MakeUniq<Foo>::__single_object std::make_unique<Foo, int>(int&&)", "main"},
	 "Foo",
	 TYPE_EXACT},
	{{"std::_MakeUniq<Foo []>::__array std::make_unique<Foo []>(unsigned long)", "main"},
	 "Foo",
	 TYPE_EXACT},
	{{"std::__new_allocator<std::_Sp_counted_ptr_inplace<Foo, std::allocator<void>, "
	  "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void const*)",
	  "main"},
	 "Foo",
	 TYPE_EXACT},
	{{"std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<Foo*>(Foo*)", "main"},
	 "std::shared_ptr<Foo> count",
	 TYPE_LIKELY},
	{{"std::__new_allocator<Foo*>::allocate(unsigned long, void const*)",
	  "std::allocator_traits<std::allocator<Foo*> >::allocate(std::allocator<Foo*>&, unsigned long)",
	  "std::_Deque_base<Foo, std::allocator<Foo> >::_M_allocate_map(unsigned long)", "main"},
	 "std::deque<Foo> map",
	 TYPE_EXACT},
	{{"std::__new_allocator<Foo*>::allocate(unsigned long, void const*)",
	  "std::_Vector_base<Foo*, std::allocator<Foo*> >::_M_allocate(unsigned long)", "main"},
	 "Foo*",
	 TYPE_EXACT},
	{{"std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long, void const*)",
	  "std::_Hashtable<int, std::pair<int const, Foo>, std::allocator<std::pair<int const, Foo> >, "
	  "std::__detail::_Select1st>::_M_allocate_buckets(unsigned long)",
	  "main"},
	 "std::unordered_map<int, Foo> buckets",
	 TYPE_EXACT},
	{{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create("
	  "unsigned long&, unsigned long)",
	  "main"},
	 "char",
	 TYPE_LIKELY},
	/* without lines code of others may be inlined */
	{{"-void std::vector<Foo, std::allocator<Foo> >::_M_realloc_insert<Foo>(int)", "main"},
	 "Foo",
	 TYPE_GUESS},
	{{"std::any::_Manager_external<Foo>::_S_create(std::any::_Storage&, Foo&&)"}, "Foo", TYPE_EXACT},
	{{"void std::_Function_base::_Base_manager<callables()::{lambda()#1}>::_M_create<callables()::"
	  "{lambda()#1}>(std::_Any_data&, callables()::{lambda()#1}&&, std::integral_constant<bool, "
	  "false>)"},
	 "callables()::{lambda()#1}",
	 TYPE_LIKELY},
	{{"operator new(unsigned long)", "std::__new_allocator<Foo>::allocate(unsigned long, void "
					 "const*)"},
	 "Foo",
	 TYPE_EXACT},
	{{"ns::Pool<int>::operator new(unsigned long)", "main"}, "ns::Pool<int>", TYPE_GUESS},
	{{"my::PoolAllocator<Foo, 8>::allocate(unsigned long)", "main"}, "Foo", TYPE_LIKELY},
	{{"QArrayData::allocate(QArrayData**, long long, long long, long long, int)",
	  "QTypedArrayData<QPoint>::allocate(long long, QArrayData::AllocationOption)", "paint()"},
	 "QPoint",
	 TYPE_EXACT},
	{{"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
	  "llvm::SmallVectorTemplateCommon<llvm::Value*, void>::grow_pod(unsigned long, unsigned long)",
	  "llvm::f()"},
	 "llvm::Value*",
	 TYPE_LIKELY},
	{{"llvm::make()", "llvm::SmallVectorImpl<Foo>::emplace_back()"}, "", TYPE_UNKNOWN},
	{{"llvm::allocate_buffer(unsigned long, unsigned long)",
	  "llvm::DenseMap<int, Foo, llvm::DenseMapInfo<int, void>, "
	  "llvm::detail::DenseMapPair<int, Foo> >::allocateBuckets(unsigned int)"},
	 "llvm::DenseMap<int, Foo> buckets",
	 TYPE_LIKELY},
	{{"void* absl::container_internal::Allocate<8ul, std::allocator<char> >(std::allocator<char>*, "
	  "unsigned long)",
	  "absl::container_internal::raw_hash_set<absl::container_internal::FlatHashMapPolicy<int, Foo>, "
	  "absl::Hash<int> >::initialize_slots()"},
	 "absl hash table<int, Foo> slots",
	 TYPE_LIKELY},
	{{"folly::fbvector<Foo, std::allocator<Foo> >::push_back(Foo const&)"}, "Foo", TYPE_LIKELY},
	{{"boost::container::new_allocator<Foo>::allocate(unsigned long)"}, "Foo", TYPE_EXACT},
	{{"alloc::alloc::exchange_malloc", "<alloc::boxed::Box<app::Foo>>::new", "app::main"},
	 "app::Foo",
	 TYPE_LIKELY},
	{{"alloc::raw_vec::finish_grow::<alloc::alloc::Global>", "<alloc::raw_vec::RawVec<app::Foo>>::grow_one",
	  "<alloc::vec::Vec<app::Foo>>::push", "app::main"},
	 "app::Foo",
	 TYPE_LIKELY},
	{{"__cxa_allocate_exception", "std::__throw_out_of_range_fmt(char const*, ...)", "main"}, "std::out_of_range", TYPE_EXACT},
	{{"__cxa_allocate_exception", "operator new(unsigned long)", "main"}, "std::bad_alloc", TYPE_EXACT},
	{{"__cxa_allocate_exception", "std::__throw_ios_failure(char const*)", "main"}, "std::ios_base::failure", TYPE_EXACT},
	{{"__cxa_allocate_exception", "main", "std::vector<int, std::allocator<int> >::push_back(int)"}, "", TYPE_UNKNOWN},
	{{"alloc::vec::Vec<T,A>::push", "app::main"}, "", TYPE_UNKNOWN},
	{{"alloc::alloc::alloc", "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
	  "alloc::boxed::Box<app::Foo>::new", "app::main"},
	 "app::Foo",
	 TYPE_LIKELY},
	{{"alloc::alloc::alloc", "<&A as core::alloc::Allocator>::allocate", "alloc::boxed::Box<app::Foo>::new_in", "app::main"},
	 "app::Foo",
	 TYPE_LIKELY},
	/* one function for all vectors of elements of this size */
	{{"alloc::raw_vec::RawVec<app::Foo>::grow_one", "alloc::vec::Vec<app::Bar>::push", "app::main"}, "app::Bar", TYPE_LIKELY},
	{{"alloc::raw_vec::RawVec<app::Foo>::grow_one", "app::main"}, "app::Foo", TYPE_LIKELY},
	{{"alloc::raw_vec::RawVec<u8>::with_capacity_in", "<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
	  "<alloc::vec::Vec<alloc::vec::Vec<u8>> as core::clone::Clone>::clone"},
	 "u8",
	 TYPE_LIKELY},
	/* Rust's functions of what they copy */
	{{"-<alloc::raw_vec::RawVecInner>::try_allocate_in",
	  "-<u32 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem::<alloc::alloc::Global>", "-alloc::vec::from_elem::<u32>"},
	 "u32",
	 TYPE_GUESS},
	{{"-<alloc::raw_vec::RawVecInner>::with_capacity_in",
	  "-<app::Foo as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>", "-app::main"},
	 "app::Foo",
	 TYPE_GUESS},
	{{"-alloc::raw_vec::RawVecInner<A>::with_capacity_in", "-<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
	  "-<str as alloc::string::SpecToString>::spec_to_string", "-<T as alloc::string::ToString>::to_string"},
	 "u8",
	 TYPE_GUESS},
	{{"<str as alloc::borrow::ToOwned>::to_owned", "app::main"}, "u8", TYPE_LIKELY},
	{{"alloc::str::<impl alloc::borrow::ToOwned for str>::to_owned", "app::main"}, "u8", TYPE_LIKELY},
	{{"<[app::Foo]>::to_vec_in::<alloc::alloc::Global>", "app::main"}, "app::Foo", TYPE_LIKELY},
	{{"<str as app::Copies>::to_owned", "alloc::vec::Vec<app::Foo>::push"}, "", TYPE_UNKNOWN},
	{{"<[T] as alloc::borrow::ToOwned>::to_owned", "app::main"}, "", TYPE_UNKNOWN},
	{{"alloc::alloc::exchange_malloc", "-<alloc::collections::linked_list::LinkedList<app::Foo>>::push_back", "-app::main"},
	 "LinkedList<app::Foo> node",
	 TYPE_GUESS},
	{{"-<alloc::collections::binary_heap::BinaryHeap<u64> as core::iter::traits::collect::FromIterator<u64>>::from_iter::<app::Iter>"},
	 "u64",
	 TYPE_GUESS},
	/* code of others runs in these */
	{{"-<core::iter::adapters::map::Map<app::Iter, app::main::{closure#1}> as core::iter::traits::iterator::Iterator>::fold::<(), app::F>",
	  "-<alloc::vec::Vec<app::Foo> as alloc::vec::spec_from_iter::SpecFromIter<app::Foo, app::Iter>>::from_iter"},
	 "",
	 TYPE_UNKNOWN},
	{{"-std::sys_common::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>",
	  "<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), Output=()>> as core::ops::function::FnOnce<()>>::call_once"},
	 "",
	 TYPE_UNKNOWN},
	{{"-<<std::thread::Builder>::spawn_unchecked_<app::main::{closure#0}, ()>::{closure#1} as core::ops::function::FnOnce<()>>::call_once::"
	  "{shim:vtable#0}",
	  "<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), Output=()>> as core::ops::function::FnOnce<()>>::call_once"},
	 "",
	 TYPE_UNKNOWN},
	{{"<alloc::boxed::Box<[u64]>>::new_uninit_slice"}, "u64", TYPE_LIKELY},
	{{"<alloc::boxed::Box<[u64; 4]>>::new"}, "[u64; 4]", TYPE_LIKELY},
	{{"<alloc::boxed::Box<alloc::rc::RcInner<app::Foo>>>::new"}, "alloc::rc::Rc<app::Foo> block", TYPE_LIKELY},
	{{"<alloc::boxed::Box<alloc::collections::btree::node::LeafNode<u64, app::Foo>>>::new_uninit_in"},
	 "BTreeMap<u64, app::Foo> node",
	 TYPE_LIKELY},
	{{"<alloc::boxed::Box<alloc::collections::btree::node::InternalNode<u16, alloc::collections::btree::set_val::SetValZST>>>::new"},
	 "BTreeSet<u16> inner node",
	 TYPE_LIKELY},
	{{"hashbrown::raw::RawTableInner::new_uninitialized", "<hashbrown::raw::RawTable<(u64, app::Foo)>>::reserve_rehash"},
	 "HashMap<u64, app::Foo> table",
	 TYPE_LIKELY},
	{{"<hashbrown::raw::RawTable<(u32, ())>>::reserve_rehash"}, "HashSet<u32> table", TYPE_LIKELY},
	{{"<hashbrown::raw::RawTable<app::Foo>>::reserve_rehash"}, "hashbrown table<app::Foo>", TYPE_LIKELY},
};

/* "@" = a frame of the C library. */
static const struct {
	const char *frame, *type;
	enum type_confidence confidence;
} library_rows[] = {
	{"@fopen", "FILE", TYPE_LIKELY},
	{"@__alloc_dir", "DIR", TYPE_LIKELY},
	{"@strdup", "char", TYPE_LIKELY},
	{"@qsort", "", TYPE_UNKNOWN},
	/* the program's own */
	{"getline", "", TYPE_UNKNOWN},
	{"fopen", "", TYPE_UNKNOWN},
	/* without lines: what runs nobody's code can only allocate characters */
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_append(char "
	 "const*, unsigned long)", "char", TYPE_LIKELY},
	{"void std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_construct"
	 "<Mine>(Mine, Mine, std::forward_iterator_tag)", "char", TYPE_GUESS},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, Mine<char> >::_M_append(char const*, "
	 "unsigned long)", "char", TYPE_GUESS},
};

TEST(library, "functions of the C library are known by name, strings without lines by what they are")
{
	for (size_t i = 0; i < sizeof library_rows / sizeof *library_rows; i++) {
		const char *name = library_rows[i].frame;
		struct frame_search search = {.c_library = *name == '@'};

		frame_search_step(&search, &(struct symbol_frame){.function = name + (*name == '@'),
								  .file = ""});
		CHECK_STR(strbuf_text(&search.type), library_rows[i].type);
		CHECK_EQ(search.confidence, library_rows[i].confidence);
		frame_search_release(&search);
	}
}

TEST(stacks, "allocator frames tell the type, and nothing beyond the program's own code")
{
	for (size_t i = 0; i < sizeof stack_rows / sizeof *stack_rows; i++) {
		struct frame_search search = {0};

		for (u32 k = 0; k < 6 && stack_rows[i].frames[k]; k++) {
			const char *name = stack_rows[i].frames[k];
			struct symbol_frame frame = {.function = name + (*name == '-'),
						     .file = "",
						     .line = *name == '-' ? 0 : 7};

			if (!frame_search_step(&search, &frame))
				break;
		}
		CHECK_STR(strbuf_text(&search.type), stack_rows[i].type);
		CHECK_EQ(search.confidence, stack_rows[i].confidence);
		CHECK_EQ(search.found, stack_rows[i].confidence != TYPE_UNKNOWN);
		frame_search_release(&search);
	}
}
