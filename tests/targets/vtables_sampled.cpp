/* SPDX-License-Identifier: MIT
 * Far more objects than are looked into. Classes have sizes of their own, but for those of one place
 * that makes two of one size, in turns, and one that makes an object with virtual functions now and then among others. */
#include <cstdlib>
#include <new>

template <int Bytes> struct Thing {
	virtual ~Thing() {}
	char rest[Bytes - sizeof(void *)];
};
struct First : Thing<208> {};
struct Second : Thing<208> {};

void *volatile kept;

template <class T> static __attribute__((noinline)) void make() { kept = new T; }

/* One call of operator new for whatever is made. */
static __attribute__((noinline)) void *get(std::size_t bytes)
{
	void *block = ::operator new(bytes);

	kept = block;
	return block;
}

int main()
{
	for (int i = 0; i < 2000; i++) {
		make<Thing<80>>();
		make<Thing<112>>();
		void *block = get(208);
		if (i % 2)
			new (block) First;
		else
			new (block) Second;
	}
	/* too few to say anything of the rest */
	for (int i = 0; i < 2000; i++) {
		void *block = get(304);
		if (i % 1000 == 0)
			new (block) Thing<304>;
		else
			*static_cast<long *>(block) = i;
	}
	std::free(std::malloc(1));
	return 0;
}
