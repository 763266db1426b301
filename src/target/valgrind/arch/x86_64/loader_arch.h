/* SPDX-License-Identifier: GPL-2.0-or-later
 * The loader's name, as Valgrind spells it. */
#ifndef TARGET_VALGRIND_ARCH_X86_64_LOADER_ARCH_H
#define TARGET_VALGRIND_ARCH_X86_64_LOADER_ARCH_H

#define HWV_LOADER ldZhlinuxZhx86Zh64ZdsoZd2 /* ld-linux-x86-64.so.2 */

#endif
