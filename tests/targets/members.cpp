/* SPDX-License-Identifier: MIT
 * Objects whose members are used as the comments say: read or written in some object, in part, never. */
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

static NEVER_INLINED void derived()
{
	Derived *object = new Derived;

	kept = object;
	object->low = 3;
	sink = object->value();
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

int main()
{
	records();
	derived();
	cells();
	either();
	return 0;
}
