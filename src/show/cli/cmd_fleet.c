/* SPDX-License-Identifier: MIT
 * heapwise fleet: questions to a store of many runs, and the care of it.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/outfile.h"
#include "show/cli/trace_options.h"
#include "show/fleet/ask.h"

struct fleet_args {
	const char *to, *program, *build, *host, *by, *old_build, *new_build, *cluster, *output,
		*format;
	struct option_strings labels;
	u64 days, top, depth, min_runs, min_growth, keep;
	double alpha, min_effect;
	bool no_pager;
};

static const struct fleet_args defaults = {.top = 10,
					   .depth = NOT_GIVEN,
					   .min_runs = 5,
					   .min_growth = 1024,
					   .keep = NOT_GIVEN,
					   .alpha = 0.05,
					   .min_effect = 0.15};

#define ARGS struct fleet_args

static const struct option_spec options[] = {
	OPT(to, 't', "to", STRING, "ADDRESS",
	    "the store: clickhouse://[USER[:PASSWORD]@]HOST:PORT[,HOST:PORT...]/DATABASE (default: "
	    "HEAPWISE_STORE)"),
	OPT(program, 0, "program", STRING, "NAME", "only runs of this program"),
	OPT(build, 0, "build", STRING, "ID",
	    "only runs of this build: the first digits of its build-id, or its version"),
	OPT(host, 0, "host", STRING, "NAME", "only runs on this host"),
	OPT(labels, 'l', "label", STRINGS, "KEY=VALUE", "only runs with this label. Repeatable"),
	OPT(days, 0, "days", NUMBER, "N", "only runs of the last N days"),
	OPT(by, 'b', "by", CHOICE, MEASURE_WORDS,
	    "top, growth, hosts: what to measure (default: top: time, which is bytes x time; "
	    "others: peak)"),
	TOP_OPTION(struct fleet_args, "rows (default 10; 0 = all)"),
	DEPTH_OPTION(struct fleet_args, "default: 8 in text, all in json and csv"),
	OPT(old_build, 0, "old", STRING, "BUILD",
	    "growth: from this build (default: the one before the last)"),
	OPT(new_build, 0, "new", STRING, "BUILD", "growth: to this build (default: the last)"),
	OPT(min_runs, 0, "min-runs", NUMBER, "N",
	    "growth: minimum number of runs per build; hosts: minimum number of hosts (default 5)"),
	OPT(min_growth, 0, "min-growth", BYTES, "BYTES",
	    "growth: ignore growth by less than this (default 1K)"),
	OPT(alpha, 0, "chance", PERCENT, "SHARE",
	    "growth: accepted percentage of false positives (default 5)"),
	OPT(min_effect, 0, "min-effect", PERCENT, "SHARE",
	    "growth: ignore smaller effects; Cliff's delta as a percentage (default 15)"),
	OPT(cluster, 0, "cluster", STRING, "NAME",
	    "init: name of the cluster of all shards in the servers' remote_servers"),
	OPT(keep, 0, "keep", NUMBER, "DAYS", "expire: drop runs older than this"),
	OPT(output, 'o', "output", STRING, "FILE", "fetch: write the trace to FILE"),
	FORMAT_OPTION(struct fleet_args),
	NO_PAGER_OPTION(struct fleet_args),
	OPTION_END};

struct verb {
	const char *name;
	struct result *(*ask)(struct store *store, const struct fleet_query *query,
			      struct err *err);
	enum fleet_measure measure; /* unless another one is asked for */
	int (*act)(struct store *store, const struct fleet_args *args, const char *operand,
		   struct err *err);
	bool operand;
	bool unchecked; /* the schema need not be there */
};

static int act_init(struct store *store, const struct fleet_args *args, const char *operand,
		    struct err *err)
{
	int status = schema_make(store, args->cluster, err);

	(void)operand;
	if (status == 0)
		printf("database '%s' has schema %d on %llu server%s\n", store->database,
		       SCHEMA_VERSION, (unsigned long long)store->shards.count,
		       store->shards.count == 1 ? "" : "s");
	return status;
}

static int act_expire(struct store *store, const struct fleet_args *args, const char *operand,
		      struct err *err)
{
	u64 dropped = 0;
	int status;

	(void)operand;
	if (args->keep == NOT_GIVEN)
		return err_set(err, ERR_USAGE, "expire requires --keep DAYS");
	status = schema_expire(store, args->keep, &dropped, err);
	if (status == 0)
		printf("dropped %llu table partition%s (one day of one table each)\n",
		       (unsigned long long)dropped, dropped == 1 ? "" : "s");
	return status;
}

static int act_clean(struct store *store, const struct fleet_args *args, const char *operand,
		     struct err *err)
{
	(void)args;
	(void)operand;
	return schema_clean(store, err);
}

static int act_fetch(struct store *store, const struct fleet_args *args, const char *operand,
		     struct err *err)
{
	struct outfile out;
	int status;

	if (!args->output)
		return err_set(err, ERR_USAGE, "fetch requires -o FILE");
	status = outfile_open(&out, args->output, false, err);
	if (status < 0)
		return status;
	status = fleet_fetch(store, operand, fileno(out.file), err);
	return outfile_close(&out, status, err);
}

static const struct verb verbs[] = {
	{.name = "init", .act = act_init, .unchecked = true},
	{.name = "runs", .ask = fleet_runs},
	{.name = "top", .ask = fleet_top, .measure = MEASURE_TIME},
	{.name = "growth", .ask = fleet_growth, .measure = MEASURE_PEAK},
	{.name = "hosts", .ask = fleet_hosts, .measure = MEASURE_PEAK},
	{.name = "scores", .ask = fleet_scores},
	{.name = "leaks", .ask = fleet_leaks},
	{.name = "fetch", .act = act_fetch, .operand = true},
	{.name = "expire", .act = act_expire},
	{.name = "clean", .act = act_clean},
};
#define VERB_WORDS "init, runs, top, growth, hosts, scores, leaks, fetch, expire or clean"

static const struct verb *verb_find(const char *name)
{
	for (u32 i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int answer(const struct verb *verb, const struct fleet_args *args, struct store *store,
		  struct err *err)
{
	enum format format = format_parse(args->format);
	struct fleet_query query = {.filter = {.program = args->program,
					       .build = args->build,
					       .host = args->host,
					       .labels = &args->labels,
					       .days = args->days},
				    .measure = verb->measure,
				    .top = args->top,
				    .depth = args->depth != NOT_GIVEN ? (u32)args->depth
					     : format == FORMAT_TEXT  ? 8
								      : 0,
				    .old_build = args->old_build,
				    .new_build = args->new_build,
				    .min_runs = args->min_runs ? args->min_runs : 1,
				    .alpha = args->alpha,
				    .min_effect = args->min_effect,
				    .min_bytes = args->min_growth,
				    .limit = 3.5};
	struct result *result;

	if (args->by)
		measure_parse(args->by, &query.measure);
	result = verb->ask(store, &query, err);
	if (!result)
		return err->code;
	print_result(result, format);
	result_free(result);
	return 0;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct fleet_args *args = fields;
	const char *address = args->to ? args->to : getenv("HEAPWISE_STORE");
	const struct verb *verb = argc ? verb_find(argv[0]) : NULL;
	struct store store = {0};
	struct err err = {0};
	int status;

	if (!verb)
		return command_usage(command,
				     argc ? "expected %s, not '%s'"
					  : "no question given; expected %s",
				     VERB_WORDS, argc ? argv[0] : "");
	if (argc != (verb->operand ? 2 : 1))
		return command_usage(command,
				     verb->operand ? "no RUN given" : "%s takes no argument",
				     verb->name);
	if (!address)
		return command_usage(command, "no store given; use --to "
					      "clickhouse://HOST:PORT/DATABASE");
	status = store_open(&store, address, &err);
	if (args->to)
		address_hide_password((char *)(uintptr_t)args->to);
	if (status == 0 && !verb->unchecked)
		status = schema_check(&store, &err);
	if (status == 0)
		status = verb->ask ? answer(verb, args, &store, &err)
				   : verb->act(&store, args, verb->operand ? argv[1] : NULL, &err);
	store_close(&store);
	return status < 0 ? command_fail(command, &err) : EXIT_DONE;
}

static const struct command *const below[] = {&cmd_push, NULL};

const struct command cmd_fleet = {
	.name = "fleet",
	.operands = "QUESTION [RUN]",
	.summary = "query a store of many runs, filled by 'heapwise fleet push'",
	.details =
		"init: create the tables, or update them.\n"
		"runs: list runs, latest first. top: show the points that cost most over all runs.\n"
		"growth: show what grew from one build to another, how certain it is, and since which build.\n"
		"hosts: show hosts whose runs differ from other runs of the same build.\n"
		"scores: show the distribution of scores. leaks: show lost and kept memory by build.\n"
		"fetch RUN: download the trace of a run that was pushed with --trace.\n"
		"expire: drop old days. clean: remove the remains of interrupted pushes.\n"
		"The password can also be given in the environment: HEAPWISE_PASSWORD.",
	.options = options,
	.fields_size = sizeof(struct fleet_args),
	.fields_default = &defaults,
	.commands = below,
	.run = run,
};
