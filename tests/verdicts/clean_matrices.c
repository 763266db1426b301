// SPDX-License-Identifier: MIT
// verdict: kind=none
// Products of small matrices, five of which are kept and one of which is made and freed per step: computing takes all the time.
#include "noise.h"

enum { SIDE = 96, STEPS = 400 };

struct matrix {
	unsigned side;
	double *cells;
};

APART static struct matrix matrix_zero(unsigned side)
{
	return (struct matrix){side, calloc((size_t)side * side, sizeof(double))};
}

APART static struct matrix matrix_random(unsigned side)
{
	struct matrix matrix = {side, malloc((size_t)side * side * sizeof(double))};

	for (unsigned i = 0; i < side * side; i++)
		matrix.cells[i] = noise_random() % 100 * 0.01;
	return matrix;
}

static void multiply(struct matrix *to, const struct matrix *a, const struct matrix *b)
{
	for (unsigned i = 0; i < a->side; i++)
		for (unsigned k = 0; k < a->side; k++)
			for (unsigned j = 0; j < a->side; j++)
				to->cells[i * a->side + j] += a->cells[i * a->side + k] * b->cells[k * a->side + j];
}

static double trace(const struct matrix *matrix)
{
	double sum = 0;

	for (unsigned i = 0; i < matrix->side; i++)
		sum += matrix->cells[i * matrix->side + i];
	return sum;
}

int main(void)
{
	struct matrix kept[5];
	double sum = 0;

	noise_start();
	for (unsigned i = 0; i < 5; i++)
		kept[i] = matrix_random(SIDE);
	for (unsigned i = 0; i < STEPS; i++) {
		struct matrix product = matrix_zero(SIDE);

		multiply(&product, &kept[i % 5], &kept[(i + 2) % 5]);
		sum += trace(&product);
		free(product.cells);
		for (unsigned k = 0; k < 10; k++)
			noise_turn(i * 10 + k);
	}
	printf("%.2f\n", sum);
	for (unsigned i = 0; i < 5; i++)
		free(kept[i].cells);
	noise_end();
	return 0;
}
