/* SPDX-License-Identifier: MIT
 * Containers of the C++ library, as members of an object on the heap, or with ON_STACK of one on the stack: prints a line with
 * name, type, elements and places of each, which `heapwise owners` must show. "-": it has no places. The places of a deque are those of its blocks, which differ from library to library. */
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
	std::string motto_, cleared_;
	std::wstring wide_;
	std::shared_ptr<Session> shared_, again_;
	std::vector<std::shared_ptr<Session>> open_;
	std::map<int, std::weak_ptr<Session>> watched_;
};

/* Its vector has so many elements, and the program so many owners. */
static void print_shared(const std::shared_ptr<Session> &session)
{
	std::printf("shared %zu %ld\n", session->marks.size(), session.use_count());
}

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
	to.motto_.assign(20000, 'm');
	to.motto_.resize(9999);
	to.cleared_.assign(5000, 'c');
	to.cleared_.clear();
	to.wide_.reserve(3000);
	to.wide_.assign(700, L'w');
	to.shared_ = to.again_ = std::make_shared<Session>();
	to.shared_->marks.assign(2500, 1);
	/* one that was in a place which is free now, and one with counts of its own */
	to.open_.reserve(16);
	for (int i = 0; i < 5; i++)
		to.open_.push_back(i < 4 ? to.shared_ : std::shared_ptr<Session>(new Session()));
	to.open_[4]->marks.assign(2400, 1);
	to.open_.push_back(to.open_[4]);
	to.open_.push_back(to.open_[4]);
	to.open_.pop_back();
	to.watched_[1] = to.shared_;
	to.watched_[2] = to.open_[4];
}

static void print(const char *owner, const Registry &of)
{
	std::printf("%s .index_|std::vector<Entry>|1200|%lu\n", owner, places(of.index_));
	std::printf("%s .full_|std::vector<long>|5000|%lu\n", owner, places(of.full_));
	std::printf("%s .sessions_|std::vector<std::unique_ptr<Session>>|300|%lu\n", owner, places(of.sessions_));
	std::printf("%s .names_|std::map<int, std::string>|800|-\n", owner);
	std::printf("%s .times_|std::multiset<long>|600|-\n", owner);
	std::printf("%s .cache_|std::unordered_map<long, Session>|900|%lu\n", owner, of.cache_.bucket_count());
	std::printf("%s .seen_|std::unordered_set<int>|2000|%lu\n", owner, of.seen_.bucket_count());
	std::printf("%s .recent_|std::list<Entry>|150|-\n", owner);
	std::printf("%s .free_|std::forward_list<int>|120|-\n", owner);
#ifdef _LIBCPP_VERSION
	std::printf("%s .queue_|std::deque<long>|2000|3072\n", owner);
#else
	std::printf("%s .queue_|std::deque<long>|2000|2048\n", owner);
#endif
	print_shared(of.shared_);
	print_shared(of.open_[4]);
	std::printf("%s .motto_|std::string|%zu|%lu\n", owner, of.motto_.size(), places(of.motto_));
	std::printf("%s .cleared_|std::string|%zu|%lu\n", owner, of.cleared_.size(), places(of.cleared_));
#ifndef _LIBCPP_VERSION
	std::printf("%s .wide_|std::wstring|%zu|%lu\n", owner, of.wide_.size(), places(of.wide_));
#endif
}

#ifdef ON_STACK

#ifndef ALIGNMENT
#define ALIGNMENT 1
#endif

/* Ends the program while its variables and those of main are there. */
static void serve(std::size_t count)
{
	alignas(ALIGNMENT) char aligned[ALIGNMENT];
	std::map<int, Session> open;

	for (std::size_t i = 0; i < count; i++)
		open[static_cast<int>(i)].marks.assign(20, 1);
	if (count > 1) {
		std::vector<std::string> names;

		for (int i = 0; i < 70; i++)
			names.push_back(std::string(100, 'n'));
		const std::string &first = names[0];

		std::printf("open in serve|std::map<int, Session>|%zu|-\n", open.size());
		std::printf("names in serve|std::vector<std::string>|70|%lu\n", places(names));
		std::printf("waiting in main|std::deque<long>|500|512\n");
		std::fflush(stdout);
		__asm__ volatile("" : : "r"(&names), "r"(&open), "r"(&first), "r"(aligned) : "memory");
		std::_Exit(0);
	}
}

int main(int argc, char **)
{
	Registry registry;
	std::deque<long> waiting;
	std::shared_ptr<Session> mine;

	fill(registry);
	mine = registry.open_[4];
	for (int i = 0; i < 500; i++)
		waiting.push_back(i);
	print("registry in main", registry);
	serve(static_cast<std::size_t>(argc) * 200);
	__asm__ volatile("" : : "r"(&registry), "r"(&waiting), "r"(&mine) : "memory");
}

#else

static std::unique_ptr<Registry> registry;

int main()
{
	registry = std::make_unique<Registry>();
	fill(*registry);
	print("Registry", *registry);
	std::fflush(stdout);
	__asm__ volatile("" : : "r"(&registry) : "memory");
	std::_Exit(0);
}

#endif
