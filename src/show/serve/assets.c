/* SPDX-License-Identifier: MIT */
#include "show/serve/assets.h"

#include <string.h>

/* The assembler reads each file into the constants, between two symbols. assets.inc is made from
 * the files of web/dist. */
#define ASSET(number, name, type, path)                                                            \
	__asm__(".pushsection .rodata\n"                                                           \
		"hw_asset_" #number ":\n"                                                          \
		".incbin \"" path "\"\n"                                                           \
		"hw_asset_end_" #number ":\n"                                                      \
		".popsection\n");                                                                  \
	extern const u8 hw_asset_##number[], hw_asset_end_##number[];
#include "show/serve/assets.inc"
#undef ASSET

#define ASSET(number, name, type, path) {name, type, hw_asset_##number, hw_asset_end_##number},
static const struct asset assets[] = {
#include "show/serve/assets.inc"
};

const struct asset *asset_at(u32 index)
{
	return index < sizeof assets / sizeof assets[0] ? &assets[index] : NULL;
}

const struct asset *asset_find(const char *name)
{
	for (u32 i = 0; asset_at(i); i++)
		if (strcmp(assets[i].name, name) == 0)
			return &assets[i];
	return NULL;
}
