/* SPDX-License-Identifier: MIT
 * A service with five caches that never evict, a list that is never trimmed, and three that are kept at a fixed size. With each
 * line of its input it handles 1,000 requests, each of which adds one element to each of the six, and says "ready". */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

enum { REQUESTS = 1000, LIMIT = 1500 };

struct Page { /* vtables tell types */
	virtual ~Page() = default;
	char text[400];
};

struct Reply {
	virtual ~Reply() = default;
	char text[300];
};

struct Job {
	virtual ~Job() = default;
	char text[900];
};

struct Row { /* of a hash table with chains, as in C */
	Row *next;
	long key;
	char text[184];
};

struct Service {
	virtual ~Service() = default;
	std::unordered_map<long, std::unique_ptr<Page>> pages; /* rehashed again and again */
	std::map<long, std::string> users;                     /* names are longer than the string itself */
	std::list<std::string> events;                         /* never trimmed */
	std::list<std::string> notes;                          /* of the type of events, but filled once */
	std::list<std::unique_ptr<Job>> jobs;                  /* trimmed */
};

static Service *service;
static std::vector<std::unique_ptr<Reply>> *replies;
static Row *rows[64];
static std::unordered_map<long, std::string> *names;
static std::map<long, std::unique_ptr<Job>> *recent; /* trimmed */

static std::string text_of(long number, std::size_t size)
{
	return std::string(size, static_cast<char>('a' + number % 26));
}

/* The next node of names gets this memory, with a pointer to a job where a string has text that is elsewhere. */
static void leave(Job *job)
{
	static void *(*volatile allocate)(std::size_t) = std::malloc;
	Job **old = static_cast<Job **>(allocate(48));

	old[5] = job;
	std::free(old);
}

static void handle(long number)
{
	service->pages[number] = std::make_unique<Page>();
	service->users[number] = text_of(number, 250);
	service->events.push_back(text_of(number, 350));
	service->jobs.push_back(std::make_unique<Job>());
	if (service->jobs.size() > LIMIT)
		service->jobs.pop_front();
	replies->push_back(std::make_unique<Reply>());
	rows[number % 64] = new Row{rows[number % 64], number, {}};
	leave(service->jobs.back().get());
	(*names)[number] = text_of(number, 150);
	(*recent)[number] = std::make_unique<Job>();
	if (recent->size() > LIMIT)
		recent->erase(recent->begin());
}

/* The first rounds fill what is kept at a fixed size. */
int main()
{
	long number = 0;
	char line[16];

	service = new Service();
	replies = new std::vector<std::unique_ptr<Reply>>();
	names = new std::unordered_map<long, std::string>();
	recent = new std::map<long, std::unique_ptr<Job>>();
	while (number < 2 * LIMIT)
		handle(number++);
	for (long i = 0; i < LIMIT; i++)
		service->notes.push_back(text_of(i, 350));
	do {
		std::puts("ready");
		std::fflush(stdout);
		if (!std::fgets(line, sizeof line, stdin))
			break;
		if (*line == 'x') /* begins anew, in the same process */
			execl("/proc/self/exe", "grows", nullptr);
		for (int i = 0; i < REQUESTS; i++)
			handle(number++);
	} while (true);
	std::_Exit(0);
}
