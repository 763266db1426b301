/* SPDX-License-Identifier: MIT
 * caches NAME: a service with five caches that never evict, a list that is never trimmed and a ring of shared_ptr that nobody
 * holds. The one that is named gets 4,000 requests, the others 100 each. It waits for the end of its input. */
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
	std::string user;
	char buffer[400];
};

struct Address {
	char bytes[400];
};

struct Image {
	std::unique_ptr<char[]> pixels;
};

struct Chain { /* of a hash table made by hand */
	Chain *next;
	char *key;
};

struct Server {
	long started = 0;
	std::unordered_map<std::string, std::shared_ptr<Session>> sessions;
	std::list<std::string> audit;
};

class Resolver {
public:
	void answer(int number) { known_[name(number)] = {}; }
	static std::string name(int number) { return "host-" + std::to_string(number) + ".example.org"; }

private:
	long hits_ = 0;
	std::map<std::string, Address> known_;
};

struct Peer {
	std::shared_ptr<Peer> other;
	char state[400];
};

static Server *server;
static Resolver resolver;
static std::vector<Image> thumbnails;
static Chain *interned[64];

static std::deque<std::string> &templates()
{
	static auto *all = new std::deque<std::string>;

	return *all;
}

static void intern(int number)
{
	Chain *one = new Chain{interned[number % 64], new char[400]};

	std::snprintf(one->key, 400, "word %d", number);
	interned[number % 64] = one;
}

static void lose_ring()
{
	auto one = std::make_shared<Peer>(), two = std::make_shared<Peer>();

	one->other = two;
	two->other = one;
}

static void serve(const std::string &what, int number)
{
	if (what == "sessions")
		server->sessions["user " + std::to_string(number)] = std::make_shared<Session>();
	else if (what == "resolver")
		resolver.answer(number);
	else if (what == "thumbnails")
		thumbnails.push_back({std::unique_ptr<char[]>(new char[400])});
	else if (what == "interned")
		intern(number);
	else if (what == "templates")
		templates().push_back(std::string(400, 'x'));
	else if (what == "audit")
		server->audit.push_back(std::string(400, 'x'));
	else
		lose_ring();
}

int main(int argc, char **argv)
{
	static const char *const all[] = {"sessions", "resolver", "thumbnails", "interned", "templates", "audit", "ring"};

	server = new Server;
	for (const char *name : all)
		for (int i = 0; i < (argc > 1 && !std::strcmp(name, argv[1]) ? 4000 : 100); i++)
			serve(name, i);
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
}
