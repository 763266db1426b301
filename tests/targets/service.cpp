// SPDX-License-Identifier: MIT
// A service whose blocks are freed by other threads than those that allocate them: sessions are made by some threads, grow, and are ended by
// others. First many come, then nearly all leave, and few stay until the end.
//
//	service SESSIONS THREADS SECONDS
//
// SIGUSR1 makes it give back free memory, if the C library can.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <malloc.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct session {
	std::string name;
	std::vector<std::string> log;
	std::unordered_map<int, std::string> fields;
};

using session_ptr = std::unique_ptr<session>;

struct queue {
	std::mutex mutex;
	std::deque<session_ptr> sessions;
};

std::atomic<bool> leaving, stopped;
std::atomic<size_t> made;
volatile std::sig_atomic_t trim_asked;

session_ptr make_session(unsigned &seed, size_t number)
{
	auto one = std::make_unique<session>();

	one->name = "session of user number " + std::to_string(number);
	for (int i = 4 + rand_r(&seed) % 12; i > 0; i--)
		one->log.push_back(std::string(20 + rand_r(&seed) % 300, 'x'));
	for (int i = 0; i < 6; i++)
		one->fields[i] = std::string(30, 'y');
	return one;
}

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

void produce(queue &own, unsigned seed, size_t sessions)
{
	for (size_t i = 0; i < sessions && !stopped; i++) {
		auto one = make_session(seed, made++);
		std::lock_guard<std::mutex> lock(own.mutex);

		own.sessions.push_back(std::move(one));
		if (i % 200 == 0)
			nap(1);
	}
}

session_ptr take(queue &other)
{
	std::lock_guard<std::mutex> lock(other.mutex);
	session_ptr one;

	if (!other.sessions.empty()) {
		one = std::move(other.sessions.front());
		other.sessions.pop_front();
	}
	return one;
}

// Ends sessions of another thread's queue: now and then one, and once they leave all but every 50th.
void consume(queue &other)
{
	std::vector<session_ptr> stay;

	for (size_t seen = 0; !stopped; seen++) {
		session_ptr one = take(other);

		if (one && seen % 50 == 0)
			stay.push_back(std::move(one));
		if (!leaving || !one)
			nap(1);
	}
}

} // namespace

int main(int argc, char **argv)
{
	size_t sessions = argc > 3 ? std::strtoul(argv[1], nullptr, 10) : 0, count, seconds;
	std::vector<std::thread> producers, consumers;

	if (!sessions)
		return 2;
	count = std::strtoul(argv[2], nullptr, 10);
	seconds = std::strtoul(argv[3], nullptr, 10);
	std::signal(SIGUSR1, [](int) { trim_asked = 1; });
	std::vector<queue> queues(count);
	for (size_t i = 0; i < count; i++) {
		producers.emplace_back(produce, std::ref(queues[i]), static_cast<unsigned>(i + 1), sessions / count);
		consumers.emplace_back(consume, std::ref(queues[(i + 1) % count]));
	}
	for (auto &one : producers)
		one.join();
	leaving = true;
	for (size_t i = 0; i < seconds * 100 && !stopped; i++) {
		nap(10);
		if (trim_asked) {
			trim_asked = 0;
			malloc_trim(0);
		}
	}
	stopped = true;
	for (auto &one : consumers)
		one.join();
	std::fprintf(stderr, "%zu sessions\n", made.load());
	return 0;
}
