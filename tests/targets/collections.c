/* SPDX-License-Identifier: MIT
 * Containers as C programs have them, in one variable: prints a line with name, kind, elements and places of each, which
 * `heapwise owners` must show. "-": it has no places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	long id;
	char *name;
	struct session *next; /* of its bucket */
};

struct dict {
	unsigned long size;
	struct session **table;
};

struct job {
	struct job *next, *previous;
	char payload[40];
};

struct word {
	char text[24];
	struct word *left, *right;
};

struct slot { /* of a table with open addressing */
	unsigned long hash;
	char *key;
	void *value;
};

struct point {
	double x, y, z;
};

/* Arrays with their numbers beside them. */
struct points {
	struct point *items;
	size_t count, capacity;
};

struct text {
	int length, size;
	char *bytes;
};

struct samples {
	unsigned capacity, used;
	double *values;
	long offset;
};

static struct {
	long port;
	struct {
		struct dict *dict;
	} db;
	struct job *jobs;
	struct word *words;
	struct slot *slots;
	struct session **recent;
	struct points points, none, full;
	struct text text;
	struct samples *samples;
	struct session *buckets[512]; /* not in the heap */
} server;

enum {
	SESSIONS = 3000,
	BUCKETS = 1024,
	JOBS = 250,
	WORDS = 700,
	SLOTS = 2048,
	KEYS = 900,
	RECENT = 300,
	RECENT_PLACES = 400,
	INNER = 1000,
	POINTS = 150,
	POINT_PLACES = 400,
	TEXT = 1234,
	TEXT_PLACES = 4095,
	SAMPLES = 77,
	SAMPLE_PLACES = 20000,
};

static void *make(size_t bytes)
{
	void *made = calloc(1, bytes);

	if (!made)
		abort();
	return made;
}

static struct session *open_session(long id)
{
	struct session *session = make(sizeof *session);

	session->id = id;
	session->name = memset(make(100), 'n', 100);
	return session;
}

static unsigned long spread(unsigned long number) { return number * 0x9e3779b97f4a7c15ul >> 32; }

static void put(struct session **table, unsigned long size, struct session *session)
{
	struct session **bucket = &table[spread((unsigned long)session->id) % size];

	session->next = *bucket;
	*bucket = session;
}

static void fill_dict(void)
{
	struct dict *dict = server.db.dict = make(sizeof *dict);

	dict->size = BUCKETS;
	dict->table = make(BUCKETS * sizeof *dict->table);
	for (long i = 0; i < SESSIONS; i++)
		put(dict->table, BUCKETS, open_session(i));
	for (long i = 0; i < INNER; i++)
		put(server.buckets, 512, open_session(i));
}

static void add_jobs(void)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *job = make(sizeof *job);

		job->next = server.jobs;
		if (server.jobs)
			server.jobs->previous = job;
		server.jobs = job;
	}
}

static void add_words(void)
{
	for (unsigned long i = 0; i < WORDS; i++) {
		struct word **place = &server.words, *word = make(sizeof *word);

		snprintf(word->text, sizeof word->text, "%08lx", spread(i) & 0xffffffff);
		while (*place)
			place = strcmp(word->text, (*place)->text) < 0 ? &(*place)->left : &(*place)->right;
		*place = word;
	}
}

static void fill_slots(void)
{
	server.slots = make(SLOTS * sizeof *server.slots);
	for (unsigned long i = 0; i < KEYS; i++) {
		unsigned long at = spread(i) % SLOTS;

		while (server.slots[at].key)
			at = (at + 1) % SLOTS;
		server.slots[at] = (struct slot){spread(i), make(20), make(30)};
	}
}

static void fill_recent(void)
{
	server.recent = make(RECENT_PLACES * sizeof *server.recent);
	for (long i = 0; i < RECENT; i++)
		server.recent[i] = open_session(i);
}

static struct points make_points(size_t count)
{
	return (struct points){make(POINT_PLACES * sizeof(struct point)), count, POINT_PLACES};
}

static void fill_counted(void)
{
	server.points = make_points(POINTS);
	server.none = make_points(0);
	server.full = make_points(POINT_PLACES);
	server.text = (struct text){TEXT, TEXT_PLACES, memset(make(TEXT_PLACES + 1), 't', TEXT)};
	server.samples = make(sizeof *server.samples);
	*server.samples = (struct samples){SAMPLE_PLACES, SAMPLES, make(SAMPLE_PLACES * sizeof(double)), 5};
}

int main(void)
{
	fill_dict();
	add_jobs();
	add_words();
	fill_slots();
	fill_recent();
	fill_counted();
	printf("dict .table|hash table|%d|%d\n", SESSIONS, BUCKETS);
	printf("server .buckets|hash table|%d|512\n", INNER);
	printf("server .jobs|linked list|%d|-\n", JOBS);
	printf("server .words|tree|%d|-\n", WORDS);
	printf("server .slots|hash table|%d|%d\n", KEYS, SLOTS);
	printf("server .recent|array of pointers|%d|%d\n", RECENT, RECENT_PLACES);
	printf("server .points.items|dynamic array|%d|%d\n", POINTS, POINT_PLACES);
	printf("server .none.items|dynamic array|0|%d\n", POINT_PLACES);
	printf("server .full.items|dynamic array|%d|%d\n", POINT_PLACES, POINT_PLACES);
	printf("server .text.bytes|string|%d|%d\n", TEXT, TEXT_PLACES);
	printf("samples .values|dynamic array|%d|%d\n", SAMPLES, SAMPLE_PLACES);
	fflush(stdout);
	__asm__ volatile("" : : "r"(&server) : "memory");
	exit(0);
}
