// SPDX-License-Identifier: MIT
// C++ types of known sizes: namespaces, classes in classes, templates, containers' nodes.
#include <list>
#include <map>
#include <string>

namespace shop
{
struct order { // 200
	long numbers[25];
	class line // 216
	{
	      public:
		long numbers[27];
	};
	line first;
	long more[200];
};

template <typename T> struct crate { // crate<long>: 232
	T things[29];
};

inline namespace v2
{
struct ticket { // 248
	long numbers[31];
};
} // namespace v2
} // namespace shop

namespace
{
struct hidden { // 264
	long numbers[33];
};
} // namespace

static shop::order::line *volatile line;
static shop::crate<long> *volatile crate;
static shop::ticket *volatile ticket;
static hidden *volatile secret;

int main()
{
	struct local { // 280: nobody's to look for
		long numbers[35];
	};
	static local *volatile here;
	std::map<int, std::string> names;
	std::list<std::string> words;

	line = new shop::order::line;
	crate = new shop::crate<long>;
	ticket = new shop::ticket;
	secret = new hidden;
	here = new local;
	names[1] = "one";
	words.push_back("two");
	return names.size() != words.size();
}
