/* SPDX-License-Identifier: MIT
 * records [arena]: writes one record with 1,000 numbers and five parts of 1,000 each, then reads it 1,000
 * times, each time into a new record, which it drops; with "arena" each record is in an arena of its own. Prints how
 * much was read. */
#include <cstdio>
#include <cstring>
#include <string>

#include "record.pb.h"

namespace
{

const int turns = 1000, numbers = 1000, parts = 5;

std::string written()
{
	Record record;

	record.set_name("a record with a name that does not fit into the string itself");
	for (int i = 0; i < numbers; i++)
		record.add_numbers(i * 7919);
	for (int p = 0; p < parts; p++) {
		Part *part = record.add_parts();

		for (int i = 0; i < numbers; i++)
			part->add_numbers(i * 104729 + p);
	}
	return record.SerializeAsString();
}

/* That all of it was read; the numbers are not looked at, as in the paper, where the loop does nothing else. */
long long count(const Record &record)
{
	long long total = (long long)record.name().size() + record.numbers_size();

	for (const Part &part : record.parts())
		total += part.numbers_size();
	return total;
}

long long read_once(const std::string &bytes, bool use_arena)
{
	if (use_arena) {
		google::protobuf::Arena arena;
		Record *record = google::protobuf::Arena::CreateMessage<Record>(&arena);

		return record->ParseFromString(bytes) ? count(*record) : -1;
	}
	Record *record = new Record;
	long long total = record->ParseFromString(bytes) ? count(*record) : -1;

	delete record;
	return total;
}

} /* namespace */

int main(int argc, char **argv)
{
	bool use_arena = argc > 1 && strcmp(argv[1], "arena") == 0;
	std::string bytes = written();
	long long total = 0;

	for (int i = 0; i < turns; i++)
		total += read_once(bytes, use_arena);
	printf("%lld\n", total);
	return 0;
}
