// SPDX-License-Identifier: MIT
// accesses_all PLUGIN   all at once: eight threads that throw exceptions through many frames, load and unload
// a library, fork children that do the same, and share containers. Each checks what it wrote; the
// program prints what was done, always the same, and ends with status 1 if a byte was not what it should be.
// Chunks of 6001 bytes are written by the library only: its first 100 bytes, once.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

enum { THREADS = 8, ROUNDS = 12, FRAMES = 150 };

std::mutex loading; // a fork must not happen while another thread is in the loader
std::mutex sharing;
std::map<std::string, std::vector<int>> shared;
std::atomic<int> caught, loaded, forked, wrong;
const char *plugin;

struct Failure : std::runtime_error {
	Failure(const std::string &text, int sum) : std::runtime_error(text), sum(sum) {}
	int sum;
	char padding[700] = {};
};

// Frames with something to destroy, each with memory of its own.
int descend(int depth, int sum, const std::string &name)
{
	std::unique_ptr<int[]> local(new int[8 + depth % 16]);
	std::string text = name + std::to_string(depth);

	for (int i = 0; i < 8 + depth % 16; i++)
		local[i] = depth;
	if (depth == FRAMES)
		throw Failure(text, sum);
	return descend(depth + 1, sum + local[depth % 8], name) + local[0];
}

void check(bool right)
{
	if (!right)
		wrong++;
}

void exceptions(const std::string &name)
{
	try {
		descend(0, 0, name);
		check(false);
	} catch (const Failure &failure) {
		check(failure.sum == FRAMES * (FRAMES - 1) / 2);
		check(failure.what() == name + std::to_string((int)FRAMES));
		check(failure.padding[699] == 0);
		caught++;
	}
}

void load()
{
	std::lock_guard<std::mutex> lock(loading);
	void *module = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
	auto *fill = module ? (void (*)(volatile char *, int))dlsym(module, "plugin_fill") : nullptr;
	auto *memory = (char *)malloc(6001);

	if (!fill || !memory) {
		std::fprintf(stderr, "%s\n", dlerror());
		std::exit(1);
	}
	fill(memory, 100);
	free(memory);
	dlclose(module);
	loaded++;
}

// The child has one thread, a copy of all memory, and its own counters.
void in_child(int number)
{
	std::vector<std::string> words;

	wrong = 0;
	for (int i = 0; i < 50; i++)
		words.push_back(std::string(100 + i, (char)('a' + number % 26)));
	for (int i = 0; i < 50; i++)
		check((int)words[i].size() == 100 + i && words[i][99] == 'a' + number % 26);
	exceptions("child ");
	_exit(wrong ? 1 : number);
}

void make_child(int number)
{
	int status = 0;
	pid_t child;

	{
		std::lock_guard<std::mutex> first(loading), second(sharing);
		child = fork();
	}
	if (child == 0)
		in_child(number);
	check(child > 0 && waitpid(child, &status, 0) == child);
	check(WIFEXITED(status) && WEXITSTATUS(status) == number);
	forked++;
}

void share(int number, int round)
{
	std::lock_guard<std::mutex> lock(sharing);

	for (int i = 0; i < THREADS; i++)
		shared["key " + std::to_string(i)].push_back(number * ROUNDS + round);
}

void work(int number)
{
	for (int round = 0; round < ROUNDS; round++) {
		exceptions("thread " + std::to_string(number) + " frame ");
		share(number, round);
		load();
		if (round % 4 == number % 4)
			make_child(number + 1);
	}
}

}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	long sum = 0, count = 0;

	if (argc != 2)
		return 2;
	plugin = argv[1];
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
	for (const auto &entry : shared)
		for (int value : entry.second) {
			sum += value;
			count++;
		}
	check(count == THREADS * THREADS * ROUNDS);
	check(sum == (long)THREADS * (THREADS * ROUNDS) * (THREADS * ROUNDS - 1) / 2);
	std::printf("threads %d caught %d loaded %d forked %d sum %ld wrong %d\n", THREADS, caught.load(),
		    loaded.load(), forked.load(), sum, wrong.load());
	return wrong ? 1 : 0;
}
