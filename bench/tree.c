/* SPDX-License-Identifier: MIT
 * tree NODES STEPS: a binary tree with random priorities (treap) of that many nodes, in which keys are looked
 * up, taken out and put back. A target for the measurement of access recording: very many small chunks, of
 * which nearly all are cold, and hardly any computation. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANGES = 16 /* one step in so many changes the tree */ };

struct node {
	struct node *left, *right;
	uint64_t key;
	uint32_t priority;
	uint32_t found;
};

static uint64_t state = 88172645463325252u;

static uint64_t random_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void split(struct node *tree, uint64_t key, struct node **less, struct node **rest)
{
	while (tree) {
		if (tree->key < key) {
			*less = tree;
			less = &tree->right;
			tree = tree->right;
		} else {
			*rest = tree;
			rest = &tree->left;
			tree = tree->left;
		}
	}
	*less = *rest = NULL;
}

static struct node *merge(struct node *less, struct node *rest)
{
	struct node *top, **at = &top;

	while (less && rest) {
		if (less->priority > rest->priority) {
			*at = less;
			at = &less->right;
			less = less->right;
		} else {
			*at = rest;
			at = &rest->left;
			rest = rest->left;
		}
	}
	*at = less ? less : rest;
	return top;
}

static void insert(struct node **at, uint64_t key)
{
	struct node *node = malloc(sizeof(*node));

	node->key = key;
	node->priority = (uint32_t)random_next();
	node->found = 0;
	while (*at && (*at)->priority >= node->priority)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	split(*at, key, &node->left, &node->right);
	*at = node;
}

static struct node **find(struct node **at, uint64_t key)
{
	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	return at;
}

int main(int argc, char **argv)
{
	uint64_t nodes = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000000, found = 0;
	struct node *root = NULL;

	for (uint64_t i = 0; i < nodes; i++)
		insert(&root, i * 2654435761u % 1000000007u);
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t key = random_next() % nodes * 2654435761u % 1000000007u;
		struct node **at = find(&root, key), *gone = *at;

		if (!gone)
			continue;
		found += ++gone->found;
		if (i % CHANGES == 0) {
			*at = merge(gone->left, gone->right);
			free(gone);
			insert(&root, key);
		}
	}
	printf("%llu\n", (unsigned long long)found);
	return 0;
}
