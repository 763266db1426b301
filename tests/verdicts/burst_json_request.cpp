// SPDX-License-Identifier: MIT
// verdict: kind=burst function=parse_value bytes=19460000 chunks=300002
// A service that parses JSON requests into trees. They are small, but for one: it alone makes the peak, many times what else there is.
#include "noise.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Value {
	enum Kind { number, list } kind = number;
	double as_number = 0;
	std::vector<std::unique_ptr<Value>> items;
	char raw[24] = {};
};

struct Reader {
	const char *at;
};

APART std::unique_ptr<Value> parse_value(Reader &reader)
{
	std::unique_ptr<Value> value(new Value);

	if (*reader.at != '[') {
		const char *begin = reader.at;

		while (*reader.at >= '0' && *reader.at <= '9')
			reader.at++;
		memcpy(value->raw, begin, std::min<size_t>(reader.at - begin, sizeof value->raw - 1));
		value->as_number = atoi(value->raw);
		return value;
	}
	value->kind = Value::list;
	value->items.reserve(8);
	for (reader.at++; *reader.at != ']'; reader.at += *reader.at == ',')
		value->items.push_back(parse_value(reader));
	reader.at++;
	return value;
}

std::string document(unsigned lists)
{
	std::string text = "[";

	text.reserve(lists * 40 + 8);
	for (unsigned i = 0; i < lists; i++)
		text += i ? ",[1,22,333,4444,5,66,777,8]" : "[1,22,333,4444,5,66,777,8]";
	return text += "]";
}

double sum(const Value &value)
{
	double total = value.as_number;

	for (const auto &item : value.items)
		total += sum(*item);
	return total;
}

} // namespace

int main()
{
	double total = 0;

	noise_start();
	for (unsigned i = 0; i < 8000; i++) {
		bool large = i == 5000;

		if (large || i % 20 == 0) {
			std::string text = document(large ? 30000 : 6);
			Reader reader{text.c_str()};

			total += sum(*parse_value(reader));
		}
		noise_turn(i);
	}
	printf("%.0f\n", total);
	noise_end();
}
