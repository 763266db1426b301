/* SPDX-License-Identifier: MIT
 * Files of heaptrack, as they are recorded (FILE.raw) or interpreted, plain or compressed, file
 * formats 0 to 3 (heaptrack 1.0 to 1.5), to trace files. A line begins with a letter; numbers are
 * hexadecimal:
 *
 *	v VERSION FORMAT          which heaptrack wrote it
 *	X COMMAND                 of the program, rest of the line
 *	x STRING                  raw: path of the program
 *	I BYTES PAGES             size of a page, memory of the machine
 *	m STRING BASE (AT SIZE)…  raw: a mapped file and its segments; of "-": all are listed anew
 *	s STRING                  interpreted: string 1, 2, 3 …
 *	i IP MODULE [FUNCTION FILE LINE]…  interpreted: address 1, 2, 3 …, names innermost first
 *	t IP PARENT               stack 1, 2, 3 …: an address (raw) or its number, and its caller
 *	a SIZE STACK              interpreted: allocation 0, 1, 2 …
 *	+ SIZE STACK ADDRESS      raw: allocated              - ADDRESS      freed
 *	+ ALLOCATION              interpreted: once more      - ALLOCATION   one of them was freed
 *	c MS                      time from here on
 *	R PAGES                   resident memory
 *	A, S, #                   attached to a running program; a suppression; a comment
 *
 * From format 3 on a STRING is its length, a space, its bytes. An interpreted file does not tell
 * which of several equal allocations was freed: it is taken to be the newest. */
#ifndef SHOW_FORMATS_HEAPTRACK_H
#define SHOW_FORMATS_HEAPTRACK_H

#include "host/base/err.h"
#include "format/types.h"

struct heaptrack_import {
	const char *from, *to;
};

struct heaptrack_summary {
	u64 allocations, frees;
	u64 unknown_frees; /* of blocks that were not told before */
	u64 stacks;
	u64 named; /* addresses that have names */
	bool raw;
	bool cut; /* the file breaks off */
};

/* Makes a trace, in one pass. The err of a bad line begins with file and number; then nothing is
 * written, and what was there before stays. */
int heaptrack_import(const struct heaptrack_import *how, struct heaptrack_summary *summary,
		     struct err *err);

#endif
