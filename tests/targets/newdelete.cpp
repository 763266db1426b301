// SPDX-License-Identifier: MIT
// Every form of operator new and delete: plain, array, aligned, nothrow, sized, and failing.
#include "expect.h"

#include <cstdlib>
#include <new>

using std::align_val_t;
using std::nothrow;

static volatile size_t huge = PTRDIFF_MAX;

static void *take(void *memory, size_t size, const char *kind = "new")
{
	expect_true(memory != nullptr, "operator new gave NULL");
	return expect_alloc(kind, memory, size);
}

static void *take_array(void *memory, size_t size) { return take(memory, size, "new_array"); }

static void *give(void *memory, size_t size, const char *kind = "delete")
{
	expect_free(kind, memory, size);
	return memory;
}

static void *give_array(void *memory, size_t size) { return give(memory, size, "delete_array"); }

static void plain_forms()
{
	void *a = take(::operator new(21), 21), *b = take_array(::operator new[](22), 22);
	void *c = take(::operator new(23, nothrow), 23);
	void *d = take_array(::operator new[](24, nothrow), 24);
	void *e = take(::operator new(25), 25), *f = take_array(::operator new[](26), 26);
	void *g = take(::operator new(0), 0);

	::operator delete(give(a, 21));
	::operator delete[](give_array(b, 22));
	::operator delete(give(c, 23), nothrow);
	::operator delete[](give_array(d, 24), nothrow);
	::operator delete(give(e, 25), (size_t)25);
	::operator delete[](give_array(f, 26), (size_t)26);
	::operator delete(give(g, 0));
	::operator delete(nullptr);
	::operator delete[](nullptr);
}

static void aligned_forms()
{
	align_val_t wide = align_val_t(128);
	void *a = take(::operator new(128, wide), 128), *b = take_array(::operator new[](256, wide), 256);
	void *c = take(::operator new(384, wide, nothrow), 384);
	void *d = take_array(::operator new[](512, wide, nothrow), 512);
	void *e = take(::operator new(640, wide), 640), *f = take_array(::operator new[](768, wide), 768);

	expect_true((uintptr_t)a % 128 == 0 && (uintptr_t)d % 128 == 0, "not aligned");
	::operator delete(give(a, 128), wide);
	::operator delete[](give_array(b, 256), wide);
	::operator delete(give(c, 384), wide, nothrow);
	::operator delete[](give_array(d, 512), wide, nothrow);
	::operator delete(give(e, 640), (size_t)640, wide);
	::operator delete[](give_array(f, 768), (size_t)768, wide);
}

// libstdc++ throws and catches inside of these: it allocates an exception, outside of what is compared.
static void failing_forms()
{
	expect_true(::operator new(huge, nothrow) == nullptr, "new(nothrow) of too much");
	expect_true(::operator new[](huge, nothrow) == nullptr, "new[](nothrow) of too much");
}

static int handler_calls;

static void give_up()
{
	handler_calls++;
	std::set_new_handler(nullptr);
}

static void throwing_forms()
{
	bool thrown = false;

	std::set_new_handler(give_up);
	try {
		void *volatile memory = ::operator new(huge);
		(void)memory;
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	expect_true(thrown, "new of too much did not throw");
	expect_true(handler_calls == 1, "the new handler was not called once");
}

struct alignas(64) Wide {
	char bytes[64];
};

static void expressions()
{
	int *volatile one = new int(4);
	Wide *volatile wide = new Wide;
	char *volatile many = new char[99];

	expect_alloc("new", one, sizeof(int));
	expect_alloc("new", wide, sizeof(Wide));
	expect_alloc("new_array", many, 99);
	give(one, sizeof(int));
	delete one;
	give(wide, sizeof(Wide));
	delete wide;
	give_array(many, 99);
	delete[] many;
}

int main()
{
	throwing_forms();
	failing_forms();
	expect_begin();
	plain_forms();
	aligned_forms();
	expressions();
	take(::operator new(4321), 4321); // kept
	expect_end();
	return 0;
}
