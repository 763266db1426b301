/* SPDX-License-Identifier: MIT
 * Names of event kinds, made from the list of kinds.
 * Host. */
#include "host/trace/kinds.h"

#include <ctype.h>

#include "format/record.h"
#include "host/trace/stream.h"

const char *kind_name(u32 kind)
{
	static const char *const upper[HW_KIND_COUNT] = {
#define KIND_NAME(name, number, group, call) [number] = #name,
		HW_KINDS(KIND_NAME)
#undef KIND_NAME
	};
	static char lower[HW_KIND_COUNT][16];

	if (kind >= HW_KIND_COUNT)
		return "unknown";
	if (!lower[kind][0])
		for (u32 i = 0; upper[kind][i] && i + 1 < sizeof lower[kind]; i++)
			lower[kind][i] = (char)tolower((unsigned char)upper[kind][i]);
	return lower[kind];
}

const char *kind_call(u32 kind)
{
	static const char *const calls[HW_KIND_COUNT] = {
#define KIND_CALL(name, number, group, call) [number] = call,
		HW_KINDS(KIND_CALL)
#undef KIND_CALL
	};

	return kind < HW_KIND_COUNT && *calls[kind] ? calls[kind] : NULL;
}

const char *class_name(u32 chunk_class)
{
	static const char *const names[CLASS_COUNT] = {"unknown", "reachable", "possible",
						       "indirect", "lost"};

	return names[chunk_class < CLASS_COUNT ? chunk_class : CLASS_UNKNOWN];
}
