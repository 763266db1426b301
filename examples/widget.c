/* SPDX-License-Identifier: MIT
 * A producer and a consumer of widgets: the program with which Zorn and Hilfinger introduced mprof
 * in 1988, written anew. The consumer frees blue widgets and forgets the red ones.
 *
 *	widget [NUMBER]        prints how many it made of each colour */
#include <stdio.h>
#include <stdlib.h>

enum color { RED, BLUE };

typedef struct {
	enum color c;
	int data[50];
} widget;

/* Calls stay calls, so that every function is on the stack whatever the compiler thinks of it. */
#define CALLED __attribute__((noinline))

static unsigned long made[2], freed;

/* A coin with a fixed seed: every run is the same. */
static int random_flip(void)
{
	static unsigned state = 1988;

	state = state * 1103515245u + 12345u;
	return state >> 16 & 1;
}

static CALLED widget *make_widget(void)
{
	widget *w = malloc(sizeof(widget));

	if (!w)
		abort();
	return w;
}

static CALLED widget *make_blue_widget(void)
{
	widget *w = make_widget();

	w->c = BLUE;
	made[BLUE]++;
	return w;
}

static CALLED widget *make_red_widget(void)
{
	widget *w = make_widget();

	w->c = RED;
	made[RED]++;
	return w;
}

static CALLED void consume_widget(widget *w)
{
	if (w->c == BLUE) {
		freed++;
		free(w);
	}
}

int main(int argc, char **argv)
{
	enum { NUM_WIDGETS = 10000 };
	static widget *wqueue[NUM_WIDGETS];
	int count = argc > 1 ? atoi(argv[1]) : NUM_WIDGETS;

	if (count < 0 || count > NUM_WIDGETS)
		count = NUM_WIDGETS;
	for (int i = 0; i < count; i++)
		wqueue[i] = random_flip() ? make_blue_widget() : make_red_widget();
	for (int i = 0; i < count; i++)
		consume_widget(wqueue[i]);
	fprintf(stderr, "red %lu blue %lu freed %lu bytes %zu\n", made[RED], made[BLUE], freed,
		sizeof(widget));
	return 0;
}
