// SPDX-License-Identifier: MIT
// Allocations before main (constructors, initialisers) and after it (atexit, destructors of statics,
// of the thread and of the library), and by the destructors of a thread that ends.
// Sizes are 5 above a multiple of 16, by which events.sh tells them from those of libc.
#include "expect.h"

#include <cstdlib>
#include <pthread.h>
#include <thread>

static void touch(size_t size)
{
	void *memory = expect_alloc("malloc", malloc(size), size);

	expect_free("free", memory, size);
	free(memory);
}

__attribute__((constructor(101))) static void first()
{
	expect_begin();
	touch(16 + 5);
}

__attribute__((constructor)) static void constructor() { touch(32 + 5); }

__attribute__((destructor)) static void destructor() { touch(48 + 5); }

__attribute__((destructor(101))) static void last()
{
	touch(64 + 5);
	expect_end();
}

struct Static {
	void *memory = expect_alloc("new", ::operator new(80 + 5), 80 + 5);
	~Static()
	{
		expect_free("delete", memory, 80 + 5);
		::operator delete(memory);
		touch(96 + 5);
	}
};

static Static object;
static thread_local Static object_of_thread;

static void at_exit() { touch(112 + 5); }

static pthread_key_t key;

static void key_destructor(void *memory)
{
	expect_free("free", memory, 128 + 5);
	free(memory);
	touch(144 + 5);
}

static void thread_body()
{
	// The first use constructs it.
	expect_true(object_of_thread.memory != nullptr, "no object of the thread");
	pthread_setspecific(key, expect_alloc("malloc", malloc(128 + 5), 128 + 5));
}

int main()
{
	atexit(at_exit);
	pthread_key_create(&key, key_destructor);
	thread_body();
	key_destructor(pthread_getspecific(key));
	pthread_setspecific(key, nullptr);
	std::thread(thread_body).join();
	exit(0);
}
