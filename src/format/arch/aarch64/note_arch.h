/* SPDX-License-Identifier: MIT
 * Protections that assembly keeps to on aarch64; see format/arch/note.h. */
#ifndef FORMAT_ARCH_AARCH64_NOTE_ARCH_H
#define FORMAT_ARCH_AARCH64_NOTE_ARCH_H

#define HW_NOTE_PROPERTY 0xc0000000 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
#define HW_NOTE_KEPT 7              /* BTI, PAC, GCS */

#endif
