// SPDX-License-Identifier: MIT
// Objects with virtual functions in every shape. Says of each: name, address of the block, then the types that are right.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shapes {
struct Base {
	virtual ~Base() {}
	virtual int f() { return 1; }
	long base = 1;
};
struct Derived : Base {
	int f() override { return 2; }
	long more = 2;
};
struct Second {
	virtual ~Second() {}
	virtual int g() { return 3; }
	long second = 3;
};
struct Both : Base, Second {
	int f() override { return 4; }
	int g() override { return 5; }
};
struct Plain {
	long a = 1, b = 2;
};
struct Late : Plain { // the pointer comes before the plain base
	virtual int h() { return 6; }
};
struct Left : virtual Base {
	int f() override { return 7; }
};
struct Right : virtual Base {
	long right = 4;
};
struct Diamond : Left, Right {
	int f() override { return 8; }
};
template <class T> struct Box : Base {
	T value{};
	int f() override { return 9; }
};
template <class F> struct Holder : Base {
	explicit Holder(F f) : function(f) {}
	F function;
};
struct alignas(16) Wide {
	virtual ~Wide() {}
	long wide[3] = {1, 2, 3};
};
struct Trivial { // no destructor: its arrays have no cookie
	virtual int t() { return 10; }
	long trivial = 5;
};
// The base's constructor allocates while the object is only a base.
struct Early {
	virtual ~Early() {}
	std::string text = std::string(100, 'x');
};
struct EarlyDerived : Early {
	std::string another = std::string(100, 'y');
};
struct Pointer { // its first word points into the program, but it has no class of its own
	const char *first = "a constant that is long enough to stand alone";
	long rest = 6;
};
} // namespace shapes

namespace {
struct Hidden : shapes::Base {
	int f() override { return 11; }
};
} // namespace

using namespace shapes;

static int calls;

static void settle() // some dozens of calls of the allocator
{
	static void *volatile sink;

	for (int i = 0; i < 400; i++) {
		sink = operator new(24);
		operator delete(sink);
	}
}

template <class T> static T *tell(const char *name, const void *block, T *object, const char *right)
{
	std::printf("%s\t%p\t%s\n", name, block, right);
	calls++;
	return object;
}

static const void *behind(const void *p, int bytes) { return static_cast<const char *>(p) - bytes; }

static Base *volatile kept[64];

static void objects()
{
	struct Local : Base {
		int f() override { return 12; }
	};
	auto lambda = [](int x) { return x + 1; };
	Base *base;

	base = new Base, kept[0] = tell("the class itself", base, base, "shapes::Base");
	base = new Derived, kept[1] = tell("through its base", base, base, "shapes::Derived");
	Both *both = new Both;
	kept[2] = tell("two bases", both, both, "shapes::Both");
	Second *second = new Both;
	tell("through its second base", dynamic_cast<void *>(second), second, "shapes::Both");
	Late *late = new Late;
	tell("a plain base", late, late, "shapes::Late");
	Diamond *diamond = new Diamond;
	kept[3] = tell("virtual bases", diamond, diamond, "shapes::Diamond");
	Base *virtually = new Left;
	kept[4] = tell("through a virtual base", dynamic_cast<void *>(virtually), virtually, "shapes::Left");
	base = new Box<std::pair<int, char>>;
	kept[5] = tell("a template", base, base, "shapes::Box<std::pair<int, char>>\tshapes::Box<std::pair<int, char> >");
	base = new Hidden, kept[6] = tell("an anonymous namespace", base, base, "(anonymous namespace)::Hidden");
	base = new Local, kept[7] = tell("a local class", base, base, "objects()::Local");
	Early *early = new EarlyDerived;
	tell("a base that allocates", early, early, "shapes::EarlyDerived");
	base = new Holder<decltype(lambda)>(lambda);
	kept[8] = tell("a lambda", base, base,
		       "shapes::Holder<objects()::{lambda(int)#1}>\tshapes::Holder<objects()::$_0>");
	std::vector<Derived> *many = new std::vector<Derived>(5);
	tell("elements of a vector", many->data(), many, "shapes::Derived");
	std::shared_ptr<Derived> *shared = new std::shared_ptr<Derived>(std::make_shared<Derived>());
	(void)shared;
	Pointer *pointer = new Pointer;
	tell("no class", pointer, pointer, "-");
	char *text = new char[64];
	std::memset(text, 0, 64);
	tell("no object", text, text, "-");
}

static void arrays()
{
	Base *bases = new Derived[3];
	tell("an array", behind(bases, 8), bases, "shapes::Derived");
	Wide *wides = new Wide[2];
	tell("a wide array", behind(wides, 16), wides, "shapes::Wide");
	Trivial *trivials = new Trivial[4];
	tell("an array without a cookie", trivials, trivials, "shapes::Trivial");
	Both *boths = new Both[2];
	tell("an array of two bases", behind(boths, 8), boths, "shapes::Both");
}

int main()
{
	objects();
	arrays();
	settle();
	std::fflush(stdout);
	return calls > 10 ? 0 : 1;
}
