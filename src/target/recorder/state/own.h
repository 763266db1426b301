/* SPDX-License-Identifier: MIT
 * What is seen of the recorder's names, and by whom. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_OWN_H
#define TARGET_RECORDER_STATE_OWN_H

/* It is defined in this library. -fvisibility=hidden says so of definitions only: without this
 * whoever uses the variable expects it anywhere, and loads its address before its value. */
#define HWR_OWN __attribute__((visibility("hidden")))

/* Of functions that the program calls. */
#define HWR_EXPORT __attribute__((visibility("default")))

/* A function that stands in front of the C library's of this name. In C it has a name of its own:
 * headers redirect some of them to others, and make macros of some. */
#define HWR_IN_FRONT(type, name, parameters)                                                       \
	HWR_EXPORT type hwr_front_##name parameters __asm__(#name);                                \
	type hwr_front_##name parameters

#endif
