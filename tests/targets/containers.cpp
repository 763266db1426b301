// SPDX-License-Identifier: MIT
// An ordinary, deterministic C++ program: a word index built of standard containers. Its heap usage
// is compared with memcheck's and DHAT's. Usage: containers WORDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

struct Posting {
	unsigned line;
	std::shared_ptr<std::string> text;
};

class Index {
public:
	void add(const std::string &word, unsigned line, const std::shared_ptr<std::string> &text)
	{
		postings_[word].push_back({line, text});
		by_length_[word.size()].push_front(word);
	}
	std::string summary() const
	{
		std::ostringstream out;

		out << postings_.size() << " words";
		for (const auto &entry : by_length_)
			out << ", " << entry.second.size() << " of length " << entry.first;
		return out.str();
	}

private:
	std::unordered_map<std::string, std::vector<Posting>> postings_;
	std::map<size_t, std::list<std::string>> by_length_;
};

static std::string word_make(uint64_t &random)
{
	std::string word;

	random = random * 6364136223846793005u + 1442695040888963407u;
	for (uint64_t bits = random >> 40, n = 3 + bits % 20; n > 0; n--, bits /= 3)
		word += (char)('a' + bits % 7);
	return word;
}

int main(int argc, char **argv)
{
	unsigned words = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
	std::deque<std::string> recent;
	uint64_t random = 7;
	Index index;

	for (unsigned line = 0; line < words / 8; line++) {
		auto text = std::make_shared<std::string>("line " + std::to_string(line));

		for (int i = 0; i < 8; i++) {
			recent.push_back(word_make(random));
			index.add(recent.back(), line, text);
			if (recent.size() > 100)
				recent.pop_front();
		}
	}
	std::puts(index.summary().c_str());
	new char[17]; // kept, by mistake
	return 0;
}
