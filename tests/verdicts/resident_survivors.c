// SPDX-License-Identifier: MIT
// verdict: kind=not_given_back function=entry_new bytes=23500000
// An import makes 160,000 entries and drops all but one in 40: one stays in each 10 KB, and 1 MB live keeps 40 MB resident for the rest of
// the run. An entry of 256 bytes lies on 17/16 pages, so that 5.9 of each 10 KB are free pages, and 4.1 are free beside an entry.
#include "noise.h"

enum { ENTRIES = 160000, KEPT = 40, TURNS = 14000 };

struct entry {
	unsigned id, references;
	char text[232];
};

static struct entry *entries[ENTRIES];

APART static struct entry *entry_new(unsigned id)
{
	struct entry *entry = malloc(sizeof *entry);

	entry->id = id;
	entry->references = id % KEPT == 0;
	memset(entry->text, 'e', sizeof entry->text);
	return entry;
}

APART static unsigned import_all(void)
{
	unsigned used = 0;

	for (unsigned i = 0; i < ENTRIES; i++)
		entries[i] = entry_new(i);
	for (unsigned i = 0; i < ENTRIES; i++) {
		if (entries[i]->references) {
			used++;
		} else {
			free(entries[i]);
			entries[i] = NULL;
		}
	}
	return used;
}

static unsigned look_up(unsigned turn)
{
	const struct entry *entry = entries[turn * KEPT % ENTRIES];

	return entry ? entry->id : 0;
}

int main(void)
{
	unsigned found = 0, used;

	noise_start();
	used = import_all();
	for (unsigned i = 0; i < TURNS; i++) {
		found += look_up(i) != 0;
		noise_turn(i);
	}
	printf("%u of %u\n", found, used);
	for (unsigned i = 0; i < ENTRIES; i++)
		free(entries[i]);
	noise_end();
	return 0;
}
