// SPDX-License-Identifier: MIT
// Blocks that C++ programs keep, for the comparison with memcheck. Usage: leaks_cpp CASE
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noipa))
#endif

void *volatile globals[8];

static APART void wipe()
{
	volatile char stack[96 * 1024];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

using Words = std::map<std::string, std::vector<std::string>>;

template <typename T> static APART T *filled() { return new T(); }

static APART Words *words(int count)
{
	Words *all = filled<Words>();

	for (int i = 0; i < count; i++) {
		std::vector<std::string> row;

		for (int k = 0; k <= i % 5; k++)
			row.push_back("a text that does not fit into a string object: " +
				      std::to_string(k));
		(*all)["the name of row number " + std::to_string(i)] = row;
	}
	return all;
}

// Containers: one held by a global, one lost as a whole.
static APART void case_containers()
{
	globals[0] = words(40);
	words(30);
	auto *queue = filled<std::deque<int>>();
	for (int i = 0; i < 1000; i++)
		queue->push_back(i);
	globals[1] = queue;
	auto *table = filled<std::unordered_map<int, std::string>>();
	for (int i = 0; i < 100; i++)
		(*table)[i] = "value number " + std::to_string(i);
	globals[2] = table;
	auto *chain = filled<std::list<std::string>>();
	for (int i = 0; i < 20; i++)
		chain->push_back("an element that is long enough to be elsewhere");
}

struct Named {
	std::string name = "a name that is long enough to be elsewhere";
	~Named();
};
Named::~Named() {}

// new[] of a type with a destructor: the program has a pointer behind the number of elements.
static APART void case_arrays()
{
	globals[0] = new Named[7];
	new Named[5];
	globals[1] =
		reinterpret_cast<char *>(new Named[3]) + sizeof(Named); // second element: possible
	globals[2] = new int[10]();
}

struct First {
	virtual ~First();
	long a = 1;
};
First::~First() {}
struct Second {
	virtual ~Second();
	std::string text = "a text that is long enough to be elsewhere";
};
Second::~Second() {}
struct Both : First, Second {
	~Both() override;
	long c = 3;
};
Both::~Both() {}

// Held by a pointer to the second base only; by one into the middle, where no base is; not at all.
static APART void case_bases()
{
	globals[0] = static_cast<Second *>(new Both);
	globals[1] = reinterpret_cast<char *>(new Both) + sizeof(First) + 8;
	new Both;
}

struct Linked {
	std::shared_ptr<Linked> next;
	std::string text = "a text that is long enough to be elsewhere";
};

static APART void case_shared()
{
	auto a = std::make_shared<Linked>(), b = std::make_shared<Linked>();

	a->next = b;
	b->next = a;
	auto *held = filled<std::shared_ptr<Linked>>();
	*held = std::make_shared<Linked>();
	globals[0] = held;
}

// Length, capacity and reference count before the characters, as strings were before C++11; and a
// length before the bytes that it counts.
static APART void case_counted()
{
	auto *text = static_cast<size_t *>(calloc(1, 24 + 50 + 1));
	auto *bytes = static_cast<size_t *>(calloc(1, 8 + 100));
	auto *wrong = static_cast<size_t *>(calloc(1, 24 + 50 + 1));

	text[0] = 20;
	text[1] = 50;
	globals[0] = text + 3;
	bytes[0] = 100;
	globals[1] = bytes + 1;
	wrong[0] = 60; // longer than its capacity
	wrong[1] = 50;
	globals[2] = wrong + 3;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} cases[] = {{"containers", case_containers},
		     {"arrays", case_arrays},
		     {"bases", case_bases},
		     {"shared", case_shared},
		     {"counted", case_counted}};

	for (const auto &one : cases) {
		if (argc != 2 || std::strcmp(argv[1], one.name) != 0)
			continue;
		one.run();
		wipe();
		return 0;
	}
	std::fprintf(stderr, "usage: leaks_cpp CASE\n");
	return 2;
}
