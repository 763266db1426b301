/* SPDX-License-Identifier: MIT
 * Reads modules' symbols while the program that has loaded them still runs, on a thread that rests
 * while others want all processors, once it has had some time. Opening debug info is most of the work of resolving: much of it is compressed.
 *
 *	struct prepare *prepare = prepare_new();
 *	prepare_module(prepare, &module);        any thread, any time, never waits
 *	options.symbolizer = prepare_finish(prepare);
 *	symbols_resolve_trace(path, &options, ...);
 *	prepare_free(prepare);
 *
 * All functions take NULL, for when there was no memory: then nothing is prepared. */
#ifndef SYMBOLS_PREPARE_H
#define SYMBOLS_PREPARE_H

#include "symbols/symbolizer.h"

struct prepare;

struct prepare *prepare_new(void);
void prepare_module(struct prepare *self, const struct symbolizer_module *module);

/* Stops after the module at hand; what was read is in the symbolizer, which stays prepare's. */
struct symbolizer *prepare_finish(struct prepare *self);
void prepare_free(struct prepare *self);

#endif
