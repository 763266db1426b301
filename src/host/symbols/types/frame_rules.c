/* SPDX-License-Identifier: MIT
 * Functions that allocate for others, by the names that libraries give them.
 * Host. */
#include "host/symbols/types/frame_rules.h"

#include <string.h>

#include "host/symbols/types/confidence.h"

const struct rule frame_rules[] = {
	/* C++ library: allocators */
	{"std::allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"std::__new_allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"std::__allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"__gnu_cxx::new_allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"__gnu_cxx::malloc_allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"__gnu_cxx::__mt_alloc", 0, ELEMENT, TYPE_LIKELY, "allocate", NULL},
	{"__gnu_cxx::__alloc_traits", 0, ALLOCATED, TYPE_EXACT, "allocate", NULL},
	{"std::allocator_traits", 0, ALLOCATED, TYPE_EXACT, "allocate", NULL},
	{"std::pmr::polymorphic_allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"std::__allocate_guarded", 0, ALLOCATED, TYPE_EXACT, NULL, NULL},
	{"std::__allocate_at_least", 0, ALLOCATED, TYPE_EXACT, NULL, NULL},
	{"std::get_temporary_buffer", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"std::_Temporary_buffer", 1, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::__detail::_Hashtable_alloc", 0, ALLOCATED, TYPE_LIKELY, "_M_allocate_node", NULL},
	/* C++ library: objects */
	{"std::make_unique", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"std::make_unique_for_overwrite", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"std::__detail::__unique_ptr_t_make_unique", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"std::make_shared", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::allocate_shared", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::__shared_count::__shared_count", 0, POINTEE, TYPE_LIKELY, NULL,
	 "std::shared_ptr<%s> count"},
	{"std::_Function_base::_Base_manager", 0, ELEMENT, TYPE_LIKELY, "_M_", NULL},
	{"std::__function::__func", 0, ELEMENT, TYPE_LIKELY, "__clone", NULL},
	{"std::__function::__value_func::__value_func", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::any::_Manager_external", 0, ELEMENT, TYPE_EXACT, "_S_", NULL},
	{"std::__any_imp::_LargeHandler", 0, ELEMENT, TYPE_EXACT, "__create", NULL},
	/* C++ library: containers, where their allocators are not seen */
	{"std::basic_string", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::string", 0, ELEMENT, TYPE_LIKELY, NULL, "char"},
	{"std::vector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::_Vector_base", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::__split_buffer", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::_Bvector_base", 0, ELEMENT, TYPE_LIKELY, NULL, "unsigned long"},
	{"std::deque", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::_Deque_base", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::list", 0, ELEMENT, TYPE_LIKELY, NULL, "std::list<%s> node"},
	{"std::_List_base", 0, ELEMENT, TYPE_LIKELY, NULL, "std::list<%s> node"},
	{"std::forward_list", 0, ELEMENT, TYPE_LIKELY, NULL, "std::forward_list<%s> node"},
	{"std::map", 0, ENTRY, TYPE_LIKELY, NULL, "std::map<%s> node"},
	{"std::multimap", 0, ENTRY, TYPE_LIKELY, NULL, "std::multimap<%s> node"},
	{"std::set", 0, ELEMENT, TYPE_LIKELY, NULL, "std::set<%s> node"},
	{"std::multiset", 0, ELEMENT, TYPE_LIKELY, NULL, "std::multiset<%s> node"},
	{"std::_Rb_tree", 1, ELEMENT, TYPE_LIKELY, NULL, "std::_Rb_tree_node<%s>"},
	{"std::__tree", 0, ELEMENT, TYPE_LIKELY, NULL, "std::__tree_node<%s, void*>"},
	{"std::basic_filebuf", 0, ELEMENT, TYPE_LIKELY, "_M_allocate", NULL},
	{"std::valarray", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"std::__valarray_get_storage", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	/* Heapwise's own header */
	{"heapwise::new_array", 0, LAST, TYPE_EXACT, NULL, NULL},
	{"heapwise::new_array_zeroed", 0, LAST, TYPE_EXACT, NULL, NULL},
	/* Boost */
	{"boost::container::new_allocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"boost::container::allocator_traits", 0, ALLOCATED, TYPE_EXACT, "allocate", NULL},
	{"boost::container::dtl::allocator_version_traits", 0, ALLOCATED, TYPE_EXACT, "allocat",
	 NULL},
	{"boost::container::vector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"boost::container::small_vector_base", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"boost::container::deque_base", 0, ALLOCATED, TYPE_LIKELY, NULL, NULL},
	{"boost::circular_buffer", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"boost::make_shared", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"boost::make_unique", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"boost::detail::shared_count::shared_count", 0, ELEMENT, TYPE_LIKELY, NULL,
	 "boost::shared_ptr<%s> count"},
	{"boost::any::holder", 0, ELEMENT, TYPE_LIKELY, "clone", "boost::any::holder<%s>"},
	{"boost::unordered::detail::node_constructor", 0, ALLOCATED, TYPE_LIKELY, NULL, NULL},
	{"boost::scoped_array", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	/* Abseil */
	{"absl::container_internal::raw_hash_set", 0, POLICY, TYPE_LIKELY, NULL,
	 "absl hash table<%s> slots"},
	{"absl::container_internal::btree", 0, POLICY, TYPE_LIKELY, NULL, "absl btree<%s> node"},
	{"absl::container_internal::btree_node", 0, POLICY, TYPE_LIKELY, NULL,
	 "absl btree<%s> node"},
	{"absl::inlined_vector_internal::MallocAdapter", 0, ALLOCATED, TYPE_EXACT, NULL, NULL},
	{"absl::inlined_vector_internal::Storage", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"absl::InlinedVector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"absl::FixedArray", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"absl::make_unique", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	/* folly */
	{"folly::fbvector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"folly::small_vector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"folly::fbstring_core", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"folly::f14::detail::F14Table", 0, POLICY, TYPE_LIKELY, NULL,
	 "folly F14 table<%s> chunks"},
	{"folly::SysAllocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	{"folly::AlignedSysAllocator", 0, ELEMENT, TYPE_EXACT, "allocate", NULL},
	/* LLVM */
	{"llvm::SmallVectorTemplateBase", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"llvm::SmallVectorTemplateCommon", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"llvm::SmallVectorImpl", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"llvm::SmallVector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"llvm::DenseMap", 0, ENTRY, TYPE_LIKELY, NULL, "llvm::DenseMap<%s> buckets"},
	{"llvm::SmallDenseMap", 0, ENTRY, TYPE_LIKELY, NULL, "llvm::DenseMap<%s> buckets"},
	{"llvm::StringMapEntry", 0, ELEMENT, TYPE_LIKELY, "create", "llvm::StringMap<%s> entry"},
	{"llvm::BumpPtrAllocatorImpl", 0, ELEMENT, TYPE_LIKELY, "StartNewSlab",
	 "llvm::BumpPtrAllocator slab"},
	/* Qt */
	{"QTypedArrayData", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"QArrayDataPointer", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"QVector", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"QList", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"QVarLengthArray", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"QVLABase", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"QMapData", 0, ENTRY, TYPE_LIKELY, "createNode", "QMap<%s> node"},
	{"QMap", 0, ENTRY, TYPE_LIKELY, NULL, "QMap<%s> node"},
	{"QHash", 0, ENTRY, TYPE_LIKELY, NULL, "QHash<%s> node"},
	{"QHashPrivate::Span", 0, POLICY, TYPE_LIKELY, NULL, "QHash<%s> span"},
	{"QHashPrivate::Data", 0, POLICY, TYPE_LIKELY, NULL, "QHash<%s> spans"},
	{"QtSharedPointer::ExternalRefCountWithContiguousData", 0, ELEMENT, TYPE_EXACT, NULL, NULL},
	{"QSharedPointer", 0, ELEMENT, TYPE_LIKELY, "create", NULL},
	/* Rust */
	{"alloc::boxed::Box", 0, OWNED, TYPE_LIKELY, NULL, NULL},
	{"alloc::raw_vec::RawVec", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::vec::Vec", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::vec::from_elem", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::slice::hack::to_vec", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::collections::vec_deque::VecDeque", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::collections::binary_heap::BinaryHeap", 0, ELEMENT, TYPE_LIKELY, NULL, NULL},
	{"alloc::rc::Rc", 0, ELEMENT, TYPE_LIKELY, NULL, "alloc::rc::Rc<%s> block"},
	{"alloc::sync::Arc", 0, ELEMENT, TYPE_LIKELY, NULL, "alloc::sync::Arc<%s> block"},
	{"alloc::collections::btree::node::NodeRef", 1, ENTRY, TYPE_LIKELY, NULL,
	 "alloc::collections::btree::node::LeafNode<%s>"},
	{"alloc::collections::btree::map::BTreeMap", 0, ENTRY, TYPE_LIKELY, NULL,
	 "alloc::collections::btree::node::LeafNode<%s>"},
	{"alloc::collections::linked_list::LinkedList", 0, ELEMENT, TYPE_LIKELY, "push",
	 "LinkedList<%s> node"},
	{"hashbrown::raw::RawTable", 0, TUPLE, TYPE_LIKELY, NULL, NULL},
	{"alloc::string::String", 0, ELEMENT, TYPE_LIKELY, NULL, "u8"},
	{"alloc::str", 0, ELEMENT, TYPE_LIKELY, NULL, "u8"},
};
const u32 frame_rule_count = sizeof frame_rules / sizeof *frame_rules;

/* Functions of the C library, by any of the names that they have there. */
static const struct {
	const char *function, *type;
} c_functions[] = {
	{"fopen", "FILE"},
	{"fopen64", "FILE"},
	{"_IO_fopen", "FILE"},
	{"_IO_new_fopen", "FILE"},
	{"__fopen_internal", "FILE"},
	{"fdopen", "FILE"},
	{"_IO_fdopen", "FILE"},
	{"_IO_new_fdopen", "FILE"},
	{"popen", "FILE"},
	{"_IO_popen", "FILE"},
	{"_IO_new_popen", "FILE"},
	{"tmpfile", "FILE"},
	{"tmpfile64", "FILE"},
	{"fmemopen", "FILE"},
	{"fopencookie", "FILE"},
	{"_IO_fopencookie", "FILE"},
	{"open_memstream", "FILE"},
	{"__open_memstream", "FILE"},
	{"opendir", "DIR"},
	{"__opendir", "DIR"},
	{"fdopendir", "DIR"},
	{"__fdopendir", "DIR"},
	{"__alloc_dir", "DIR"},
	{"_IO_file_doallocate", "char"},
	{"_IO_wfile_doallocate", "wchar_t"},
	{"strdup", "char"},
	{"__strdup", "char"},
	{"strndup", "char"},
	{"__strndup", "char"},
	{"getline", "char"},
	{"__getline", "char"},
	{"getdelim", "char"},
	{"__getdelim", "char"},
	{"_IO_getdelim", "char"},
	{"asprintf", "char"},
	{"__asprintf", "char"},
	{"vasprintf", "char"},
	{"__vasprintf", "char"},
	{"__vasprintf_internal", "char"},
	{"getcwd", "char"},
	{"__getcwd", "char"},
	{"realpath", "char"},
	{"__realpath", "char"},
	{"canonicalize_file_name", "char"},
	{"wcsdup", "wchar_t"},
	{"__wcsdup", "wchar_t"},
};

const char *c_function_type(const char *function)
{
	for (u32 i = 0; i < sizeof c_functions / sizeof *c_functions; i++)
		if (strcmp(c_functions[i].function, function) == 0)
			return c_functions[i].type;
	return NULL;
}

bool frame_is_helper(const char *path)
{
	static const char *const list[] = {
		"std::",
		"__gnu_cxx::",
		"core::",
		"alloc::",
		"__rust_alloc",
		"__rdl_alloc",
		"__rustc",
		"hashbrown::",
		"boost::container::",
		"boost::allocator_",
		"boost::detail::",
		"boost::unordered::",
		"absl::container_internal::",
		"absl::inlined_vector_internal::",
		"absl::base_internal::",
		"folly::detail::",
		"folly::f14::",
		"folly::checked",
		"llvm::allocate_buffer",
		"llvm::safe_",
		"llvm::SmallVectorBase",
		"QArrayData::",
		"QListData::",
		"QHashData::",
		"QMapDataBase::",
		"QtPrivate::",
		"QHashPrivate::",
		"QtSharedPointer::",
		"heapwise::",
	};

	return text_starts_any(path, list);
}

bool frame_runs_others(struct span function)
{
	static const char *const list[] = {
		"construct",     "_M_construct",  "_Construct",
		"__invoke",      "invoke",        "_M_invoke",
		"operator()",    "call_once",     "_M_run",
		"_S_construct",  "destroy",       "__uninitialized",
		"uninitialized", "drop_in_place", "__rust_begin_short_backtrace",
		"{shim:",        "{{vtable.shim"};

	return span_starts_any(function, list) || (function.bytes && function.text[0] == '~');
}
