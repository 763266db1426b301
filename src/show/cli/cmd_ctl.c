/* SPDX-License-Identifier: MIT
 * heapwise ctl: controls a recording that is under way. Host. The monitor does the work; this only
 * asks, and prints the answer, but for dumps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/drain/berths.h"
#include "show/cli/dumps.h"
#include "show/cli/owners_how.h"
#include "show/cli/trace_options.h"
#include "show/formats/heaplog.h"
#include "live/control/control_server.h"

struct ctl_args {
	const char *format;
	const char *output;
	bool freed;
	const char *owners; /* NULL = without */
};

#define ARGS struct ctl_args

static const struct option_spec options[] = {
	FORMAT_OPTION(struct ctl_args),
	OPT(output, 'o', "output", STRING, "FILE",
	    "dump: write to FILE (default: a numbered name beside the trace)"),
	OPT(freed, 0, "freed", SET, NULL, "dump: include freed entries"),
	OPT(owners, 0, "owners", OPTIONAL, "WORDS",
	    "scan: also record which chunk points to which, and from where else; in the "
	    "background (background) or with which chunks are alike (contents)"),
	OPTION_END};

/* What is known of the keys of a reply; others are text. */
static const struct result_column known[] = {
	COLUMN("state", "state", VALUE_TEXT, "waiting, recording, paused, stopped or ended"),
	COLUMN("pid", "pid", VALUE_ID, "process id of the program"),
	COLUMN("monitor_pid", "monitor", VALUE_ID, "process id of heapwise run"),
	COLUMN("trace", "trace", VALUE_PATH, "file being written, or written last"),
	COLUMN("trace_bytes", "trace size", VALUE_BYTES, "size of the trace files so far"),
	COLUMN("events", "events", VALUE_COUNT, "events so far"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations in this recording so far"),
	COLUMN("live_bytes", "live", VALUE_BYTES, "live bytes"),
	COLUMN("live_chunks", "live chunks", VALUE_COUNT, "live chunks"),
	COLUMN("snapshots", "snapshots", VALUE_COUNT, "snapshots so far"),
	COLUMN("lost_chunks", "lost chunks", VALUE_COUNT, "live chunks to which no pointer exists"),
	COLUMN("lost_bytes", "lost", VALUE_BYTES, "their bytes"),
	COLUMN("indirect_chunks", "indirect chunks", VALUE_COUNT,
	       "live chunks to which only lost chunks point"),
	COLUMN("indirect_bytes", "indirect", VALUE_BYTES, "their bytes"),
	COLUMN("possible_chunks", "possible chunks", VALUE_COUNT,
	       "live chunks with interior pointers only"),
	COLUMN("possible_bytes", "possible", VALUE_BYTES, "their bytes"),
	COLUMN("reachable_chunks", "reachable chunks", VALUE_COUNT,
	       "live chunks that the program can still reach"),
	COLUMN("reachable_bytes", "reachable", VALUE_BYTES, "their bytes"),
	COLUMN("dump", "dump", VALUE_PATH, "file written"),
	COLUMN("live_entries", "live entries", VALUE_COUNT, "allocation entries of live chunks"),
	COLUMN("freed_entries", "freed entries", VALUE_COUNT,
	       "allocation entries of freed chunks; in the dump only with --freed"),
	COLUMN("stopped_ns", "stopped for", VALUE_NS, "time for which the program was stopped"),
};

static void add_line(struct result *result, const char *key, const char *text)
{
	struct result_column column = COLUMN(NULL, NULL, VALUE_TEXT, "");
	struct value value;
	u64 number;

	if (strcmp(key, "caveat") == 0) {
		result_add_caveat(result, "%s", text);
		return;
	}
	column.name = column.label = result_copy(result, key);
	for (u32 i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, key) == 0)
			column = known[i];
	value = value_text(result_copy(result, text));
	if (column.type != VALUE_TEXT && column.type != VALUE_PATH)
		value = parse_number(text, &number) ? value_number(number) : value_unknown();
	result_add_field(result, column, value);
}

static struct result *result_of(char *reply)
{
	struct result *result = result_new(RESULT_RECORD, "ctl", "");
	char *rest = reply, *line;

	while (result && (line = strsep(&rest, "\n"))) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = 0;
		add_line(result, line, space + 1);
	}
	return result;
}

static bool verb_is_known(const char *name)
{
	const struct control_verb *verb;

	for (u32 i = 0; (verb = control_verb_at(i)); i++)
		if (!verb->variant && strcmp(verb->name, name) == 0)
			return true;
	return false;
}

static int verb_unknown(const struct command *command, const char *name)
{
	const struct control_verb *verb;
	char list[256] = "";

	for (u32 i = 0; (verb = control_verb_at(i)); i++)
		if (!verb->variant)
			snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
				 i ? ", " : "", verb->name);
	return command_usage(command, "unknown verb '%s'; expected one of %s, dump", name, list);
}

/* A dump is made here, of what the monitor has put into the trace: it keeps nobody waiting, and
 * what it may need of memory is not the monitor's. */
static int dump(const struct command *command, const struct ctl_args *args, u32 pid,
		struct strbuf *reply, struct err *err)
{
	struct dump_job job = {.command = command,
			       .to = args->output,
			       .entries = args->freed ? HEAPLOG_ALL : HEAPLOG_LIVE,
			       .names = true};
	struct strbuf saved = {0};
	struct dump_done done;
	int status = control_call(pid, "save", &saved, err);
	char *text = strbuf_take(&saved), *end = text ? strchr(text, '\n') : NULL;

	if (status == 0 && (!end || strncmp(text, "trace ", 6) != 0))
		status =
			err_set(err, ERR_INPUT, "the monitor did not report the path of its trace");
	if (status == 0) {
		*end = 0;
		job.trace = text + 6;
		status = dump_write(&job, &done, err);
	}
	if (status == 0)
		strbuf_addf(reply, "dump %s\nlive_entries %llu\nfreed_entries %llu\n", done.path,
			    (unsigned long long)done.live, (unsigned long long)done.freed);
	free(text);
	return status;
}

/* The verb of a scan with these words of --owners; NULL if one is unknown. */
static const char *scan_verb(const char *words)
{
	static const char *const verbs[] = {
		[0] = "scan-owners",
		[OWNERS_BACKGROUND] = "scan-owners-background",
		[OWNERS_CONTENTS] = "scan-owners-contents",
		[OWNERS_BACKGROUND | OWNERS_CONTENTS] = "scan-owners-background-contents",
	};
	u32 how;

	return owners_how_read(&how, words) ? verbs[how] : NULL;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct ctl_args *args = fields;
	struct strbuf reply = {0};
	struct err err = {0};
	char *text;
	bool dumps;
	int status;
	u64 pid;

	if (argc != 2)
		return command_usage(command, "no PID and VERB given; usage: heapwise ctl PID "
					      "VERB");
	if (!parse_number(argv[0], &pid) || !pid || pid > INT32_MAX)
		return command_usage(command, "invalid process id '%s'", argv[0]);
	dumps = strcmp(argv[1], "dump") == 0;
	if (!dumps && !verb_is_known(argv[1]))
		return verb_unknown(command, argv[1]);
	if (!dumps && (args->output || args->freed))
		return command_usage(command, "--%s requires the verb dump",
				     args->freed ? "freed" : "output");
	if (args->owners && strcmp(argv[1], "scan") != 0)
		return command_usage(command, "--owners requires the verb scan");
	if (args->owners && !scan_verb(args->owners))
		return command_usage(command,
				     "invalid --owners '%s'; expected background or contents",
				     args->owners);
	status = dumps ? dump(command, args, (u32)pid, &reply, &err)
		       : control_call((u32)pid, args->owners ? scan_verb(args->owners) : argv[1],
				      &reply, &err);
	text = strbuf_take(&reply);
	status = status < 0 ? command_fail(command, &err)
			    : print_made(command, result_of(text ? text : (char[]){""}),
					 format_parse(args->format));
	free(text);
	return status;
}

const struct command cmd_ctl = {
	.name = "ctl",
	.operands = "PID VERB",
	.summary = "control a running recording: pause, resume, snapshot, scan, save, dump, stop, "
		   "status",
	.details =
		"PID is the process id of a recorded program, or of the heapwise that records "
		"it; with\n"
		"--children the latter means all of its processes. VERB is one of\n"
		"  pause     stop recording allocations; frees of known chunks are still recorded\n"
		"  resume    record allocations again\n"
		"  snapshot  write a snapshot of live memory to the trace\n"
		"  scan      search the program's memory for leaks; with --owners, record all pointers\n"
		"  save      write everything recorded so far to the trace\n"
		"  dump      write live memory and its allocation stacks to a file, in HeapLog format version 4\n"
		"  stop      end the recording and close the trace; the program continues\n"
		"  status    show the state and size of the recording\n"
		"Only the user who started the recording can control it.\n"
		"\n"
		"Exit status: 0 success, 2 usage error, 3 no such recording or the command failed.",
	.options = options,
	.fields_size = sizeof(struct ctl_args),
	.run = run,
};
