/* SPDX-License-Identifier: MIT
 * All formats, and which of them a file is in.
 * Host. */
#include "show/formats/formats.h"

#include <ctype.h>
#include <string.h>

#include "host/base/units.h"
#include "show/formats/emad.h"
#include "show/formats/heaplog.h"
#include "show/formats/heaptrack.h"
#include "show/formats/unpack.h"

/* ---- reading ---- */

static int read_emad(const struct import_job *job, struct strbuf *told, struct err *err)
{
	struct emad_import how = {.from = job->from[0], .to = job->to, .tick_ns = job->tick_ns};
	struct emad_summary sums;
	int status = emad_import(&how, &sums, err);

	if (status == 0)
		strbuf_addf(told, "%s of %s, %s, %s",
			    units_things(sums.messages, "message(s)").text,
			    units_things(sums.routines, "routine(s)").text,
			    units_things(sums.allocations, "allocation(s)").text,
			    units_things(sums.frees, "free(s)").text);
	return status;
}

static int read_heaplog(const struct import_job *job, struct strbuf *told, struct err *err)
{
	struct heaplog_import how = {.from = job->from,
				     .from_count = job->count,
				     .to = job->to,
				     .tick_ns = job->tick_ns};
	struct heaplog_summary sums;
	int status = heaplog_import(&how, &sums, err);

	if (status == 0)
		strbuf_addf(told, "%s, %s of them freed, %s, %s",
			    units_things(sums.entries, "entr(y|ies)").text,
			    units_count(sums.freed).text, units_things(sums.types, "type(s)").text,
			    units_things(sums.nodes, "node(s)").text);
	return status;
}

static int read_heaptrack(const struct import_job *job, struct strbuf *told, struct err *err)
{
	struct heaptrack_import how = {.from = job->from[0], .to = job->to};
	struct heaptrack_summary sums;
	int status = heaptrack_import(&how, &sums, err);

	if (status == 0)
		strbuf_addf(told, "%s, %s, %s%s",
			    units_things(sums.allocations, "allocation(s)").text,
			    units_things(sums.frees, "free(s)").text,
			    units_things(sums.stacks, "stack(s)").text,
			    sums.cut ? "; the file is truncated" : "");
	return status;
}

/* ---- recognising ---- */

/* "THREAD ROUTINE start NAME" */
static bool begins_emad(const char *line)
{
	for (int numbers = 0; numbers < 2; numbers++) {
		if (!isdigit((unsigned char)*line))
			return false;
		line += strspn(line, "0123456789");
		if (!isspace((unsigned char)*line))
			return false;
		line += strspn(line, " \t");
	}
	return strncmp(line, "start ", 6) == 0 || strncmp(line, "exit ", 5) == 0;
}

static bool begins_heaplog(const char *line) { return strncmp(line, "HeapLog|", 8) == 0; }

static bool begins_heaptrack(const char *line)
{
	return line[0] == 'v' && line[1] == ' ' && isxdigit((unsigned char)line[2]);
}

/* ---- the table ---- */

const char formats_written[] =
	"html|pprof|folded|dhat|sqlite|csv|jsonl|speedscope|massif|callgrind|perfetto|firefox|dot|"
	"owners-graphml|owners-dot|emad|heaplog";

const char formats_help[] =
	"html: the web page of 'heapwise serve' with its data, in one file.\n"
	"pprof: compressed profile.proto, for 'go tool pprof' and others.\n"
	"folded: one stack per line, for flamegraph.pl and others.\n"
	"dhat: JSON for DHAT's viewer, dh_view.html.\n"
	"sqlite: a database of chunks, stacks, points, types, findings and more.\n"
	"csv, jsonl: one line per chunk.\n"
	"speedscope: JSON for speedscope.app.\n"
	"massif: for ms_print.\n"
	"callgrind: for callgrind_annotate and KCachegrind.\n"
	"perfetto: for ui.perfetto.dev.\n"
	"firefox: for profiler.firefox.com.\n"
	"dot: the calls that lead to allocations, for Graphviz.\n"
	"owners-graphml, owners-dot: who holds the memory, of traces recorded with 'run --owners', "
	"for Gephi, yEd and NetworkX, or Graphviz.\n"
	"emad: routine trace in EMAD's text format, for traces with routines; 'heapwise import' "
	"reads it.\n"
	"heaplog: dumps of allocation entries with types, HeapLog version 4; 'heapwise import' "
	"reads them.";

/* clang-format off */
static const struct file_format formats[] = {
	{.name = "html", .page = true},
	{.name = "pprof", .write = pprof_export, .point_types = true, .binary = true},
	{.name = "folded", .write = folded_export, .mute = true},
	{.name = "dhat", .write = dhat_export},
	{.name = "sqlite", .write = sqlite_export, .named = true, .chunk_types = true, .binary = true},
	{.name = "csv", .write = csv_export, .chunk_types = true, .mute = true},
	{.name = "jsonl", .write = jsonl_export, .chunk_types = true, .mute = true},
	{.name = "speedscope", .write = speedscope_export},
	{.name = "massif", .write = massif_export},
	{.name = "callgrind", .write = callgrind_export},
	{.name = "perfetto", .write = perfetto_export, .binary = true},
	{.name = "firefox", .write = firefox_export},
	{.name = "dot", .write = dot_export, .mute = true},
	{.name = "owners-graphml", .write = owners_graphml_export, .chunk_types = true, .graphs = true,
	 .mute = true},
	{.name = "owners-dot", .write = owners_dot_export, .chunk_types = true, .graphs = true,
	 .mute = true},
	{.name = "emad", .write = emad_export,
	 .read = read_emad, .begins = begins_emad, .tick_ns = 1},
	{.name = "heaplog", .write = heaplog_export, .chunk_types = true, .call_types = true,
	 .read = read_heaplog, .begins = begins_heaplog, .tick_ns = 1000000, .several = true},
	{.name = "heaptrack", .read = read_heaptrack, .begins = begins_heaptrack},
};
/* clang-format on */
enum { FORMATS = sizeof formats / sizeof *formats, LINES_MAX = 64 };

const struct file_format *format_find(const char *name)
{
	for (u32 i = 0; name && i < FORMATS; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

int format_recognise(const char *path, const struct file_format **format, struct err *err)
{
	struct unpack file;
	int status = unpack_open(&file, path, err);

	*format = NULL;
	for (u32 i = 0; i < LINES_MAX && status == 0; i++) {
		status = unpack_line(&file, err);
		if (status < 0 || !file.line)
			break;
		if (!file.line[strspn(file.line, " \t\r")] || *file.line == '#')
			continue;
		for (u32 k = 0; k < FORMATS && !*format; k++)
			if (formats[k].begins && formats[k].begins(file.line))
				*format = &formats[k];
		break;
	}
	if (status == 0 && !*format && file.cut)
		status = err_set(err, ERR_INPUT, "%s is truncated before the end of its first line",
				 path);
	unpack_close(&file);
	return status;
}
