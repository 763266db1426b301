// SPDX-License-Identifier: MIT
// verdict: kind=growth function=note bytes=4800000 chunks=24000
// Bank accounts with an audit: each transfer leaves a line in memory, which nobody writes out.
#include "noise.h"
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Line {
	unsigned number, from, to;
	long amount;
	char text[176];
};

class Audit
{
public:
	APART void note(unsigned number, unsigned from, unsigned to, long amount)
	{
		std::unique_ptr<Line> line(new Line{number, from, to, amount, {}});

		snprintf(line->text, sizeof line->text, "%u: %ld from %u to %u", number, amount, from, to);
		lines_.push_back(std::move(line)); // the flaw: until the end of the program
	}
	size_t size() const { return lines_.size(); }

private:
	std::deque<std::unique_ptr<Line>> lines_;
};

struct Account {
	long balance = 1000;
	std::string owner;
};

std::string statement(const Account &account) { return account.owner + " has now the sum of " + std::to_string(account.balance); }

} // namespace

int main()
{
	static Audit audit;
	std::vector<Account> accounts(500);
	size_t written = 0;

	noise_start();
	for (unsigned i = 0; i < 500; i++)
		accounts[i].owner = "the owner of account " + std::to_string(i);
	for (unsigned i = 0; i < 24000; i++) {
		unsigned from = noise_random() % 500, to = noise_random() % 500;
		long amount = noise_random() % 100;

		accounts[from].balance -= amount;
		accounts[to].balance += amount;
		audit.note(i, from, to, amount);
		if (i % 16 == 0)
			written += statement(accounts[to]).size();
		if (i % 2 == 0)
			noise_turn(i);
	}
	printf("%zu bytes, %zu lines\n", written, audit.size());
	fflush(stdout);
	_Exit(0); // as servers end that are told to
}
