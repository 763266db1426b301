/* SPDX-License-Identifier: MIT
 * Containers of the C++ library, as members of an object on the heap: prints a line with name, type, elements and places of
 * each, which `heapwise owners` must show. "-": it has no places. "?": the number is only in
 * the program's bytes. The places of a deque are those of its blocks, which differ from library to library. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct Entry {
	long key;
	std::string text;
};

struct Session {
	std::vector<int> marks;
};

struct Registry {
	std::vector<Entry> index_;
	std::vector<long> full_;
	std::vector<std::unique_ptr<Session>> sessions_;
	std::map<int, std::string> names_;
	std::multiset<long> times_;
	std::unordered_map<long, Session> cache_;
	std::unordered_set<int> seen_;
	std::list<Entry> recent_;
	std::forward_list<int> free_;
	std::deque<long> queue_;
	std::string motto_;
	std::shared_ptr<Session> shared_, again_;
};

static std::unique_ptr<Registry> registry;

template <typename T> static unsigned long places(const T &container) { return container.capacity(); }

static void fill(Registry &to)
{
	to.index_.reserve(4000);
	for (int i = 0; i < 1200; i++)
		to.index_.push_back({i, std::string(40, 'x')});
	to.full_.assign(5000, 7);
	for (int i = 0; i < 300; i++)
		to.sessions_.emplace_back(new Session());
	for (int i = 0; i < 800; i++)
		to.names_[i * 7] = std::string(50, 'n');
	for (int i = 0; i < 600; i++)
		to.times_.insert(i % 50);
	for (int i = 0; i < 900; i++)
		to.cache_[i].marks.assign(10, i);
	for (int i = 0; i < 2000; i++)
		to.seen_.insert(i);
	for (int i = 0; i < 150; i++)
		to.recent_.push_back({i, ""});
	for (int i = 0; i < 120; i++)
		to.free_.push_front(i);
	for (int i = 0; i < 3000; i++)
		to.queue_.push_back(i);
	for (int i = 0; i < 1000; i++)
		to.queue_.pop_front();
	to.motto_.assign(9999, 'm');
	to.shared_ = to.again_ = std::make_shared<Session>();
	to.shared_->marks.assign(2500, 1);
}

int main()
{
	registry = std::make_unique<Registry>();
	fill(*registry);
	std::printf("Registry .index_|std::vector<Entry>|1200|%lu\n", places(registry->index_));
	std::printf("Registry .full_|std::vector<long>|5000|%lu\n", places(registry->full_));
	std::printf("Registry .sessions_|std::vector<std::unique_ptr<Session>>|300|%lu\n", places(registry->sessions_));
	std::printf("Registry .names_|std::map<int, std::string>|800|-\n");
	std::printf("Registry .times_|std::multiset<long>|600|-\n");
	std::printf("Registry .cache_|std::unordered_map<long, Session>|900|%lu\n", registry->cache_.bucket_count());
	std::printf("Registry .seen_|std::unordered_set<int>|2000|%lu\n", registry->seen_.bucket_count());
	std::printf("Registry .recent_|std::list<Entry>|150|-\n");
	std::printf("Registry .free_|std::forward_list<int>|120|-\n");
#ifdef _LIBCPP_VERSION
	std::printf("Registry .queue_|std::deque<long>|?|3072\n");
#else
	std::printf("Registry .queue_|std::deque<long>|2000|2048\n");
#endif
	std::printf("Registry .motto_|std::string|?|%lu\n", places(registry->motto_));
	std::fflush(stdout);
	__asm__ volatile("" : : "r"(&registry) : "memory");
	std::_Exit(0);
}
