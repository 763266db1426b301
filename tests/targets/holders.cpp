/* SPDX-License-Identifier: MIT
 * A service that keeps what it should let go: who holds how much is known. Sizes are of malloc's or operator new's argument. */
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

struct Session { /* its vtable tells its type */
	Session(long number, char *text, Session *rest) : id(number), name(text), next(rest) {}
	virtual ~Session() = default;

	long id;
	char *name;
	Session *next; /* a list that is never trimmed */
};

struct Registry {
	long count;
	Session *sessions;
};

struct Entry {
	char text[1000];
};

static Registry *registry;
/* with its memory until the end: its destructor is not called */
alignas(8) static char cache[sizeof(std::vector<Entry *>)];
static char *shared_a, *shared_b;

static char *make_text(std::size_t size)
{
	char *text = static_cast<char *>(std::malloc(size));

	if (!text)
		std::abort();
	return static_cast<char *>(std::memset(text, 'x', size));
}

/* 100 sessions of 32 bytes with a name of 2,000 bytes each: 203,200 bytes, and 16 of the registry. */
static void open_sessions()
{
	registry = new Registry{0, nullptr};
	for (long i = 0; i < 100; i++) {
		registry->sessions = new Session(i, make_text(2000), registry->sessions);
		registry->count++;
	}
}

/* 64 entries of 1,000 bytes, and the array of 64 pointers: 64,512 bytes. */
static void fill_cache()
{
	auto *entries = new (cache) std::vector<Entry *>();

	entries->reserve(64);
	for (int i = 0; i < 64; i++)
		entries->push_back(new Entry());
}

int main()
{
	open_sessions();
	fill_cache();
	shared_a = shared_b = make_text(5000);
	__asm__ volatile("" : : "r"(&registry), "r"(&shared_a), "r"(&shared_b) : "memory");
	std::exit(0);
}
