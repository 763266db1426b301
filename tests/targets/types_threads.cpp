/* SPDX-License-Identifier: MIT
 * Threads that allocate objects of three types, each with a size of its own, and hand them to the next
 * thread to free: addresses go from thread to thread all the time. */
#include <atomic>
#include <thread>
#include <vector>

#include <heapwise/types.hpp>
#include <heapwise/define_new.hpp>

template <int bytes> struct Sized {
	char filler[bytes];
};
struct Small : Sized<1040> {};
struct Middle : Sized<1072> {};
struct Large : Sized<1104> {};

enum { THREADS = 8, ROUNDS = 4000 };

struct Item {
	void *object;
	int kind;
};

static std::atomic<Item *> mailbox[THREADS];

static void end(Item *item)
{
	if (!item)
		return;
	switch (item->kind) {
	case 0: delete static_cast<Small *>(item->object); break;
	case 1: delete static_cast<Middle *>(item->object); break;
	case 2: delete static_cast<Large *>(item->object); break;
	}
	delete item;
}

static void work(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		Item *item = new Item();

		item->kind = (i + me) % 3;
		switch (item->kind) {
		case 0: item->object = new Small; break;
		case 1: item->object = new Middle; break;
		case 2: item->object = new Large; break;
		}
		end(mailbox[(me + 1) % THREADS].exchange(item));
		end(mailbox[me].exchange(nullptr));
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
	for (auto &box : mailbox)
		end(box.exchange(nullptr));
}
