// SPDX-License-Identifier: MIT
// shop [ORDERS]   A program with one of each: tests/web/tasks.test.mjs asks who of it does what.
//
//	load          holds most at the peak, and the variable `catalogue` keeps it
//	open_session  loses each tenth session
//	audit         writes what nobody reads
//	render        allocates and frees without end, on two threads called "worker"
//	order         holds more the more ORDERS there are (4000)

#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct item {
	std::string name;
	char notes[200];
};

struct session {
	long user;
	char scratch[512];
};

static std::map<long, item *> *catalogue;
static std::vector<std::string> *orders;
static std::vector<char *> *reports;
static volatile long seen;

static void load()
{
	catalogue = new std::map<long, item *>;
	for (long i = 0; i < 12000; i++) {
		item *made = new item;

		made->name = "an item of the shop with the number " + std::to_string(i);
		memset(made->notes, 1, sizeof made->notes);
		(*catalogue)[i] = made;
	}
}

static session *open_session(long user)
{
	session *made = new session;

	made->user = user;
	memset(made->scratch, 0, sizeof made->scratch);
	return made;
}

static void handle(long user)
{
	session *opened = open_session(user);

	seen = seen + opened->user + opened->scratch[7];
	if (user % 10)
		delete opened;
}

static void order(long number)
{
	orders->push_back("order number " + std::to_string(number) + " was taken and will be sent");
	seen = seen + static_cast<long>(orders->back().size());
}

static void audit()
{
	reports = new std::vector<char *>;
	for (int i = 0; i < 200; i++) {
		char *made = static_cast<char *>(malloc(4000));

		memset(made, i, 4000);
		reports->push_back(made);
	}
}

static long render(long number)
{
	std::string page;

	for (int i = 0; i < 20; i++)
		page += "<li>item " + std::to_string(number * i) + " of the shop, in stock</li>";
	return static_cast<long>(page.size());
}

static void work(long from)
{
	long sum = 0;

	pthread_setname_np(pthread_self(), "worker");
	for (long i = from; i < from + 1500; i++)
		sum += render(i);
	seen = seen + sum;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 4000;

	load();
	audit();
	orders = new std::vector<std::string>;
	std::thread one(work, 0), other(work, 100000);

	for (long i = 0; i < count; i++) {
		handle(i);
		order(i);
	}
	one.join();
	other.join();
	for (const auto &entry : *catalogue)
		seen = seen + entry.second->notes[5];
	usleep(200000);
	for (char *made : *reports)
		free(made);
	delete reports;
	return seen == 42;
}
