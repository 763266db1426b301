/* SPDX-License-Identifier: MIT
 * Selections.
 * Host. Reads the model only. */
#include "study/layout/scope.h"

#include <string.h>

static u64 scope_key(const char *text, const struct query_window *window)
{
	u64 key = hash_text(HASH_START, text ? text : "all");

	key = hash_u64(key ^ window->from_ns);
	key = hash_u64(key ^ window->to_ns);
	return hash_u64(key ^ (window->mode + 1)) | 1;
}

int view_scope_init(struct view_scope *self, struct study *trace, const char *text,
		    const struct query_window *window, struct query_error *error)
{
	bool all = !text || strcmp(text, "all") == 0;
	int status;

	memset(self, 0, sizeof *self);
	self->trace = trace;
	if (window)
		self->window = *window;
	self->key = scope_key(text, &self->window);
	if (all && !self->window.to_ns) {
		self->selection = trace->all;
		self->selection.words = NULL;
		return 0;
	}
	status = query_select(trace->engine, text ? text : "all", &self->window, &self->selection,
			      error);
	self->own_words = self->selection.words;
	self->plain = all && self->window.mode == WINDOW_OVERLAP;
	return status;
}

void view_scope_release(struct view_scope *self)
{
	selection_release(&self->selection);
	view_colors_free(self->colors);
	self->colors = NULL;
}

int view_check(const struct view_scope *self, struct err *err)
{
	if (self->cancelled && self->cancelled(self->cancel_data))
		return err_set(err, ERR_USAGE, "the client has disconnected");
	return 0;
}
