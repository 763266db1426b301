/* SPDX-License-Identifier: MIT
 * Fuzz entry of budgets: the input is a TOML file. What was read must be within bounds, and patterns are tried. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "host/base/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_toml(const char *text, size_t size)
{
	struct toml toml = {0};
	struct err err = {0};

	if (toml_read(&toml, text, size, "fuzz", &err) < 0 && !*err.text)
		abort();
	for (u64 i = 0; i < toml.entries.count; i++)
		if (toml.entries.data[i].table >= toml.tables.count)
			abort();
	toml_release(&toml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budgets budgets = {0};
	struct err err = {0};
	char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	try_toml(text, size);
	if (budgets_init(&budgets, &err) == 0)
		budgets_parse(&budgets, text, size, "fuzz/heap.toml", &err);
	for (u64 i = 1; i < budgets.list.count; i++)
		budget_matches(&budgets.list.data[i], "space::parse(int, char *)/x");
	budgets_release(&budgets);
	free(text);
	return 0;
}
