/* SPDX-License-Identifier: MIT
 * The processor that this is compiled for, as ELF files number it. */
#ifndef HW_FORMAT_MACHINE_ARCH_H
#define HW_FORMAT_MACHINE_ARCH_H

enum { HW_MACHINE = 62 }; /* e_machine */

#endif
