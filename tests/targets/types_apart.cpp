// SPDX-License-Identifier: MIT
// Declared types in a program without any virtual class: their tags are in .bss, which may lie apart from the code.
#include <heapwise/types.hpp>
#include <heapwise/define_new.hpp>

namespace shop
{
struct Order {
	long numbers[25];
};

template <typename T> struct Crate {
	T things[29];
};
} // namespace shop

struct Point {
	double x, y, z;
};

static shop::Order *volatile order;
static shop::Crate<int> *volatile crate;
static Point *volatile point;

int main()
{
	order = new shop::Order;
	crate = new shop::Crate<int>;
	point = new Point;
	return 0;
}
