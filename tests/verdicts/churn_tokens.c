// SPDX-License-Identifier: MIT
// verdict: kind=churn function=token_new calls=4800000
// An interpreter of arithmetic expressions: each token is allocated, looked at and freed.
#include "noise.h"

enum { EXPRESSIONS = 480000 };

struct token {
	char kind;
	long value;
};

APART static struct token *token_new(const char **at)
{
	struct token *token = malloc(sizeof *token); /* the flaw: a token on the stack would do */

	token->kind = **at;
	token->value = 0;
	if (**at >= '0' && **at <= '9') {
		token->kind = 'n';
		while (**at >= '0' && **at <= '9')
			token->value = token->value * 10 + *(*at)++ - '0';
	} else if (**at) {
		(*at)++;
	}
	return token;
}

static long apply(char operation, long a, long b)
{
	switch (operation) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	default:
		return (a * b) % 1000003;
	}
}

static long evaluate(const char *text)
{
	char operation = '+';
	long result = 0;

	for (;;) {
		struct token *token = token_new(&text);
		struct token now = *token;

		free(token);
		if (now.kind == 'n')
			result = apply(operation, result, now.value);
		else if (now.kind)
			operation = now.kind;
		else
			return result;
	}
}

int main(void)
{
	static const char *const expressions[] = {"12+34*5-6*7", "1+2+3+4-555", "9*8*7*6*543"};
	long sum = 0;

	noise_start();
	for (unsigned i = 0; i < EXPRESSIONS; i++) {
		sum += evaluate(expressions[i % 3]);
		if (i % 120 == 0)
			noise_turn(i);
	}
	printf("%ld\n", sum);
	noise_end();
	return 0;
}
