/* SPDX-License-Identifier: MIT
 * Starts of functions.
 * Host. Opens the module, asks its tables, closes it: for a few addresses of a few modules. */
#include "host/symbols/starts.h"

#include "host/symbols/module.h"

int function_starts(const struct starts_query *query, u64 *starts, struct err *err)
{
	struct module_places places = {0};
	struct module module;
	int status = ERR_MEMORY;

	for (u64 i = 0; i < query->count; i++)
		starts[i] = NO_START;
	elf_version(EV_CURRENT);
	if (module_places_init(&places, query->debug_path))
		status = module_open(&module, &query->module, &places);
	if (status == 0) {
		for (u64 i = 0; i < query->count; i++) {
			const struct elfsym *symbol =
				elfsyms_find(&module.symbols, query->addresses[i]);

			if (symbol)
				starts[i] = symbol->start;
		}
		module_close(&module);
	}
	module_places_release(&places);
	if (status == ERR_MEMORY)
		return err_set(err, status, "out of memory for the symbols of %s",
			       query->module.path);
	return 0;
}
