// SPDX-License-Identifier: MIT
// verdict: kind=peak type=Person function=read_staff,read_guests,read_suppliers bytes=17280000 chunks=30000
// An address book. A record has room for the longest name, street and note; three readers make them, so that no path has half of the
// peak, but one type has.
#include "noise.h"
#include <memory>
#include <vector>

namespace {

struct Person {
	unsigned id = 0, group = 0;
	char name[120] = {}, street[192] = {}, note[256] = {}; // the flaw
};

using People = std::vector<std::unique_ptr<Person>>;

void fill(Person &person, unsigned id, unsigned group)
{
	person.id = id;
	person.group = group;
	snprintf(person.name, sizeof person.name, "person %u", id);
	snprintf(person.street, sizeof person.street, "street %u", id % 100);
}

APART void read_staff(People &people)
{
	for (unsigned i = 0; i < 10000; i++) {
		people.emplace_back(new Person);
		fill(*people.back(), i, 1);
		if (i % 8 == 0)
			noise_turn(i);
	}
}

APART void read_guests(People &people)
{
	for (unsigned i = 0; i < 10000; i++) {
		std::unique_ptr<Person> person(new Person);

		fill(*person, i * 3, 2);
		people.push_back(std::move(person));
		if (i % 8 == 0)
			noise_turn(i);
	}
}

APART void read_suppliers(People &people)
{
	for (unsigned i = 0; i < 10000; i++) {
		auto person = std::unique_ptr<Person>(new Person);

		fill(*person, i * 7, 3);
		people.push_back(std::move(person));
		if (i % 8 == 0)
			noise_turn(i);
	}
}

unsigned search(const People &people, const char *name)
{
	unsigned found = 0;

	for (const auto &person : people)
		found += strstr(person->name, name) != nullptr;
	return found;
}

} // namespace

int main()
{
	People people;
	unsigned found = 0;

	noise_start();
	people.reserve(30000);
	read_staff(people);
	read_guests(people);
	read_suppliers(people);
	for (unsigned i = 0; i < 40; i++) {
		found += search(people, "99");
		for (unsigned k = 0; k < 150; k++)
			noise_turn(i + k);
	}
	printf("%u\n", found);
	noise_end();
}
