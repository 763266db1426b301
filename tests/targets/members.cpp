/* SPDX-License-Identifier: MIT
 * Objects whose members are used as the comments say: read or written in some object, in part, never. */
#include <cstdlib>
#include <cstring>

#define NEVER_INLINED __attribute__((noinline))

void *volatile kept; /* the compiler must not do without a block */
volatile long sink;
volatile int many = 3;

/* 64 bytes: two holes, and a tail of padding. */
struct Record {
	int id;             /* written by all */
	                    /* 4 bytes of padding */
	double weight;      /* read by the last only */
	char name[16];      /* the first 5 bytes are written */
	short never;        /* never */
	                    /* 6 bytes of padding */
	struct {
		long first; /* never */
		long second; /* written */
	} pair;
	char flag;          /* written */
	                    /* 7 bytes of padding */
};

struct Base {
	virtual ~Base() {}
	virtual long value() const { return number; }
	long number = 1;  /* written by the constructor */
	long untouched[2];
};

/* The vtable pointer is written by the constructor; a bit-field is the byte that it is in. */
struct Derived : Base {
	long value() const override { return extra; }
	unsigned low : 4; /* written: both bit-fields share a byte; 7 bytes of padding */
	unsigned high : 4;
	long extra = 2;   /* written */
	char tail[3];     /* never; 5 bytes of padding */
	static long shared;
};

long Derived::shared;

struct Cell {
	int key;  /* written in the elements */
	int rest; /* never */
};

union Either {
	long number;   /* written: 8 bytes of both members */
	char text[24]; /* so 8 of 24 */
};

/* 64 bytes, of calloc, four times: chunk 0 to 3. The zeros are nobody's write. */
struct Sides {
	int stored;      /* written in all */
	                 /* 4 bytes of padding */
	long counter;    /* written in 0 and 1, read in 1 */
	char text[16];   /* bytes 0-2 are written in all, byte 0 is read in 3 */
	double loaded;   /* read in 3 */
	short never;     /* never */
	                 /* 2 bytes of padding */
	int half[2];     /* the first is read in 0, the second is written in 2: both, but no chunk both */
	int copied[2];   /* read by memcpy in 1, 2 and 3 */
	                 /* 4 bytes of padding */
};

static NEVER_INLINED Record *make_record() { return new Record; }

static NEVER_INLINED void records()
{
	for (int i = 0; i < many; i++) {
		Record *record = make_record();

		record->id = i;
		for (int k = 0; k < 5; k++)
			const_cast<volatile char *>(record->name)[k] = 'x';
		const_cast<volatile long &>(record->pair.second) = i;
		const_cast<volatile char &>(record->flag) = 1;
		if (i == many - 1)
			sink = static_cast<long>(const_cast<volatile double &>(record->weight));
	}
}

static NEVER_INLINED void store_low(Derived *object) { object->low = 3; }
static NEVER_INLINED long ask(const Base *object) { return object->value(); }

static NEVER_INLINED void derived()
{
	Derived *object = new Derived;

	kept = object;
	store_low(object);
	sink = ask(object);
}

static NEVER_INLINED void cells()
{
	Cell *cells = new Cell[10];

	for (int i = 0; i < many; i++)
		const_cast<volatile int &>(cells[i].key) = i;
}

static NEVER_INLINED void either()
{
	Either *either = new Either;

	const_cast<volatile long &>(either->number) = 4;
}

static NEVER_INLINED Sides *make_sides()
{
	Sides *sides = static_cast<Sides *>(calloc(1, sizeof(Sides)));

	return sides;
}

static NEVER_INLINED void store(volatile int *to, int value) { *to = value; }
static NEVER_INLINED void store(volatile long *to, long value) { *to = value; }
static NEVER_INLINED void store(volatile char *to, char value) { *to = value; }
static NEVER_INLINED void load(const volatile int *from) { sink = *from; }
static NEVER_INLINED void load(const volatile long *from) { sink = *from; }
static NEVER_INLINED void load(const volatile char *from) { sink = *from; }
static NEVER_INLINED void load(const volatile double *from) { sink = static_cast<long>(*from); }

/* Loads and stores are functions of their own: gcc reports one of two accesses to a place that follow each other. */
static NEVER_INLINED void sides()
{
	int copies[2];

	for (int i = 0; i < many + 1; i++) {
		Sides *sides = make_sides();

		store(&sides->stored, i);
		if (i < 2)
			store(&sides->counter, i);
		if (i == 1)
			load(&sides->counter);
		for (int k = 0; k < 3; k++)
			store(&sides->text[k], 'x');
		if (i == 3)
			load(&sides->text[0]);
		if (i == 3)
			load(&sides->loaded);
		if (i == 0)
			load(&sides->half[0]);
		if (i == 2)
			store(&sides->half[1], i);
		if (i > 0)
			memcpy(copies, sides->copied, sizeof copies);
		sink = copies[0] + i;
		if (i % 2)
			free(sides);
	}
}

int main()
{
	records();
	sides();
	derived();
	cells();
	either();
	return 0;
}
