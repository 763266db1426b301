/* SPDX-License-Identifier: MIT
 * The table of formats.
 * Host. */
#include "exchange/exchange.h"

#include <string.h>

#include "exchange/emad.h"
#include "exchange/heaplog.h"

const struct exchange_format exchange_formats[] = {
	{"emad", "routine trace as text, as EMAD writes it (Peiris and Hill, 2016)", emad_export},
	{"heaplog", "dumps of allocation entries, HeapLog version 4 (Mihalicza and others, 2011)",
	 heaplog_export},
	{NULL, NULL, NULL},
};

const struct exchange_format *exchange_find(const char *name)
{
	for (const struct exchange_format *format = exchange_formats; format->name; format++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}
