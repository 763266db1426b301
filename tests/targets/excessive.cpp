/* SPDX-License-Identifier: MIT
 * excessive CASE   programs that allocate excessively, or do not, among ordinary allocations.
 *   churn   Listing 2 of the EMAD paper: an object per turn of a loop, freed in the same turn
 *   idle    fewer of them, in a program that mostly waits
 *   pool    the same with the objects from a free list
 *   long    many objects that live long
 *   rare    few objects that live very briefly: high ratio, low frequency (section 4.6)
 *   calls   objects that are frequent for so short a run, among millions of calls of a small routine
 *   alone   the loop and nothing else
 *   million a million objects: each chunk has a size of its own */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>

struct Foo {
	int x;
	int padding[9];
};

static volatile int sink;

static void work(long microseconds)
{
	timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000L + (now.tv_nsec - start.tv_nsec) / 1000 < microseconds);
}

/* Tables, buffers and lists as any program has them: each lives for a phase of the run. */
__attribute__((noinline)) static void *make_entry(size_t size) { return malloc(size); }
__attribute__((noinline)) static void drop_entry(void *entry) { free(entry); }
__attribute__((noinline)) static void *open_buffer(size_t size) { return malloc(size); }
__attribute__((noinline)) static void close_buffer(void *buffer) { free(buffer); }

static std::vector<void *> entries;

__attribute__((noinline)) static void load(int phase)
{
	for (int i = 0; i < 400; i++)
		entries.push_back(make_entry(24 + 8 * (size_t)(i % 8)));
	for (int i = 0; i < 3 + phase; i++) {
		void *buffer = open_buffer(1000 + 100 * (size_t)i);

		work(300 + 40 * i);
		close_buffer(buffer);
	}
}

__attribute__((noinline)) static void unload(void)
{
	for (void *entry : entries)
		drop_entry(entry);
	entries.clear();
}

__attribute__((noinline)) static Foo *make_foo(int x)
{
	Foo *foo = new Foo;

	foo->x = x;
	return foo;
}
__attribute__((noinline)) static void drop_foo(Foo *foo) { delete foo; }

static void churn(int count)
{
	for (int i = 0; i < count; i++) {
		Foo *foo = make_foo(i);

		sink = foo->x;
		drop_foo(foo);
	}
}

static void pool(void)
{
	static Foo store[16];
	std::vector<Foo *> list;

	list.reserve(16);
	for (Foo &foo : store)
		list.push_back(&foo);
	for (int i = 0; i < 300000; i++) {
		Foo *foo = list.back();

		list.pop_back();
		foo->x = i;
		sink = foo->x;
		list.push_back(foo);
	}
}

static std::vector<void *> lasting;

__attribute__((noinline)) static void build(void)
{
	for (int i = 0; i < 20000; i++)
		lasting.push_back(make_entry(16));
}

__attribute__((noinline)) static void tear_down(void)
{
	for (void *entry : lasting)
		drop_entry(entry);
}

__attribute__((noinline)) static int step(int x)
{
	sink = x;
	return x + 1;
}

static void calls(void)
{
	for (int i = 0; i < 10000; i++) {
		Foo *foo = make_foo(i);

		for (int k = 0; k < 60; k++)
			foo->x = step(foo->x);
		drop_foo(foo);
	}
}

static void rare(void)
{
	for (int i = 0; i < 60; i++)
		drop_foo(make_foo(i));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *kept = strdup("kept on purpose");

	if (!strcmp(what, "alone")) {
		churn(300000);
		return kept ? 0 : 1;
	}
	for (size_t size = 0; size < 1000000 && !strcmp(what, "million"); size++)
		close_buffer(open_buffer(size));
	for (int phase = 0; phase < 4; phase++) {
		load(phase);
		if (!strcmp(what, "churn") && phase == 2)
			churn(300000);
		else if (!strcmp(what, "idle") && phase == 2)
			churn(30000);
		else if (!strcmp(what, "pool") && phase == 2)
			pool();
		else if (!strcmp(what, "rare") && phase == 2)
			rare();
		else if (!strcmp(what, "calls") && phase == 2)
			calls();
		else if (!strcmp(what, "long") && phase == 0)
			build();
		if (!strcmp(what, "idle"))
			usleep(500000);
		if (strcmp(what, "calls") != 0)
			work(10000);
		unload();
	}
	tear_down();
	return kept ? 0 : 1;
}
