// SPDX-License-Identifier: MIT
// verdict: kind=growth function=touch bytes=5760000 chunks=40000
// Sessions in a std::map by token. Logged out ones are marked and never erased.
#include "noise.h"
#include <map>
#include <string>

namespace {

struct Session {
	unsigned user = 0, hits = 0;
	bool open = false;
	char address[88] = {};
};

class Sessions
{
public:
	APART Session &touch(unsigned long token)
	{
		Session &session = by_token_[token]; // a node of 144 bytes

		session.hits++;
		session.open = true;
		return session;
	}
	void close(unsigned long token)
	{
		auto found = by_token_.find(token);

		if (found != by_token_.end())
			found->second.open = false; // the flaw: erase was meant
	}
	size_t size() const { return by_token_.size(); }

private:
	std::map<unsigned long, Session> by_token_;
};

std::string cookie(unsigned long token) { return "session=" + std::to_string(token) + "; path=/; secure"; }

} // namespace

int main()
{
	static Sessions *sessions = new Sessions; // a singleton that lives to the end
	size_t written = 0;

	noise_start();
	for (unsigned i = 0; i < 40000; i++) {
		unsigned long token = i * 2654435761ul % 4294967291ul;
		Session &session = sessions->touch(token);

		session.user = i;
		snprintf(session.address, sizeof session.address, "10.0.%u.%u", i / 256 % 256, i % 256);
		if (i % 8 == 0)
			written += cookie(token).size();
		sessions->close(token);
		if (i % 3 == 0)
			noise_turn(i);
	}
	printf("%zu bytes, %zu sessions\n", written, sessions->size());
	noise_end();
}
