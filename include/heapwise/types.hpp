/* SPDX-License-Identifier: MIT
 * Declares the types of a C++ program's heap objects, for Heapwise to record. C++11 and later, gcc and
 * clang; header only. It has no effect unless HEAPWISE_TYPES is defined, and a program that is
 * built with it also runs without Heapwise. heapwise-types(3) describes it in detail.
 *
 *	#include <vector>                    // all other headers first
 *	#include <heapwise/types.hpp>
 *	#include <heapwise/define_new.hpp>   // from here on new declares the type
 *
 *	auto *node = new Node(left, right);
 *	auto *items = heapwise::new_array<Item>(100);
 *	auto *pixels = heapwise::new_array<int, struct image_buffer>(width * height);
 *	auto *raw = heapwise::log_type(static_cast<Header *>(std::malloc(bytes)));
 *	std::vector<Item, heapwise::allocator<Item>> list;
 *
 *	#include <heapwise/undef_new.hpp>    // for placement new, and declarations of operator new
 *	::new (raw) Header();
 *	#include <heapwise/define_new.hpp>
 *
 * A type is identified by the address of a one-byte variable. Its name is looked up in the symbol table
 * after the run, so a stripped program needs its separate debug file. */
#ifndef HEAPWISE_TYPES_HPP
#define HEAPWISE_TYPES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "heapwise.h"

#ifdef HEAPWISE_TYPES

namespace heapwise {
namespace detail {

/* Exists only to have a name and an address. Not const, so that no linker merges two of them. */
template <class T> struct type_tag {
	static char here;
};
template <class T> char type_tag<T>::here;

/* Called after the allocation, which the recorder sees by itself: with the header switched off, a program
 * is still recorded, without types. */
template <class T> inline void tell(const volatile void *pointer, std::uint64_t count)
{
	typedef typename std::remove_cv<T>::type bare;

	if (heapwise_recorder_type && pointer)
		heapwise_recorder_type(const_cast<const void *>(pointer), &type_tag<bare>::here, nullptr,
				       count);
}

} /* namespace detail */
} /* namespace heapwise */

/* `new T(…)` becomes `heapwise_new() ->* new (heapwise_one{}) T(…)`. The operator is infix, so that no
 * parenthesis needs to be closed after the new-expression, and binds tighter than everything but a cast. The
 * argument distinguishes single objects from arrays, whose operator is deleted, because an array's type
 * also needs its number of elements. */
struct heapwise_one {};

inline void *operator new(std::size_t size, const heapwise_one &) { return ::operator new(size); }
inline void operator delete(void *pointer, const heapwise_one &) noexcept { ::operator delete(pointer); }
void *operator new[](std::size_t size, const heapwise_one &) = delete; /* use heapwise::new_array<T>(n) */
void operator delete[](void *pointer, const heapwise_one &) = delete;
#ifdef __cpp_aligned_new
inline void *operator new(std::size_t size, std::align_val_t alignment, const heapwise_one &)
{
	return ::operator new(size, alignment);
}
inline void operator delete(void *pointer, std::align_val_t alignment, const heapwise_one &) noexcept
{
	::operator delete(pointer, alignment);
}
void *operator new[](std::size_t size, std::align_val_t alignment, const heapwise_one &) = delete;
void operator delete[](void *pointer, std::align_val_t alignment, const heapwise_one &) = delete;
#endif

struct heapwise_new {
	struct dereferenced { /* of `*new T` */
		template <class T> T &operator->*(T *pointer) const
		{
			::heapwise::detail::tell<T>(pointer, 1);
			return *pointer;
		}
		heapwise_new operator&() const { return heapwise_new(); }
	};

	template <class T> T *operator->*(T *pointer) const
	{
		::heapwise::detail::tell<T>(pointer, 1);
		return pointer;
	}
	dereferenced operator*() const { return dereferenced(); }
};

/* For classes with their own operator new, so that `new` finds it. */
#define HEAPWISE_MEMBER_NEW                                                                        \
	static void *operator new(std::size_t size, const heapwise_one &) { return operator new(size); } \
	static void operator delete(void *pointer, const heapwise_one &) { operator delete(pointer); }

namespace heapwise {

/* Declares the contents of the block that the pointer points into: `count` objects of type T, 0 = unknown. T can be
 * any type, including one that exists only for its name: set_type<struct image_buffer>(pixels). */
template <class T> inline void set_type(const volatile void *pointer, std::uint64_t count = 0)
{
	detail::tell<T>(pointer, count);
}
template <class T> inline void set_type(T *pointer, std::uint64_t count = 0)
{
	detail::tell<T>(pointer, count);
}

/* The same; returns the pointer. */
template <class T> inline T *log_type(T *pointer, std::uint64_t count = 0)
{
	detail::tell<T>(pointer, count);
	return pointer;
}
template <class Name, class T> inline T *log_type_as(T *pointer, std::uint64_t count = 0)
{
	detail::tell<Name>(pointer, count);
	return pointer;
}

/* new T[count] and new T[count](), declared as `count` objects of Name. Free them with delete[]. */
template <class T, class Name = T> inline T *new_array(std::size_t count)
{
	return log_type_as<Name>(new T[count], count);
}
template <class T, class Name = T> inline T *new_array_zeroed(std::size_t count)
{
	return log_type_as<Name>(new T[count](), count);
}

/* A std::allocator for containers that declares types. */
template <class T> struct allocator {
	typedef T value_type;
	typedef std::true_type propagate_on_container_move_assignment;
	typedef std::true_type is_always_equal;

	allocator() noexcept {}
	template <class U> allocator(const allocator<U> &) noexcept {}
	T *allocate(std::size_t count)
	{
		return log_type(std::allocator<T>().allocate(count), count);
	}
	void deallocate(T *pointer, std::size_t count) noexcept
	{
		std::allocator<T>().deallocate(pointer, count);
	}
	template <class U> struct rebind {
		typedef allocator<U> other;
	};
};
template <class T, class U> inline bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
	return true;
}
template <class T, class U> inline bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
	return false;
}

} /* namespace heapwise */

#else /* HEAPWISE_TYPES */

#define HEAPWISE_MEMBER_NEW
#define HEAPWISE_GONE inline __attribute__((always_inline)) /* so that no copy is left */

namespace heapwise {

template <class T> HEAPWISE_GONE void set_type(const volatile void *, std::uint64_t = 0) {}
template <class T> HEAPWISE_GONE void set_type(T *, std::uint64_t = 0) {}
template <class T> HEAPWISE_GONE T *log_type(T *pointer, std::uint64_t = 0) { return pointer; }
template <class Name, class T> HEAPWISE_GONE T *log_type_as(T *pointer, std::uint64_t = 0) { return pointer; }
template <class T, class Name = T> HEAPWISE_GONE T *new_array(std::size_t count) { return new T[count]; }
template <class T, class Name = T> HEAPWISE_GONE T *new_array_zeroed(std::size_t count)
{
	return new T[count]();
}
template <class T> using allocator = std::allocator<T>;
#undef HEAPWISE_GONE

} /* namespace heapwise */

#endif /* HEAPWISE_TYPES */

/* As in C: auto *node = HEAPWISE_TYPE(std::malloc(sizeof(Node)), Node); */
#define HEAPWISE_TYPE(pointer, ...)                                                                \
	(::heapwise::log_type(static_cast<__VA_ARGS__ *>(static_cast<void *>(pointer))))

#endif
