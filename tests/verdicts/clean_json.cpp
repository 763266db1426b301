// SPDX-License-Identifier: MIT
// verdict: kind=none
// A JSON reader with documents of up to 2,000 values, one after the other: values are by value in a vector that keeps its room.
#include "noise.h"
#include <memory>
#include <string>
#include <vector>

namespace {

struct Value {
	double number = 0;
	unsigned depth = 0;
};

class Document
{
public:
	Document() { values_.reserve(4000); }
	void parse(const std::string &text)
	{
		unsigned depth = 0;

		values_.clear();
		for (size_t i = 0; i < text.size(); i++) {
			depth += text[i] == '[';
			depth -= text[i] == ']';
			if (text[i] >= '0' && text[i] <= '9')
				values_.push_back({static_cast<double>(text[i] - '0'), depth});
		}
	}
	double sum() const
	{
		double total = 0;

		for (const Value &value : values_)
			total += value.number * value.depth;
		return total;
	}

private:
	std::vector<Value> values_;
};

APART std::string request(unsigned number)
{
	std::string text;

	text.reserve(4 * (100 + number * 131 % 1900) + 4);
	text += '[';
	for (unsigned i = 0; i < 100 + number * 131 % 1900; i++)
		text += i % 3 ? "1," : "[2],";
	return text += ']';
}

} // namespace

int main()
{
	auto document = std::unique_ptr<Document>(new Document);
	double total = 0;

	noise_start();
	for (unsigned i = 0; i < 12000; i++) {
		if (i % 4 == 0) {
			std::string text = request(i / 4);

			document->parse(text);
			total += document->sum();
		}
		noise_turn(i);
	}
	printf("%.0f\n", total);
	noise_end();
}
