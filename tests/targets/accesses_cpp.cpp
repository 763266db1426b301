// SPDX-License-Identifier: MIT
// As accesses.c, for C++: containers, exceptions that cross instrumented frames, a plugin that is loaded
// and unloaded, code of another object file that is not instrumented. Prints lines of the same form.
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void plain_fill(char *memory, int bytes); // accesses_plain.c, not instrumented

namespace {

struct Failure {
	explicit Failure(int n) : number(n) {}
	int number;
	char text[1200] = {};
};

int thrower(volatile char *memory, int depth)
{
	std::unique_ptr<char[]> local(new char[64]);

	memory[depth] = (char)depth;
	if (depth == 9)
		throw Failure(depth);
	return thrower(memory, depth + 1) + local[0];
}

void exceptions()
{
	auto *memory = new char[3001];
	int caught = 0;

	for (int i = 0; i < 5; i++) {
		try {
			thrower(memory, 0);
		} catch (const Failure &failure) {
			caught += failure.number;
		}
	}
	if (caught != 45)
		abort();
	std::printf("3001 0 50 0 50 0 10 %s\n", MERGES ? "unsided" : "-");
	delete[] memory;
}

void plugin(const char *path)
{
	for (int i = 0; i < 3; i++) {
		void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		auto *fill = module ? (void (*)(volatile char *, int))dlsym(module, "plugin_fill") : nullptr;
		auto *memory = (char *)malloc(3100 + i);

		if (!fill) {
			std::printf("%s\n", dlerror());
			abort();
		}
		fill(memory, 100);
		std::printf("%d 0 100 0 100 0 100 %s\n", 3100 + i, MERGES ? "unsided" : "-");
		free(memory);
		dlclose(module);
	}
}

// What plain code accesses is not seen.
void plain()
{
	auto *memory = (char *)malloc(3200);

	plain_fill(memory, 3200);
	if (((volatile char *)memory)[77] != 1)
		abort();
	std::printf("3200 1 0 1 0 77 78 %s\n", MERGES ? "unsided" : "-");
	free(memory);
}

}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	exceptions();
	plain();
	if (argc > 1)
		plugin(argv[1]);
	return 0;
}
