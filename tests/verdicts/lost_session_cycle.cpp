// SPDX-License-Identifier: MIT
// verdict: kind=lost function=open_session bytes=11360000
// A server of sessions: a session owns its handler, and the handler its session, so that neither ever goes. Two chunks per session.
#include "noise.h"
#include <memory>
#include <string>
#include <vector>

namespace {

struct Handler;

struct Session {
	explicit Session(unsigned id) : id(id) { noise_fill(state, sizeof state); }
	unsigned id, requests = 0;
	std::shared_ptr<Handler> handler;
	char state[1008 - 24];
};

struct Handler {
	std::shared_ptr<Session> session; // the flaw: a weak_ptr was meant
	unsigned served = 0;
	char name[76];
};

APART std::shared_ptr<Session> open_session(unsigned id)
{
	auto session = std::make_shared<Session>(id);

	session->handler = std::make_shared<Handler>();
	session->handler->session = session;
	snprintf(session->handler->name, sizeof session->handler->name, "handler %u", id);
	return session;
}

std::string answer(Session &session, unsigned request)
{
	session.handler->served++;
	session.requests += request % 7;
	return "200 OK, session " + std::to_string(session.id) + ", request " + std::to_string(request);
}

} // namespace

int main()
{
	std::vector<std::shared_ptr<Session>> open(64);
	size_t written = 0;

	noise_start();
	for (unsigned i = 0; i < 10000; i++) {
		open[i % open.size()] = open_session(i);
		written += answer(*open[i % open.size()], i).size();
		noise_turn(i);
	}
	printf("%zu bytes written\n", written);
	noise_end();
}
