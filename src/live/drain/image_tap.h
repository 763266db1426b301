/* SPDX-License-Identifier: MIT
 * What whoever listens to a recording (tap.h) may ask of the image in cycle(): memory to be
 * monitored, and what that costs. Runs on the drain thread. */
#ifndef LIVE_DRAIN_IMAGE_TAP_H
#define LIVE_DRAIN_IMAGE_TAP_H

#include "live/drain/tap.h"

/* Asks for the unit of a block (its address and the ticks of its birth) to be armed or
 * disarmed. False if there is no room for more now. */
bool image_command(struct image *self, u32 verb, u64 address, u64 birth);

/* What hits may cost before everything is opened at once, and arming before nothing is armed any
 * more; see struct hw_pages. */
void image_allow(struct image *self, u64 spend_most, u64 fault_ticks, u64 arm_most_ns);

/* Commands that the helper has still to look at. What it has done is told later, see struct image,
 * read_ticks. */
u64 image_commands_waiting(const struct image *self);
/* The memory is to be scanned now, for which the program stands still; the sink's scan() is told of
 * it. */
void image_want_scan(struct image *self);
/* How many units one hit of a sweep may open with its own; 0 = none. */
void image_allow_around(struct image *self, u64 around_most);

/* Whether the program is at its end, and main has returned. */
bool image_main_returned(const struct image *self);

struct tap_unread image_unread(const struct image *self);
/* From now on every allocation is read, however short its life. */
void image_tell_all(struct image *self);

/* The program's CPU time now, 0 if it cannot be read any more. */
u64 image_cpu_ns(const struct image *self);

/* What page monitoring has cost so far, as the recorder counts it; NULL if it is not monitored. */
const struct hw_pages *image_pages(const struct image *self);

#endif
