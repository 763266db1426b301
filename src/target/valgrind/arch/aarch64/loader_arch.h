/* SPDX-License-Identifier: GPL-2.0-or-later
 * The loader's name, as Valgrind spells it. */
#ifndef TARGET_VALGRIND_ARCH_AARCH64_LOADER_ARCH_H
#define TARGET_VALGRIND_ARCH_AARCH64_LOADER_ARCH_H

#define HWV_LOADER ldZhlinuxZhaarch64ZdsoZd1 /* ld-linux-aarch64.so.1 */

#endif
