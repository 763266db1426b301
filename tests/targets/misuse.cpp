// SPDX-License-Identifier: MIT
// misuse CASE...   uses the heap wrongly, each CASE once, in functions whose names say which. With the
// C library's allocator a wrong free is often the program's end; with libbump.so, which never looks
// at what it is given back, all cases can follow each other.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define APART __attribute__((noinline, optimize("no-optimize-sibling-calls")))
#ifdef __clang__
#undef APART
#define APART __attribute__((noinline, disable_tail_calls))
#endif

static char in_data[64];
static void *volatile hidden; // what the compiler may not reason about

template <typename T> static T *hide(T *p)
{
	hidden = p;
	return static_cast<T *>(hidden);
}

APART static void *allocate(size_t size) { return hide(malloc(size)); }
APART static void free_once(void *p) { free(hide(p)); }
APART static void free_again(void *p) { free(hide(p)); }

struct plain {
	int numbers[10];
};

static void double_free()
{
	void *p = allocate(40);

	free_once(p);
	free_again(p);
}

static void delete_twice()
{
	plain *p = hide(new plain);

	delete p;
	::operator delete(hidden);
}

static void realloc_freed()
{
	void *p = allocate(40);

	free_once(p);
	hide(realloc(hide(p), 30));
}

// The C library notices only after it has made and filled the new block.
static void realloc_freed_moves()
{
	void *p = allocate(40), *next = allocate(40);

	free_once(p);
	hide(realloc(hide(p), 4000));
	free(next);
}

static void inside()
{
	char *p = static_cast<char *>(allocate(100));

	free_once(hide(p + 8));
}

static void of_data() { free_once(in_data + 16); }

static void of_stack()
{
	char local[64];

	memset(local, 0, sizeof local);
	free_once(hide(local) + 16);
}

static void malloc_delete() { delete static_cast<plain *>(allocate(sizeof(plain))); }
static void malloc_delete_array() { delete[] static_cast<char *>(allocate(20)); }
static void new_free() { free(hide(new plain)); }
static void new_delete_array()
{
	int *p = hide(new int);

	delete[] p;
}
static void array_delete()
{
	int *p = hide(new int[7]);

	delete p;
}
static void array_free() { free(hide(new int[7])); }
static void new_realloc() { free(realloc(hide(new plain), 200)); }

// Right uses that a careless judge would report.
static void right()
{
	struct alignas(64) wide {
		char bytes[128];
	};

	delete hide(new wide);
	delete[] hide(new wide[3]);
	delete hide(new (std::nothrow) plain);
	delete[] hide(new (std::nothrow) plain[3]);
	::operator delete(hide(::operator new(30)), std::nothrow);
	::operator delete(hide(::operator new(30, std::align_val_t(64))), std::align_val_t(64));
	free(hide(realloc(allocate(10), 20)));
	free(hide(calloc(3, 4)));
	free(hide(aligned_alloc(64, 128)));
	free(hide(strdup("a copy")));
	delete static_cast<plain *>(nullptr);
	free(nullptr);
}

static const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{"double_free", double_free},
	{"delete_twice", delete_twice},
	{"realloc_freed", realloc_freed},
	{"realloc_freed_moves", realloc_freed_moves},
	{"inside", inside},
	{"of_data", of_data},
	{"of_stack", of_stack},
	{"malloc_delete", malloc_delete},
	{"malloc_delete_array", malloc_delete_array},
	{"new_free", new_free},
	{"new_delete_array", new_delete_array},
	{"array_delete", array_delete},
	{"array_free", array_free},
	{"new_realloc", new_realloc},
	{"right", right},
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool known = false;

		for (const auto &one : cases)
			if (strcmp(one.name, argv[i]) == 0) {
				one.run();
				known = true;
			}
		if (!known)
			return 2;
	}
	return 0;
}
