/* SPDX-License-Identifier: MIT
 * What heapwise trace dump knows while it reads, and its lines that are no events. */
#ifndef SHOW_CLI_DUMP_FACTS_H
#define SHOW_CLI_DUMP_FACTS_H

#include <stdio.h>

#include "format/session.h"
#include "host/base/map.h"
#include "host/base/strbuf.h"
#include "host/trace/reader.h"
#include "host/trace/symtab.h"
#include "host/trace/typenames.h"
#include "show/cli/print.h"
#include "show/render/fields.h"
#include "study/model/clock.h"
#include "study/model/contexts.h"

struct dump {
	enum format format;
	bool stacks, facts;            /* are to be shown */
	VEC(struct tick_clock) clocks; /* of each image, filled by a first reading */
	struct tick_clock *clock;      /* of the current image */
	u64 images;                    /* begun so far */
	u32 image;                     /* number of the current one */
	struct context_table contexts;
	VEC(struct stream_thread) threads;
	struct symbol_table symbols;
	struct json json;
	struct strbuf stack;
	char program[256];
	char names[HW_NAMES][HW_NAME_BYTES]; /* of marks */
	struct type_names type_names;
	struct map types; /* of the current image: identity → index of type_names + 1 */
};

/* Keeps what a trace says beside events, and prints it: of text with --facts all, of other formats
 * nothing. */
struct stream_sink dump_facts_sink(struct dump *self);

/* A value as text on stdout. */
void dump_put_value(const struct named_value *field);

/* A frame as function, or module+0xoffset, at the end of self->stack. */
void dump_add_frame(struct dump *self, const struct frame *frame);

static inline struct named_value hex(const char *name, u64 number)
{
	return (struct named_value){.name = name,
				    .type = VALUE_ADDRESS,
				    .value = value_number(number)};
}

/* A text that needs no cleaning. */
static inline struct named_value clean(const char *name, const char *text)
{
	return (struct named_value){.name = name, .type = VALUE_PATH, .value = value_text(text)};
}

static inline struct named_value time_at(const struct dump *self, const char *name, u64 ticks)
{
	return field_number(name, self->clock ? tick_clock_ns(self->clock, ticks) : 0);
}

static inline u32 tid_of(const struct dump *self, u32 thread)
{
	return thread < self->threads.count ? self->threads.data[thread].tid : 0;
}

static inline int check_written(const char *what, struct err *err)
{
	return ferror(stdout) ? err_set(err, ERR_SYSTEM, "cannot write the %s", what) : 0;
}

static inline const char *or_dash(const char *text) { return text && *text ? text : "-"; }

#endif
