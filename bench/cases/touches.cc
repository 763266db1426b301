/* SPDX-License-Identifier: MIT
 * touches [swap]   200 controls of a user interface follow touches and forget them: with clear, which keeps the
 * buffer, or by a swap with an empty vector, which does not. After Mihalicza, Porkoláb and Gábor (2011), section V. */
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

struct TouchEvent {
	int x, y;
	unsigned long time;
};

struct Control {
	explicit Control(int number) : name("control " + std::to_string(number) + " of the page"), pixels(4096) {}

	void follow(int count)
	{
		for (int i = 0; i < count; i++)
			touches.push_back(TouchEvent{i, i / 2, static_cast<unsigned long>(i)});
	}
	void forget(bool swap)
	{
		if (swap)
			std::vector<TouchEvent>().swap(touches);
		else
			touches.clear();
	}

	std::string name;
	std::vector<unsigned char> pixels;
	std::vector<TouchEvent> touches;
};

int main(int argc, char **argv)
{
	bool swap = argc > 1 && std::strcmp(argv[1], "swap") == 0;
	std::vector<std::unique_ptr<Control>> page;
	size_t left = 0;

	for (int i = 0; i < 200; i++)
		page.push_back(std::make_unique<Control>(i));
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < page.size(); i++) {
			page[i]->follow(40 + static_cast<int>(i % 90));
			page[i]->forget(swap);
			left += page[i]->touches.size();
		}
	std::printf("%zu touches are left\n", left);
	return 0;
}
