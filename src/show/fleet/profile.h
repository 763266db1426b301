/* SPDX-License-Identifier: MIT
 * A run as a profile of pprof to a server of profiles: Pyroscope's /ingest, or what Parca calls
 * WriteRaw. */
#ifndef SHOW_FLEET_PROFILE_H
#define SHOW_FLEET_PROFILE_H

#include "show/fleet/gather.h"

struct profile_server {            /* all zero = closed */
	const char *url;           /* without a password */
	const char *where;         /* "host:port" */
	const char *authorization; /* header, NULL = none */
	bool parca;
	void *curl;
	u64 raw_bytes;
	struct arena arena;
};

bool profile_is_address(const char *address);

/* pprof+http[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH]. A path that ends in /profiles/writeraw is
 * Parca's; any other is taken for Pyroscope's, /ingest if there is none. Nothing is sent. */
int profile_open(struct profile_server *self, const char *address, struct err *err);
void profile_close(struct profile_server *self);

/* Sends the run: inuse and alloc space and objects, labels, build-ids. Such servers do not know
 * what they have: sent twice it counts twice. */
int profile_push(struct profile_server *self, const struct run_source *source, struct err *err);

#endif
