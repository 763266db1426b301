// SPDX-License-Identifier: MIT
// verdict: kind=slack function=make_page bytes=32768000 chunks=4000
// A text index by pages: the positions of a page are a vector with room for 1,024, of which 30 or so are ever there.
#include "noise.h"
#include <vector>

namespace {

struct Page {
	unsigned number;
	std::vector<unsigned long> positions;
};

APART Page make_page(unsigned number)
{
	Page page{number, {}};

	page.positions.reserve(1024); // the flaw: capacity for the worst case, in every page
	for (unsigned i = 0; i < 20 + number % 20; i++)
		page.positions.push_back(noise_random());
	return page;
}

size_t search(const std::vector<Page> &pages, unsigned long low)
{
	size_t found = 0;

	for (const Page &page : pages)
		for (unsigned long position : page.positions)
			found += position >= low && position < low + 1000;
	return found;
}

} // namespace

int main()
{
	std::vector<Page> pages;
	size_t found = 0;

	noise_start();
	pages.reserve(4000);
	for (unsigned i = 0; i < 4000; i++)
		pages.push_back(make_page(i));
	for (unsigned i = 0; i < 8000; i++) {
		if (i % 200 == 0)
			found += search(pages, i * 100);
		noise_turn(i);
	}
	printf("%zu\n", found);
	noise_end();
}
