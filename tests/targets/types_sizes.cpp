// SPDX-License-Identifier: MIT
// Objects of which debug information alone knows types of their size, one or several; objects whose type the line names;
// and objects of two classes that one line allocates. All are kept, each has a size that says which it is.
#include <new>
#include <vector>

struct Bits { // as large as a vector
	unsigned long words[3];
};
struct Other {
	char bytes[40];
};
struct Twin {
	double numbers[5];
};
struct Alone {
	char bytes[72];
};
typedef struct {
	char bytes[88];
} named_only;

struct Round {
	char bytes[192];
	virtual ~Round() {}
};
struct Square {
	char bytes[208];
	virtual ~Square() {}
};

void *kept[9];

// The line does not name the type.
template <class T> __attribute__((noinline)) static T *make()
{
	return new T;
}

__attribute__((noinline)) static void *raw(unsigned long bytes)
{
	return ::operator new(bytes);
}

int main()
{
	kept[0] = new std::vector<int>;
	kept[1] = new Bits;
	kept[2] = make<Bits>();
	kept[3] = make<Other>();
	kept[4] = make<Twin>();
	kept[5] = make<Alone>();
	kept[6] = make<named_only>();
	for (volatile int i = 7; i < 9; i++) {
		void *at = raw(i == 7 ? sizeof(Round) : sizeof(Square));

		if (i == 7)
			kept[i] = ::new (at) Round;
		else
			kept[i] = ::new (at) Square;
	}
	return kept[8] ? 0 : 1;
}
