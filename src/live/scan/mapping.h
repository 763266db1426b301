/* SPDX-License-Identifier: MIT
 * What is mapped in a process. */
#ifndef LIVE_SCAN_MAPPING_H
#define LIVE_SCAN_MAPPING_H

#include <stdbool.h>

#include "format/types.h"

enum mapping_kind {
	MAPPING_ANONYMOUS,
	MAPPING_FILE,
	MAPPING_HEAP,    /* the kernel's [heap] */
	MAPPING_STACK,   /* of the first thread */
	MAPPING_DEVICE,  /* to read it may do something */
	MAPPING_KERNEL,  /* [vvar], [vdso] … */
	MAPPING_SESSION, /* shared with the recorder */
};

struct mapping {
	u64 start, end;
	bool readable, writable, executable, shared;
	u8 kind;            /* enum mapping_kind */
	u64 file;           /* number of the file in its file system, 0 = none */
	const char *path;   /* of it; "" = none. As long as the memory is open */
	u64 resident_bytes; /* UINT64_MAX = unknown, until scan_memory_weigh; and until then 0: */
	u64 huge_bytes;     /* of these, in huge pages that somebody asked for */
};

struct mapping_list {
	struct mapping *data; /* by address */
	u64 count, capacity;
};

#endif
