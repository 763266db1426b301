/* SPDX-License-Identifier: MIT
 * Checks that know of tags, in what gcc and clang write for the assembler of aarch64. Other text
 * stays as it is. Host.
 *
 * That CPU does not look at the top byte of a pointer, so a program may keep a tag there. Compilers
 * shift the whole pointer, and three bits of the tag come down to where the CPU looks:
 *
 *		mov	x25, 70368744177664       the shadow
 *		lsr	x2, x21, 3                becomes ubfx x2, x21, 3, 53
 *		ldrsb	w2, [x2, x25]
 *
 * Where the shift is wanted for more than this, or is in another block, the address gets its mask
 * when the shadow is read:
 *
 *		add	x28, x25, x3, lsr 3
 *		ubfx	x0, x28, 0, 53            new
 *		ldrsb	w0, [x0]                  was [x28]
 *
 * No more is done than to take the tag off an address, for one load, into the register that the
 * load writes; a load of the program's own that is taken for a check's reads the same byte as
 * before. */
#ifndef HOST_CHECKS_UNTAG_H
#define HOST_CHECKS_UNTAG_H

#include "host/base/err.h"
#include "host/base/strbuf.h"
#include "format/types.h"

struct untag_job {
	const char *text;
	u64 bytes;
	u64 shadow;     /* HW_SHADOW_OFFSET of that CPU */
	bool same_size; /* leave out what takes another instruction: jumps may reach no further */
};

/* Appends the text to `untagged`; *count is the number of checks that changed. */
int checks_untag(const struct untag_job *job, struct strbuf *untagged, u64 *count, struct err *err);

#endif
