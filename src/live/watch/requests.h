/* SPDX-License-Identifier: MIT
 * Units that are to be armed: asks the program's helper for them. What is refused may be asked for
 * again. Runs on the drain thread. */
#ifndef LIVE_WATCH_REQUESTS_H
#define LIVE_WATCH_REQUESTS_H

#include "live/watch/areas.h"

struct requests {
	VEC(struct hw_command) waiting; /* to be given at the end of the cycle */
	u64 arms, refusals, full;
};

void requests_release(struct requests *self);

/* The unit should be armed; nothing happens if it is, or if that was asked for. False without
 * memory. */
bool requests_arm(struct requests *self, struct unit *unit);
/* It should not. */
bool requests_disarm(struct requests *self, struct unit *unit);
/* The same for a unit that has no area any more. */
bool requests_disarm_ended(struct requests *self, u64 address);

/* Gives as many commands as there is room for; give() as image_command. */
void requests_send(struct requests *self, bool (*give)(void *to, u32 verb, u64 address, u64 birth),
		   void *to);

/* give() of an image. */
bool requests_give(void *image, u32 verb, u64 address, u64 birth);

/* A command was done. */
void requests_done(struct requests *self, struct areas *areas, const struct hw_command *command);

/* Cost of monitoring so far in the program, ns of CPU: faults, arming, opening. */
u64 pages_cost_ns(const struct hw_pages *pages, double ns_per_tick);

#endif
