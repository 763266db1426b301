/* SPDX-License-Identifier: MIT
 * Allocates in every form that C++ has, and says what it allocated: a line for each form,
 *
 *	form TAB address TAB size TAB type [TAB alternative]…
 *
 * The address lies in the block (not always at its start); the block has at least `size` bytes. The type is
 * what a reader of the source would name; alternatives are as right, such as the node of a container for
 * the element in it. Blocks live until the end of the program. With HEAPWISE_TYPES the program tells
 * Heapwise the types as heapwise/types.hpp says, without it is an ordinary program, whose arrays come from
 * new expressions, too. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>
#if __cplusplus >= 201703L
#include <any>
#endif

#include <heapwise/types.hpp>

#include <heapwise/define_new.hpp>
#include <heapwise/define_new.hpp> /* as often as one likes */

using heapwise::allocator;
using heapwise::log_type;
#ifdef HEAPWISE_TYPES
using heapwise::new_array;
#endif

/* ---- saying what was allocated ---- */

static const void *volatile kept; /* the compiler must not do without a block */

template <class T> static std::string name_of()
{
	char *text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, nullptr);
	std::string name = text ? text : typeid(T).name();

	std::free(text);
	return name;
}

static void say(const char *form, const volatile void *address, std::size_t size,
		const std::string &type, const std::string &other = "")
{
	kept = const_cast<const void *>(address);
	std::printf("%s\t%p\t%zu\t%s%s%s\n", form, kept, size, type.c_str(), other.empty() ? "" : "\t",
		    other.c_str());
}

template <class T> static T *is(const char *form, T *pointer, std::size_t count = 1)
{
	say(form, pointer, count * sizeof(T), name_of<T>());
	return pointer;
}

/* ---- what is allocated ---- */

struct Pod {
	int a, b;
	double c;
};

struct Noisy {
	Noisy() : text("noisy") {}
	explicit Noisy(const char *t) : text(t) {}
	~Noisy() { kept = text; }
	const char *text;
	long pad = 0;
};

struct Shape {
	virtual ~Shape() {}
	virtual int area() const = 0;
	int id = 1;
};
struct Circle : Shape {
	int area() const override { return 3; }
	int radius[5] = {};
};
struct Named {
	virtual ~Named() {}
	const char *name = "";
};
struct Label : Circle, Named {
	long extra[3] = {};
};
struct Left : virtual Shape {
	int left = 0;
};
struct Right : virtual Shape {
	int right = 0;
};
struct Diamond : Left, Right {
	int area() const override { return 4; }
};

struct Leaf {
	long value[2];
};
struct Branch {
	Branch(Leaf *l, Leaf *r) : left(l), right(r) {}
	Leaf *left, *right;
	long weight = 0;
};

template <class K, class V> struct Table {
	K keys[6];
	V values[6];
};

struct alignas(16) Sixteen {
	float lane[4];
};
struct alignas(64) Line {
	long word[8];
};
struct alignas(64) NoisyLine {
	~NoisyLine() { kept = this; }
	long word[8];
};

struct Throws {
	explicit Throws(bool now)
	{
		if (now)
			throw std::runtime_error("as asked");
	}
	long filler[9];
};

struct Pool { /* has its own operators */
#include <heapwise/undef_new.hpp>
	static void *operator new(std::size_t size) { return std::malloc(size); }
	static void operator delete(void *pointer) { std::free(pointer); }
	HEAPWISE_MEMBER_NEW
#include <heapwise/define_new.hpp>
	long cells[4];
};

struct RefCount {
	long references;
};
struct Packet { /* C, with a flexible array: the rest is behind it */
	unsigned length;
	unsigned char first;
};
struct c_record {
	struct c_record *next;
	char key[40];
};
union Either {
	double number;
	char text[24];
};
enum Color : unsigned short { red };
struct pixel_buffer {}; /* pseudo types: there are no such objects */

namespace {
struct Hidden {
	int x[7];
};
}

static Branch *grow(Branch *branch) { return branch; }

/* ---- forms ---- */

static void single()
{
	is("single", new Pod());
	is("single-no-parentheses", new Pod);
	is("single-braces", new Pod{1, 2, 3.0});
	is("single-builtin", new int(7));
	is("single-pointer", new Pod *(nullptr));
	is("single-const", new const Noisy("const"));
	is("single-auto", new auto(2.5L));
	is("single-parenthesised", new (Noisy)("in parentheses"));
	is("single-commas", new std::pair<int, int>(3, 4));
	is("single-template", new Table<short, std::pair<long, char>>());
	is("single-enum", new Color(red));
	is("single-union", new Either());
	is("single-hidden", new Hidden());
	is("single-global", ::new Noisy("global"));
	is("single-own-operators", new Pool());
	is("single-dereferenced", &*new Noisy("reference"));
	is("single-conditional", kept ? new Leaf() : nullptr);
#ifdef HEAPWISE_TYPES
	is("single-array-of-pointers", new_array<Pod *>(9), 9);
#else
	is("single-array-of-pointers", new Pod *[9], 9);
#endif
	struct Local {
		char c[33];
	};
	is("single-local", new Local());
}

static void nested()
{
	Branch *branch = grow(new Branch(new Leaf, new Leaf()));

	is("nested-outer", branch);
	is("nested-first", branch->left);
	is("nested-second", branch->right);
}

static void arrays()
{
	typedef Noisy Ten[10];
	long n = 17;

#ifdef HEAPWISE_TYPES
	is("array", new_array<Pod>(7), 7);
	is("array-cookie", new_array<Noisy>(5), 5);
	is("array-zeroed", heapwise::new_array_zeroed<int>(100), 100);
	is("array-computed", new_array<Leaf>(static_cast<std::size_t>(n)), 17);
	say("array-pseudo", new_array<int, pixel_buffer>(640), 640 * sizeof(int),
	    name_of<pixel_buffer>(), "int");
	/* The paper's: arithmetic with what new gives. */
	say("array-sum", sizeof(RefCount) + new_array<char>(sizeof(RefCount) + sizeof(Pod)), sizeof(Pod),
	    "char");
#else
	is("array", new Pod[7], 7);
	is("array-cookie", new Noisy[5], 5);
	is("array-zeroed", new int[100](), 100);
	is("array-computed", new Leaf[static_cast<std::size_t>(n)], 17);
	say("array-pseudo", new int[640], 640 * sizeof(int), "int");
	say("array-sum", sizeof(RefCount) + new char[sizeof(RefCount) + sizeof(Pod)], sizeof(Pod),
	    "char");
#endif
#include <heapwise/undef_new.hpp>
	is("array-typedef", log_type(new Ten, 10), 10);
	say("array-2d", log_type(new int[3][4], 3), 12 * sizeof(int), name_of<int[4]>(), "int");
	is("array-nothrow", log_type(new (std::nothrow) Noisy[3], 3), 3);
	is("array-typed-plain", log_type(new float[11], 11), 11);
#include <heapwise/define_new.hpp>
}

static void aligned()
{
	is("aligned", new Sixteen());
#if __cplusplus >= 201703L
	is("over-aligned", new Line());
#ifdef HEAPWISE_TYPES
	is("over-aligned-array", new_array<Line>(3), 3);
	is("over-aligned-cookie", new_array<NoisyLine>(3), 3);
#else
	is("over-aligned-array", new Line[3], 3);
	is("over-aligned-cookie", new NoisyLine[3], 3);
#endif
#endif
	is("aligned-alloc", HEAPWISE_TYPE(aligned_alloc(64, sizeof(Line)), Line));
}

static void raw()
{
	void *place = std::malloc(sizeof(Noisy)), *second = std::malloc(sizeof(RefCount) + sizeof(Pod));
	Noisy *built;
	Pod *behind;

#include <heapwise/undef_new.hpp>
	is("nothrow", log_type(new (std::nothrow) Pod()));
	built = new (place)
#include <heapwise/define_new.hpp>
		Noisy(*new const char *("argument"));
	is("placement", log_type(built));
#include <heapwise/undef_new.hpp>
	behind = ::new (static_cast<char *>(second) + sizeof(RefCount)) Pod();
#include <heapwise/define_new.hpp>
	is("placement-behind-header", log_type(behind));
	is("malloc", HEAPWISE_TYPE(std::malloc(sizeof(c_record)), c_record));
	is("calloc", log_type(static_cast<Leaf *>(std::calloc(12, sizeof(Leaf))), 12), 12);
	is("realloc", log_type(static_cast<Pod *>(std::realloc(std::malloc(8), 20 * sizeof(Pod))), 20), 20);
	is("flexible", HEAPWISE_TYPE(std::malloc(sizeof(Packet) + 100), Packet));
	is("strdup", log_type(strdup("some text that is copied")), 20);
}

static void containers()
{
	typedef std::basic_string<char, std::char_traits<char>, allocator<char>> string;
	typedef std::vector<string, allocator<string>> strings;
	typedef std::pair<const int, Leaf> entry;
	static std::vector<int, allocator<int>> numbers(50, 1);
	static std::vector<strings, allocator<strings>> table(4, strings(3));
	static string text(100, 'x');
	static std::list<Leaf, allocator<Leaf>> list(1);
	static std::map<int, Leaf, std::less<int>, allocator<entry>> map;
	static std::unordered_map<int, Leaf, std::hash<int>, std::equal_to<int>, allocator<entry>> hash;
	static std::deque<Leaf, allocator<Leaf>> deque(3);

	map[3] = Leaf();
	hash[4] = Leaf();
	is("vector", numbers.data(), 50);
	is("vector-outer", table.data(), 4);
	is("vector-inner", table[0].data(), 3);
	is("string", &text[0], 100);
	say("list", &list.front(), sizeof(Leaf), name_of<std::_List_node<Leaf>>(), name_of<Leaf>());
	say("map", &map[3], sizeof(Leaf), name_of<std::_Rb_tree_node<entry>>(), name_of<entry>());
	say("unordered-map", &hash[4], sizeof(Leaf),
	    name_of<std::__detail::_Hash_node<entry, false>>(), name_of<entry>());
	is("deque", &deque.front(), 3);
}

static void owners()
{
	static std::shared_ptr<Noisy> from_new(new Noisy("shared"));
	static std::shared_ptr<Pod> made = std::make_shared<Pod>();
	static std::unique_ptr<Leaf> unique(new Leaf());
#ifdef HEAPWISE_TYPES
	static std::unique_ptr<Noisy[]> several(new_array<Noisy>(6));
#else
	static std::unique_ptr<Noisy[]> several(new Noisy[6]);
#endif

	log_type(made.get());
	is("shared-ptr", from_new.get());
	is("make-shared", made.get());
	is("unique-ptr", unique.get());
	is("unique-ptr-array", several.get(), 6);
#if __cplusplus >= 201402L
	static std::unique_ptr<Branch> made_unique = std::make_unique<Branch>(nullptr, nullptr);

	is("make-unique", log_type(made_unique.get()));
#endif
}

static void polymorphic()
{
	Shape *circle = new Circle();
	Named *label = new Label();
	Right *diamond = new Diamond();
	std::unique_ptr<Shape> owned(new Diamond());

	say("through-base", dynamic_cast<void *>(circle), sizeof(Circle), "Circle");
	say("second-base", dynamic_cast<void *>(label), sizeof(Label), "Label");
	say("virtual-base", dynamic_cast<void *>(diamond), sizeof(Diamond), "Diamond");
	say("owned-by-base", dynamic_cast<void *>(owned.release()), sizeof(Diamond), "Diamond");
#ifdef HEAPWISE_TYPES
	is("polymorphic-array", new_array<Circle>(4), 4);
#else
	is("polymorphic-array", new Circle[4], 4);
#endif
}

static void callables()
{
	long capture[6] = {1, 2, 3, 4, 5, 6};
	auto closure = [capture] { return capture[2]; };
	typedef decltype(closure) closure_type;
	static std::function<long()> function(closure);

	is("lambda", new closure_type(closure));
	is("function", log_type(function.target<closure_type>()));
#if __cplusplus >= 201703L
	static std::any any = Table<int, int>();

	is("any", log_type(std::any_cast<Table<int, int>>(&any)));
#endif
}

static void exceptions()
{
	for (int i = 0; i < 2; i++)
		try {
			is("exception-then-success", new Throws(i == 0));
		} catch (const std::runtime_error &) {
		}
}

int main()
{
	single();
	nested();
	arrays();
	aligned();
	raw();
	containers();
	owners();
	polymorphic();
	callables();
	exceptions();
	std::fflush(stdout);
	std::_Exit(0);
}
