// SPDX-License-Identifier: MIT
// wastes [turns]   needless work for the heap, one kind per function; all is freed but what leak() makes.
// Prints nothing. tests/cli/test_findings.sh knows the numbers.
#include <cstdlib>
#include <cstring>
#include <vector>

#define CALLED __attribute__((noinline))

static volatile int sink;

static CALLED void chunk_in_a_loop(int turns)
{
	for (int i = 0; i < turns; i++) {
		char *volatile text = static_cast<char *>(malloc(100));

		text[0] = 'x';
		sink = text[0];
		free(text);
	}
}

// 1, 2, 4, … 4096 ints: twelve moves to a larger array
static CALLED void vector_growth(void)
{
	std::vector<int> numbers;

	for (int i = 0; i < 4096; i++)
		numbers.push_back(i);
	sink = numbers[17];
}

// 64 B to 1 MiB by doubling: 14 reallocs of a live block
static CALLED void realloc_growth(void)
{
	void *volatile block = malloc(32);

	for (size_t size = 64; size <= 1 << 20; size *= 2) {
		block = realloc(block, size);
		memset(block, 1, size);
	}
	free(block);
}

static CALLED void no_bytes(int turns)
{
	std::vector<void *> blocks(static_cast<size_t>(turns));

	for (void *&block : blocks)
		block = malloc(0);
	for (void *block : blocks)
		free(block);
}

static CALLED void leak(void)
{
	for (int i = 0; i < 10; i++) {
		char *volatile text = static_cast<char *>(calloc(1, 1000));

		text[0] = 'x';
	}
}

// What the leak scan might still find on the stack is overwritten.
static CALLED void forget(void)
{
	volatile char stack[4096];

	for (size_t i = 0; i < sizeof stack; i++)
		stack[i] = 0;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1000;

	chunk_in_a_loop(turns);
	for (int i = 0; i < 4; i++)
		vector_growth();
	realloc_growth();
	no_bytes(turns / 2);
	leak();
	forget();
	return 0;
}
