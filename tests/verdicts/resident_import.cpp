// SPDX-License-Identifier: MIT
// verdict: kind=pinned function=index_row bytes=51000000
// A CSV import: between the cells of each row, which go after it, lies the key that stays: 1.5 MB of keys spread over 50 MB of pages.
#include "noise.h"
#include <string>
#include <vector>

namespace {

constexpr unsigned rows = 12000, cells = 16;

using Row = std::vector<std::string>;

APART Row parse_row(unsigned number)
{
	Row row;

	row.reserve(cells);
	for (unsigned i = 0; i < cells; i++)
		row.emplace_back(180 + (number + i) % 100, static_cast<char>('a' + i));
	return row;
}

APART std::string index_row(const Row &row, unsigned number)
{
	return row[0].substr(0, 60) + "/" + row[1].substr(0, 20) + "#" + std::to_string(number);
}

struct Table {
	std::vector<std::string> keys;
	std::vector<Row> batch;
};

void import_batch(Table &table)
{
	table.batch.reserve(rows);
	table.keys.reserve(rows);
	for (unsigned i = 0; i < rows; i++) {
		table.batch.push_back(parse_row(i));
		table.keys.push_back(index_row(table.batch.back(), i));
	}
	std::vector<Row>().swap(table.batch); // the flaw: keys first, or in one block, or rows at a time
}

size_t look_up(const Table &table, unsigned number) { return table.keys[number % table.keys.size()].size(); }

} // namespace

int main()
{
	Table table;
	size_t found = 0;

	noise_start();
	import_batch(table);
	for (unsigned i = 0; i < 14000; i++) {
		found += look_up(table, i * 31);
		noise_turn(i);
	}
	printf("%zu\n", found);
	noise_end();
}
