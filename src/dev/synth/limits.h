/* SPDX-License-Identifier: MIT
 * How large a made-up program may be. */
#ifndef DEV_SYNTH_LIMITS_H
#define DEV_SYNTH_LIMITS_H

enum {
	SYNTH_THREADS_MAX = 64,
	SYNTH_TYPES_MAX = 1 << 16,
	SYNTH_POINTS_MAX = 1 << 22,
	SYNTH_DEPTH_MIN = 5, /* frames of a stack */
	SYNTH_DEPTH_MAX = 40,
};

#endif
