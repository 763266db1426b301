/* SPDX-License-Identifier: MIT
 * Protections that assembly keeps to on x86_64; see format/arch/note.h. */
#ifndef FORMAT_ARCH_X86_64_NOTE_ARCH_H
#define FORMAT_ARCH_X86_64_NOTE_ARCH_H

#define HW_NOTE_PROPERTY 0xc0000002 /* GNU_PROPERTY_X86_FEATURE_1_AND */
#define HW_NOTE_KEPT 3              /* IBT, SHSTK */

#endif
