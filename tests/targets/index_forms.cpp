// SPDX-License-Identifier: MIT
// Allocations of C++ in many forms. A comment "= T | U" says which types those of its line have.
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

static void *volatile kept;
static std::size_t some = 3;

namespace space {
struct Point {
	double x, y;
};
template <class K, class V> struct Pair {
	K key;
	V value;
};
}

struct Leaf {
	Leaf(long v = 0) : value(v) {}
	~Leaf() { kept = this; }
	long value;
};
struct Branch {
	Branch(Leaf *l, Leaf *r) : left(l), right(r) {}
	Leaf *left, *right;
	long weight = 1;
};
struct Base {
	virtual ~Base() {}
	long id = 1;
};
struct Derived : Base {
	long more[4] = {};
};
struct Pooled {
	static void *operator new(std::size_t size) { return std::malloc(size); }
	static void operator delete(void *block) { std::free(block); }
	long cells[6];
};
struct alignas(64) Wide {
	long word[8];
};
struct Buffered { /* its buffer is not a Buffered */
	Buffered() : buffer(new short[20]), text(100, 'x') {} // = short
	short *buffer;
	std::string text;
};
namespace {
struct Hidden {
	char c[19];
};
}
enum class Color : short { red };

template <class T> T *make() { return new T(); } // = space::Point | Leaf
template <class T> struct Stack {
	T *grow(std::size_t n) { return static_cast<T *>(std::malloc(n * sizeof(T))); } // = Branch | Leaf*
	template <class U> U **table(U *) { return new U *[4]; } // = Wide*
	T *outside();
};
template <class T> struct Holder {
	typename T::inner *nested();
};
template <class T> T *Stack<T>::outside() { return new T[2]; } // = Color | int
struct Outer {
	struct inner {
		int i[5];
	};
};
template <class T> typename T::inner *Holder<T>::nested() { return new typename T::inner; } // = Outer::inner

static void take(Branch *branch) { kept = branch; }

static void single()
{
	kept = new Leaf; // = Leaf
	kept = new Leaf(7); // = Leaf
	kept = new space::Point{1, 2}; // = space::Point
	kept = ::new space::Point(); // = space::Point
	kept = new space::Pair<int, space::Pair<char, long>>(); // = space::Pair<int, space::Pair<char, long> >
	kept = new int(3); // = int
	kept = new Leaf *(nullptr); // = Leaf*
	kept = new (std::nothrow) Branch(nullptr, nullptr); // = Branch
	kept = new Pooled; // = Pooled
	kept = new Wide; // = Wide
	kept = new Hidden; // = (anonymous namespace)::Hidden
	kept = new Color(Color::red); // = Color
	kept = new auto(1.5); // = double
	Base *base = new Derived; // = Derived
	kept = base;
	kept = (void *)new const space::Point{3, 4}; // = space::Point
	kept = new std::vector<int>(); // = std::vector<int, std::allocator<int> >
	struct Local {
		char c[33];
	};
	kept = new Local; // = single()::Local
}

static void lines()
{
	take(new Branch(new Leaf, new Leaf(3))); // = Branch | Leaf
	kept = new Leaf, kept = new Wide; // = Leaf | Wide
	kept = new // = Derived
		Derived;
	kept = new Branch( // = Branch
		new Leaf, // = Leaf
		nullptr);
	kept = new Buffered; // = Buffered
	auto closure = [](int n) { return new Leaf *[static_cast<unsigned>(n)]; }; // = Leaf*
	kept = closure(3);
}

static void arrays()
{
	typedef Leaf Ten[10];

	kept = new int[some]; // = int
	kept = new Leaf[some]; // = Leaf
	kept = new Ten; // = Leaf
	kept = new int[some][4]; // = int [4]
	kept = new char[some]; // = char
	kept = new char[sizeof(Branch) + some]; // ~ Branch | char
	kept = reinterpret_cast<Branch *>(new char[sizeof(Branch)]); // ~ Branch | char
	kept = new const char *[some]; // = char const*
}

static void raw()
{
	kept = std::malloc(sizeof(Branch)); // = Branch
	kept = static_cast<Leaf *>(std::calloc(some, sizeof(Leaf))); // = Leaf
	kept = new (std::malloc(sizeof(Wide))) Wide; // = Wide
	kept = ::operator new(sizeof(Derived)); // = Derived
	kept = (std::string *)std::malloc(320); // = std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >
}

static void templates()
{
	kept = make<Leaf>();
	kept = make<space::Point>();
	Stack<Branch> branches;
	Stack<Leaf *> pointers;
	kept = branches.grow(5);
	kept = pointers.grow(6);
	kept = branches.table(static_cast<Wide *>(nullptr));
	kept = Stack<int>().outside();
	kept = Stack<Color>().outside();
	kept = Holder<Outer>().nested();
}

static void library() // the library's own allocations are not for this index
{
	std::vector<Leaf> leaves(5);
	std::map<int, std::string> map;

	map[3] = std::string(200, 'y');
	kept = leaves.data();
	kept = &map[3];
	kept = std::make_shared<Branch>(nullptr, nullptr).get();
	kept = new std::vector<long>(7); // = std::vector<long, std::allocator<long> >
}

int main()
{
	single();
	lines();
	arrays();
	raw();
	templates();
	library();
	std::_Exit(0);
}
