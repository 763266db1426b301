// SPDX-License-Identifier: MIT
// Objects whose types only their sizes can tell, by debug information alone: sizes that one type has, and sizes that
// several have. All are kept, each has a size that says which it is.
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

void *kept[7];

// The line does not name the type.
template <class T> __attribute__((noinline)) static T *make()
{
	return new T;
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
	return kept[6] ? 0 : 1;
}
