// SPDX-License-Identifier: MIT
// verdict: kind=peak function=build_tree bytes=20971200 chunks=65535
// A tree of boxes over points, built by recursion: each level is another call stack, all of them are one function's memory.
#include "noise.h"

enum { DEPTH = 15 };

struct box {
	struct box *left, *right;
	double low[3], high[3];
	char label[256];
};

APART static struct box *build_tree(unsigned depth, double from, double to)
{
	struct box *box = malloc(sizeof *box);

	for (unsigned i = 0; i < 3; i++) {
		box->low[i] = from;
		box->high[i] = to;
	}
	snprintf(box->label, sizeof box->label, "%.3f..%.3f", from, to); /* the flaw: a label per box */
	box->left = box->right = NULL;
	if (depth) {
		box->left = build_tree(depth - 1, from, (from + to) / 2);
		box->right = build_tree(depth - 1, (from + to) / 2, to);
	}
	return box;
}

static unsigned visit(const struct box *box, double at)
{
	unsigned visited = 0;

	for (; box; visited++)
		box = box->left && at < box->left->high[0] ? box->left : box->right;
	return visited;
}

static void free_tree(struct box *box)
{
	if (!box)
		return;
	free_tree(box->left);
	free_tree(box->right);
	free(box);
}

APART static double *query_points(unsigned turn)
{
	double *points = malloc(64 * sizeof *points);

	for (unsigned i = 0; i < 64; i++)
		points[i] = turn * 0.01 + i;
	return points;
}

int main(void)
{
	struct box *tree;
	unsigned visited = 0;

	noise_start();
	tree = build_tree(DEPTH, 0, 1000);
	for (unsigned turn = 0; turn < 6000; turn++) {
		double *points = query_points(turn);

		for (unsigned i = 0; i < 64; i++)
			visited += visit(tree, points[i]);
		free(points);
		noise_turn(turn);
	}
	printf("%u\n", visited);
	free_tree(tree);
	noise_end();
	return 0;
}
