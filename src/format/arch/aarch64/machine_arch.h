/* SPDX-License-Identifier: MIT
 * The processor that this is compiled for, as ELF files number it. */
#ifndef FORMAT_ARCH_AARCH64_MACHINE_ARCH_H
#define FORMAT_ARCH_AARCH64_MACHINE_ARCH_H

enum { HW_MACHINE = 183 }; /* e_machine */

#endif
