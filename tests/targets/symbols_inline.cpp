/* SPDX-License-Identifier: MIT
 * Code for the symbol tests: C++ whose functions are templates, constructors, lambdas and members
 * of local classes, inlined into each other several levels deep. */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {

struct point {
	double x, y;
	point(double a, double b) : x(a), y(b) {}
	double norm() const { return x * x + y * y; }
};

class shape {
public:
	explicit shape(std::string n) : name(std::move(n)) {}
	virtual ~shape() {}
	virtual double area() const = 0;
	const std::string &label() const { return name; }

private:
	std::string name;
};

template <typename T> class polygon : public shape {
public:
	polygon(const char *n, std::initializer_list<T> c) : shape(n), corners(c) {}
	double area() const override
	{
		double sum = 0;
		for (const T &corner : corners)
			sum += weigh(corner);
		return sum;
	}
	~polygon() override { std::printf("~%s\n", label().c_str()); }

private:
	static double weigh(const T &corner) { return corner.norm() * scale<2>(corner); }
	template <int N> static double scale(const T &corner) { return corner.x * N - corner.y; }
	std::vector<T> corners;
};

namespace {
struct hidden {
	int calls = 0;
	int operator()(int x) { return ++calls + x; }
};
}

int count(const std::map<std::string, int> &words)
{
	hidden add;
	int sum = 0;

	for (const auto &word : words)
		sum = add(sum) + word.second;
	return sum;
}

} // namespace shapes

template <typename F> static auto twice(F f)
{
	return f() + f();
}

static int local_classes(int n)
{
	struct local {
		int value;
		__attribute__((noinline)) int grow(int by)
		{
			auto step = [this, by] { return value += by; };
			return twice(step);
		}
	};
	local l{ n };
	return l.grow(3);
}

int main(int argc, char **argv)
{
	std::map<std::string, int> words;
	std::vector<std::unique_ptr<shapes::shape>> all;

	for (int i = 0; i < argc + 5; i++) {
		words[std::string(argv[0]) + std::to_string(i % 4)]++;
		all.push_back(std::make_unique<shapes::polygon<shapes::point>>(
			"polygon",
			std::initializer_list<shapes::point>{ { 1.0, i * 2.0 }, { 2.0, 1.0 } }));
	}
	std::sort(all.begin(), all.end(),
		  [](const auto &a, const auto &b) { return a->area() < b->area(); });
	try {
		if (all.front()->area() > 1e9)
			throw std::string("large");
	} catch (const std::string &what) {
		std::puts(what.c_str());
	}
	std::printf("%f %d %d\n", all.back()->area(), shapes::count(words), local_classes(argc));
	return 0;
}
