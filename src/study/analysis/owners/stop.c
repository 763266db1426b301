/* SPDX-License-Identifier: MIT
 * Reads what the monitor noted of a scan; see stop.h.
 * Host. */
#include "study/analysis/owners/stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "TICKS NS background|stopped MISSING [REASON]" */
static bool stop_parse(struct owner_stop *self, const char *text, u64 *ticks)
{
	char how[16];
	int rest = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %15s %" SCNu64 "%n", ticks, &self->ns, how,
		   &self->missing_bytes, &rest) != 4)
		return false;
	self->background = strcmp(how, "background") == 0;
	self->reason = text + rest + (text[rest] == ' ');
	return true;
}

bool owner_stop_find(struct owner_stop *self, const struct model *model, u64 ticks)
{
	u64 at;

	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, "scan_stop") == 0 &&
		    stop_parse(self, model->notes.data[i].value, &at) && at == ticks)
			return true;
	return false;
}
