/* SPDX-License-Identifier: MIT
 * Layout of a trace file: the file header, the block header, the trailer, and the numbers that go
 * into them. All integers are little-endian, nothing is aligned in the file. Layout only;
 * docs/TRACE-FORMAT.md describes the payloads byte by byte. */
#ifndef FORMAT_TRACEFILE_H
#define FORMAT_TRACEFILE_H

#include "types.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are copied as they are");

#define HW_TRACE_MAGIC 0x0a0d435254574889ull /* 0x89 "HWTRC" CR LF: text mode breaks it */
#define HW_TRACE_VERSION 2
#define HW_BLOCK_MAGIC 0xbc5748b1u

/* First bytes of the file. magic, version and bytes keep their place in every later version. */
struct hw_trace_header {
	u64 magic;
	u32 version;
	u32 bytes; /* of this header, 32: the first block starts there */
	u64 reserved;
	u64 check; /* XXH3-64 of the bytes before it */
};
_Static_assert(sizeof(struct hw_trace_header) == 32, "file header layout");

enum hw_block_type {
	HW_BLOCK_FACTS = 1,    /* tagged records, enum hw_fact */
	HW_BLOCK_CONTEXTS = 2, /* calling-context nodes in columns */
	HW_BLOCK_EVENTS = 3,   /* events in columns */
	HW_BLOCK_SYMBOLS = 4,  /* resolved addresses and their strings */
	HW_BLOCK_INDEX = 5,    /* where the blocks are */
	HW_BLOCK_TRAILER = 6,  /* struct hw_trace_trailer: where the index is; last in the file */
	HW_BLOCK_ACCESSES = 7, /* accesses to chunks in columns */
	HW_BLOCK_ROUTINES = 8, /* routines that begin and end, in columns */
	HW_BLOCK_TYPES = 9,    /* types of chunks in columns */
	HW_BLOCK_TYPE_NAMES = 10,  /* names of the identities of types */
	HW_BLOCK_DEBUG_TYPES = 11, /* what debug info says of types */
	HW_BLOCK_GRAPH = 12,       /* pointers from chunk to chunk, in columns */
	HW_BLOCK_CONTENTS = 13,    /* which chunks of a graph are alike, in columns */
	HW_BLOCK_NUMBERS = 14,     /* numbers beside the pointers of a graph, in columns */
	HW_BLOCK_SUMS = 15,        /* what readers would add up of an image's events */
};

enum { HW_BLOCK_STORED = 1 }; /* hw_block_header.flags: the payload is not compressed */

#define HW_NO_IMAGE UINT32_MAX /* hw_block_header.image of what belongs to the whole file */

struct hw_block_header {
	u32 magic;
	u16 type;         /* enum hw_block_type */
	u16 flags;        /* HW_BLOCK_* */
	u32 raw_bytes;    /* of the payload before compression */
	u32 stored_bytes; /* of the payload in the file, right after this header */
	/* facts, contexts, events, accesses, routine rows, pointers, symbol entries or index rows
	 * in it */
	u32 items;
	u32 image;  /* counted from 0 in the file, or HW_NO_IMAGE */
	u32 number; /* of the block, counted from 0 in the file */
	u32 reserved;
	u64 payload_check; /* XXH3-64 of the stored payload */
	u64 check;         /* XXH3-64 of the header's bytes before it */
};
_Static_assert(sizeof(struct hw_block_header) == 48, "block header layout");

struct hw_trace_trailer {
	u64 index_offset; /* of the index block's header */
	u64 file_bytes;   /* up to and including this trailer */
	u64 flags;        /* HW_TRAILER_* */
};
_Static_assert(sizeof(struct hw_trace_trailer) == 24, "trailer layout");

enum { HW_TRAILER_CLOSED = 1 }; /* the recording ended properly */

enum {
	/* limits, which a reader checks before it allocates */
	HW_BLOCK_RAW_MAX = 16 << 20,
	HW_BLOCK_STORED_MAX = (16 << 20) + (1 << 17),
	HW_BLOCK_EVENTS_MAX = 1 << 16,
	HW_BLOCK_CONTEXTS_MAX = 1 << 16,
	HW_BLOCK_ACCESSES_MAX = 1 << 16,
	HW_BLOCK_ROUTINES_MAX = 1 << 16,
	HW_BLOCK_TYPES_MAX = 1 << 16,
	HW_BLOCK_NODES_MAX = 1 << 18, /* of a graph block */
	HW_BLOCK_EDGES_MAX = 1 << 18,
	HW_BLOCK_CONTENTS_MAX = 1 << 18,
	HW_BLOCK_NUMBERS_MAX = 1 << 18,
	HW_BLOCK_ROWS_MAX = 1 << 16, /* of an index block; more rows need more blocks */
};

enum hw_fact {
	/* records of a facts block; one with an unknown tag is skipped */
	HW_FACT_IMAGE = 1,
	HW_FACT_MODULE = 2,
	HW_FACT_THREAD = 3,
	HW_FACT_CLOCK = 4,
	HW_FACT_USAGE = 5,
	HW_FACT_AGGREGATES = 6,
	HW_FACT_IMAGE_END = 7,
	HW_FACT_NOTE = 8,
	HW_FACT_SCAN = 9,
	HW_FACT_MEMORY = 10,
	HW_FACT_NAME = 16,
};

/* Columns of an events block, in the order of the payload. */
enum hw_event_column {
	HW_COLUMN_HEAD,    /* u8 per event: kind, HW_HEAD_MORE, how the context is told */
	HW_COLUMN_MORE,    /* u8 per event with HW_HEAD_MORE: HW_MORE_* */
	HW_COLUMN_TICK,    /* u8 per event: low byte of the step in time */
	HW_COLUMN_TICKS,   /* varint per event: the rest of the step */
	HW_COLUMN_CONTEXT, /* varint per HW_CONTEXT_TOLD */
	HW_COLUMN_PLACE,   /* u8 per allocation: how the address and size are told */
	HW_COLUMN_ADDRESS, /* varint per address that was not predicted */
	HW_COLUMN_SIZE,    /* varint per size that was not predicted */
	HW_COLUMN_FREED,   /* varint per free of a known chunk */
	HW_COLUMN_CLASS,   /* u8 per free of a chunk that is older than the block: its size class */
	HW_COLUMN_RARE,    /* varints: threads, aux, events that no other column tells */
	HW_COLUMNS
};

enum {
	/* HW_COLUMN_HEAD */
	HW_HEAD_KIND = 0x1f,
	HW_HEAD_MORE = 0x20,
	HW_HEAD_CONTEXT_SHIFT = 6,
};
enum hw_context_code {
	HW_CONTEXT_AFTER_TWO = 0, /* what followed the thread's last two contexts before */
	HW_CONTEXT_AFTER_ONE = 1, /* what followed the thread's last context before */
	HW_CONTEXT_TOLD = 2,
	HW_CONTEXT_NONE = 3, /* 0, and no part of the thread's history */
};
enum {
	/* HW_COLUMN_MORE */
	HW_MORE_FLAGS = 0x03,   /* event.flags */
	HW_MORE_THREAD = 0x04,  /* another thread than the event before */
	HW_MORE_LATE = 0x08,    /* the step in time goes backwards */
	HW_MORE_AUX = 0x10,     /* event.aux is not 0 */
	HW_MORE_UNKNOWN = 0x20, /* a free of an unknown chunk */
};
enum {
	/* HW_COLUMN_PLACE */
	HW_PLACE_CODE = 0x1f, /* below HW_REUSE_DEPTH: a freed address, 0 = the latest */
	HW_PLACE_NEXT = 16,   /* where the thread's last new block ends */
	HW_PLACE_STEP = 17,   /* signed distance from the thread's last new block, in 16 bytes */
	HW_PLACE_ODD = 18,    /* the address itself */
	HW_PLACE_SIZE = 0x20, /* the size was not predicted */
};

/* Columns of an accesses block, in the order of the payload: varints. */
enum hw_access_column {
	HW_ACCESS_COLUMN_CHUNK, /* zigzag of the step from the row before */
	HW_ACCESS_COLUMN_HEAD,  /* what is told, and the flags */
	/* if HW_ACCESS_TIMED: zigzag of the step from the one before */
	HW_ACCESS_COLUMN_FIRST,
	HW_ACCESS_COLUMN_LAST, /* if HW_ACCESS_TIMED: less the first */
	HW_ACCESS_COLUMN_READS,
	HW_ACCESS_COLUMN_WRITES,
	HW_ACCESS_COLUMN_READ_BYTES,
	HW_ACCESS_COLUMN_WRITTEN_BYTES,
	HW_ACCESS_COLUMN_LOW,  /* if HW_ACCESS_RANGED */
	HW_ACCESS_COLUMN_HIGH, /* if HW_ACCESS_RANGED: less the low end */
	/* if HW_ACCESS_COVERED; then the map if HW_ACCESS_MAPPED, and the sides */
	HW_ACCESS_COLUMN_COVERED,
	HW_ACCESS_COLUMNS
};
enum {
	/* HW_ACCESS_COLUMN_HEAD */
	HW_ACCESS_TIMED = 1,
	HW_ACCESS_RANGED = 2,
	HW_ACCESS_COVERED = 4,
	HW_ACCESS_FLAGS_SHIFT = 3, /* 32 bits */
};
#define HW_ACCESS_MAPPED (1ull << 35)
#define HW_ACCESS_SIDED (1ull << 36)       /* from version 2 on */
#define HW_ACCESS_READ_MAPPED (1ull << 37) /* the side has a map; only with HW_ACCESS_SIDED */
#define HW_ACCESS_WRITTEN_MAPPED (1ull << 38)

/* Columns of a types block, in the order of the payload: varints. */
enum hw_type_column {
	HW_TYPE_COLUMN_CHUNK,    /* zigzag of the step from the row before */
	HW_TYPE_COLUMN_HEAD,     /* source, HW_TYPE_COUNTED, HW_TYPE_SHIFTED */
	HW_TYPE_COLUMN_IDENTITY, /* zigzag of the step from the row before */
	HW_TYPE_COLUMN_NUMBER,   /* if HW_TYPE_COUNTED: number of elements */
	HW_TYPE_COLUMN_OFFSET,   /* if HW_TYPE_SHIFTED: in the chunk */
	HW_TYPE_COLUMNS
};
enum {
	/* HW_TYPE_COLUMN_HEAD */
	HW_TYPE_COUNTED = 1,
	HW_TYPE_SHIFTED = 2,
	HW_TYPE_SOURCE_SHIFT = 2, /* enum type_source, below 16 */
};

/* Columns of a graph block, in the order of the payload: varints. */
enum hw_graph_column {
	/* ticks; chunks, roots and pointers of the whole graph; first node and first pointer here;
	 * nodes here */
	HW_GRAPH_COLUMN_HEAD,
	HW_GRAPH_COLUMN_CHUNK,  /* per chunk: its number less the one before + 1 */
	HW_GRAPH_COLUMN_ROOT,   /* per root: its fields */
	HW_GRAPH_COLUMN_DEGREE, /* per node: its pointers here */
	HW_GRAPH_COLUMN_FROM,   /* per pointer: the step from the one before in its node */
	HW_GRAPH_COLUMN_TARGET, /* per pointer: zigzag of the step from what was there before */
	HW_GRAPH_COLUMN_TO,     /* per pointer: where in the target */
	HW_GRAPH_COLUMNS
};

/* Columns of a contents block, in the order of the payload: varints. A row is a chunk of which
 * there is something to tell. */
enum hw_contents_column {
	/* ticks and chunks of the graph, which follows; rows of all its blocks; first row here */
	HW_CONTENTS_COLUMN_HEAD,
	HW_CONTENTS_COLUMN_CHUNK, /* its place in the graph less the one before + 1 */
	HW_CONTENTS_COLUMN_GROUP, /* zigzag of the step from the row before */
	HW_CONTENTS_COLUMN_PAGES, /* that were never touched */
	HW_CONTENTS_COLUMNS
};

/* Columns of a numbers block, in the order of the payload: varints. */
enum hw_numbers_column {
	/* ticks and nodes of the graph, which follows; rows of all its blocks; first row here */
	HW_NUMBERS_COLUMN_HEAD,
	HW_NUMBERS_COLUMN_NODE,  /* the step from the row before */
	HW_NUMBERS_COLUMN_FROM,  /* in the node: the step from the row before, if it is the same */
	HW_NUMBERS_COLUMN_VALUE, /* not 0 */
	HW_NUMBERS_COLUMNS
};

enum { HW_GRAPH_SLOTS = 64 }; /* words of a node whose last target is remembered */

/* Columns of a routines block, in the order of the payload. */
enum hw_routine_column {
	HW_ROUTINE_COLUMN_HEAD,  /* u8 per row: what happened, HW_ROUTINE_* */
	HW_ROUTINE_COLUMN_TICK,  /* u8 per row: low byte of the step in time */
	HW_ROUTINE_COLUMN_TICKS, /* varint per row: the rest of the step */
	/* varint per routine that was not predicted: its number, 0 = a new one */
	HW_ROUTINE_COLUMN_ROUTINE,
	/* varint per new routine: zigzag of the step from the one before */
	HW_ROUTINE_COLUMN_ADDRESS,
	/* varint per return address that was not predicted: zigzag of the step */
	HW_ROUTINE_COLUMN_CALL,
	HW_ROUTINE_COLUMN_SIZE,  /* varint per size that was not predicted */
	HW_ROUTINE_COLUMN_BLOCK, /* varint per block that was not predicted: zigzag of the step */
	HW_ROUTINE_COLUMN_RARE,  /* varints: threads, how a routine was left */
	HW_ROUTINE_COLUMNS
};
enum {
	/* HW_ROUTINE_COLUMN_HEAD */
	HW_ROUTINE_STEP = 0x03,   /* enum routine_step */
	HW_ROUTINE_TOLD = 0x04,   /* the routine, or the size of an allocation */
	HW_ROUTINE_CALL = 0x08,   /* the return address, or the block, is told */
	HW_ROUTINE_THREAD = 0x10, /* another thread than the row before */
	HW_ROUTINE_LATE = 0x20,   /* the step in time goes backwards */
	HW_ROUTINE_HOW = 0x40,    /* stream_routine.how is not the usual one */
	HW_ROUTINE_HEAD_ALL = 0x7f,
};

/* What predicts a row from those before it. Writer and reader must agree. */
enum {
	HW_ROUTINE_THREADS = 64, /* thread & 63 */
	HW_ROUTINE_DEPTH = 256,  /* innermost routines of a thread that are remembered */
	HW_ROUTINE_SLOTS = 8192, /* what follows what */
};

/* The model that predicts an event from those before it. Writer and reader must agree. */
enum {
	HW_THREAD_SLOTS = 64,  /* thread & 63 */
	HW_PAIR_SLOTS = 8192,  /* contexts after two */
	HW_NEXT_SLOTS = 4096,  /* contexts after one */
	HW_SIZE_SLOTS = 4096,  /* size by context */
	HW_CLASSES = 128,      /* size classes of the reuse stacks */
	HW_REUSE_SLOTS = 1024, /* (thread & 7, class) */
	HW_REUSE_DEPTH = 8,    /* addresses kept in each */
};

#endif
