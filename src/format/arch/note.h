/* SPDX-License-Identifier: MIT
 * What files of assembly end with: sections that say that they need no executable stack and keep to
 * what the CPU protects the flow of control with. An object without the latter switches that off
 * for all that it is linked with, so what stands above it has to be true to it: whatever is called
 * or jumped to by address begins with a landing mark, other indirect jumps are not tracked, and
 * each return goes to where its call was. Compilers write the same for C, see cmake/Flags.cmake. */
#if defined(__x86_64__)
#include "format/arch/x86_64/note_arch.h"
#elif defined(__aarch64__)
#include "format/arch/aarch64/note_arch.h"
#else
#error "Heapwise records on x86_64 and aarch64"
#endif

/* clang-format off */
	.section .note.GNU-stack, "", %progbits
	.section .note.gnu.property, "a", %note
	.p2align 3
	.long 4, 16, 5 /* bytes of the name and of the content, NT_GNU_PROPERTY_TYPE_0 */
	.asciz "GNU"
	.long HW_NOTE_PROPERTY, 4, HW_NOTE_KEPT, 0
	/* clang-format on */
