// SPDX-License-Identifier: MIT
// Exceptions of the program's own classes and of the library's, thrown by the program and by the library.
#include <stdexcept>
#include <string>
#include <vector>

struct Mine { // 64: g++ writes no debug information of what is only thrown
	int code;
	char text[60];
};

struct Derived : std::runtime_error { // 32
	int extra[4];
	Derived() : std::runtime_error("derived"), extra() {}
};

namespace one
{
struct Same { // 96, as the other
	long numbers[12];
};
} // namespace one

namespace two
{
struct Same {
	long numbers[12];
};
} // namespace two

one::Same *same_one;
two::Same *same_two;

static std::vector<std::exception_ptr> kept;

__attribute__((noinline)) static void library(int i)
{
	if (i)
		throw std::runtime_error("a text that is long enough to be in a block of its own");
}

__attribute__((noinline)) static void mine(int i)
{
	if (i)
		throw Mine{i, "mine"};
}

__attribute__((noinline)) static void derived(int i)
{
	if (i)
		throw Derived();
}

__attribute__((noinline)) static void same(int i)
{
	using two::Same;

	if (i)
		throw Same();
}

__attribute__((noinline)) static void number(int i) { throw i; }

template <typename Function> static void keep(Function function)
{
	try {
		function();
	} catch (...) {
		kept.push_back(std::current_exception());
	}
}

int main(int argc, char **)
{
	std::vector<int> numbers(3);
	std::string text("x");

	keep([&] { library(argc); });
	keep([&] { mine(argc); });
	keep([&] { derived(argc); });
	keep([&] { same(argc); });
	keep([&] { number(argc); });
	keep([&] { numbers.at(100) = 1; });
	keep([&] { text.resize(text.max_size() + 1); });
	same_one = new one::Same();
	same_two = new two::Same();
	return kept.size() != 7;
}
