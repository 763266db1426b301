/* SPDX-License-Identifier: MIT
 * Reads modules' symbols while the program that has loaded them still runs, on a thread that rests
 * while others want all processors, once it has had some time. Opening debug info is most of the
 * work of resolving: much of it is compressed. Addresses that are told are looked up, too, now and
 * then and when the program has ended.
 *
 *	struct prepare *prepare = prepare_new();
 *	u32 number = prepare_module(prepare, &module);     any thread, any time, never waits
 *	prepare_addresses(prepare, &(struct prepare_address){ number, address }, 1);     likewise
 *	options.symbolizer = prepare_finish(prepare);
 *	symbols_resolve_trace(path, &options, ...);
 *	prepare_free(prepare);
 *
 * All functions take NULL, for when there was no memory: then nothing is prepared. */
#ifndef HOST_SYMBOLS_PREPARE_H
#define HOST_SYMBOLS_PREPARE_H

#include "host/symbols/symbolizer.h"

struct prepare;

struct prepare *prepare_new(void);

/* Its number, PREPARE_NO_MODULE if there are too many. */
#define PREPARE_NO_MODULE UINT32_MAX
u32 prepare_module(struct prepare *self, const struct symbolizer_module *module);

/* As symbolizer_resolve wants them; one may be told many times. False if no more are wanted. */
struct prepare_address {
	u32 module;
	u64 address;
};
bool prepare_addresses(struct prepare *self, const struct prepare_address *rows, u64 count);

/* Nothing more will be told for a while, or ever: addresses are looked up at once. */
void prepare_hurry(struct prepare *self);

/* Stops after the module at hand; what was read is in the symbolizer, which stays prepare's. */
struct symbolizer *prepare_finish(struct prepare *self);
void prepare_free(struct prepare *self);

#endif
