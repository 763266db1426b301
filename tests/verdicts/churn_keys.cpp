// SPDX-License-Identifier: MIT
// verdict: kind=churn function=key_of calls=2500000
// A lookup of settings by "section.name": the key is put together anew for each lookup, too long to be stored inside the string.
#include "noise.h"
#include <map>
#include <string>

namespace {

using Settings = std::map<std::string, int, std::less<>>;

APART std::string key_of(unsigned section, unsigned name)
{
	std::string key(32, '.'); // the flaw: one string, reused, or a pair of numbers

	key[0] = static_cast<char>('a' + section);
	key[31] = static_cast<char>('a' + name);
	return key;
}

Settings make_settings()
{
	Settings settings;

	for (unsigned section = 0; section < 8; section++)
		for (unsigned name = 0; name < 4; name++)
			settings.emplace(key_of(section, name), section * name);
	return settings;
}

int setting(const Settings &settings, unsigned section, unsigned name)
{
	auto found = settings.find(key_of(section, name));

	return found == settings.end() ? -1 : found->second;
}

} // namespace

int main()
{
	Settings settings;
	long sum = 0;

	noise_start();
	settings = make_settings();
	for (unsigned i = 0; i < 2500000; i++) {
		sum += setting(settings, i % 8, i / 8 % 5);
		if (i % 800 == 0)
			noise_turn(i);
	}
	printf("%ld\n", sum);
	noise_end();
}
