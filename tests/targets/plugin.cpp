// SPDX-License-Identifier: MIT
// A plugin that carries its own C++ library; loaded and unloaded by plugins.c.
extern "C" int plugin_work();

extern "C" int plugin_work()
{
	int *numbers = new int[10], sum = 0;

	for (int i = 0; i < 10; i++)
		numbers[i] = i;
	for (int i = 0; i < 10; i++)
		sum += numbers[i];
	delete[] numbers;
	return sum;
}
