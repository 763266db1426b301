// SPDX-License-Identifier: MIT
// verdict: kind=tidy function=make_task bytes=16000000 chunks=10000
// A thread that makes tasks faster than another one does them: the queue grows to the end of the input, then it is drained.
// Whatever the machine, about one task is done for each two that are made: the threads wait for each other.
#include "noise.h"
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace {

constexpr unsigned tasks = 20000;

struct Task {
	unsigned number;
	unsigned char data[1596];
};

std::mutex lock;
std::condition_variable changed;
std::list<std::unique_ptr<Task>> queue; // the flaw: no limit
unsigned made, done;

APART std::unique_ptr<Task> make_task(unsigned number)
{
	std::unique_ptr<Task> task(new Task);

	task->number = number;
	memset(task->data, static_cast<int>(number), sizeof task->data);
	return task;
}

void produce()
{
	for (unsigned i = 0; i < tasks; i++) {
		auto task = make_task(i);
		std::unique_lock<std::mutex> held(lock);

		changed.wait(held, [i] { return done + 64 >= i / 2; });
		queue.push_back(std::move(task));
		made++;
		changed.notify_all();
	}
}

unsigned perform(const Task &task)
{
	if (task.number % 2)
		noise_turn(task.number);
	return task.data[task.number % sizeof task.data];
}

void consume(unsigned *sum)
{
	for (unsigned i = 0; i < tasks; i++) {
		std::unique_ptr<Task> task;
		{
			std::unique_lock<std::mutex> held(lock);

			changed.wait(held, [i] { return made >= 2 * i + 2 || made == tasks; });
			task = std::move(queue.front());
			queue.pop_front();
			done++;
		}
		changed.notify_all();
		*sum += perform(*task);
	}
}

} // namespace

int main()
{
	unsigned sum = 0;

	noise_start();
	std::thread producer(produce), consumer(consume, &sum);
	producer.join();
	consumer.join();
	printf("%u\n", sum);
	noise_end();
}
