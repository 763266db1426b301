/* SPDX-License-Identifier: MIT
 * heapwise query: asks a trace, or two, in the query language.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "show/cli/opening.h"
#include "study/query/engine.h"
#include "study/query/graph.h"

struct query_args {
	struct trace_args trace;
	const char *file, *from_graph, *index, *from, *to, *by;
	u64 skip;
	bool guess, canonical, graph, fields, boxes, stacks;
};

static const struct query_args defaults = {.trace = {TRACE_DEFAULTS, .top = 20}, .guess = true};

#define ARGS struct query_args

static const struct option_spec options[] = {
	OPT(file, 0, "file", STRING, "NAME.hwq",
	    "read the query from a file instead of the last argument"),
	TOP_OPTION(struct trace_args, "rows (default 20; 0 = all)"),
	OPT(skip, 0, "skip", NUMBER, "N", "skip the first N rows"),
	OPT(stacks, 0, "stacks", SET, NULL, "show the call stack that allocated each row"),
	OPT(from, 0, "from", STRING, "TIME",
	    "only chunks that were live at this time of the run, such as 1.5s, or later"),
	OPT(to, 0, "to", STRING, "TIME",
	    "only chunks that were live at this time of the run or earlier"),
	OPT(by, 0, "window", CHOICE, "overlap|alloc|free",
	    "apply --from and --to to when chunks were live, allocated or freed (default: overlap, "
	    "live)"),
	OPT(canonical, 0, "canonical", SET, NULL, "print only the query, in canonical form"),
	OPT(graph, 0, "graph", SET, NULL, "print only the query, as a filter graph in JSON"),
	OPT(from_graph, 0, "from-graph", STRING, "FILE",
	    "read the query from a filter graph in JSON"),
	OPT(fields, 0, "fields", SET, NULL, "list the fields that queries can use"),
	OPT(boxes, 0, "boxes", SET, NULL, "list the boxes of filter graphs"),
	OPT(guess, 0, "no-guess", CLEAR, NULL, "types: do not guess types from source lines"),
	OPT(index, 0, "index", STRING, "PATH",
	    "types: use this index of the sources (default: the one beside the program)"),
	DEBUG_PATH_OPTION(struct trace_args),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	NO_INDEX_OPTION(struct trace_args),
	FORMAT_OPTION(struct trace_args),
	NO_PAGER_OPTION(struct trace_args),
	OPTION_END};

/* ---- errors ---- */

/* The line of the text that an error is in, with a caret below. */
static void show_place(const char *text, const struct query_error *error)
{
	u32 at = error->at < strlen(text) ? error->at : (u32)strlen(text), start = at, end = at;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	while (text[end] && text[end] != '\n')
		end++;
	fprintf(stderr, "  %.*s\n  ", (int)(end - start), text + start);
	for (u32 i = start; i < at; i++)
		if (((u8)text[i] & 0xc0) != 0x80)
			fputc(text[i] == '\t' ? '\t' : ' ', stderr);
	fputc('^', stderr);
	for (u32 i = 1; i < error->length && at + i < end; i++)
		if (((u8)text[at + i] & 0xc0) != 0x80)
			fputc('~', stderr);
	fputc('\n', stderr);
}

static int fail_query(const struct command *command, const char *text,
		      const struct query_error *error)
{
	fflush(stdout);
	if (error->code != ERR_USAGE || !text) {
		fprintf(stderr, "heapwise %s: %s%s%s%s%s\n", command->name,
			error->box[0] ? "box " : "", error->box, error->box[0] ? ": " : "",
			error->message, text ? "" : error->hint);
		return error->code == ERR_USAGE ? EXIT_USAGE : EXIT_BAD_INPUT;
	}
	fprintf(stderr, "heapwise %s: column %u: %s\n", command->name, error->at + 1,
		error->message);
	show_place(text, error);
	if (error->hint[0])
		fprintf(stderr, "  %s\n", error->hint);
	return EXIT_USAGE;
}

/* ---- where the text comes from ---- */

static char *text_of_graph(const struct command *command, const char *path, int *status)
{
	struct strbuf file = {0};
	struct arena arena = {0};
	struct query_error error = {0};
	struct err err = {0};
	const struct json_node *graph = NULL;
	char *text = NULL;

	if (io_read_file(path, 1 << 20, &file, &err) == 0)
		graph = json_read(strbuf_text(&file), file.count, &arena, &err);
	if (!graph) {
		err_prefix(&err, "%s", path);
		*status = command_fail(command, &err);
	} else {
		text = query_from_graph(graph, &error);
		if (!text)
			*status = fail_query(command, NULL, &error);
	}
	strbuf_release(&file);
	arena_release(&arena);
	return text;
}

static char *text_of_file(const struct command *command, const char *path, int *status)
{
	struct strbuf file = {0};
	struct err err = {0};
	char *text = NULL;

	if (io_read_file(path, QUERY_TEXT_MAX, &file, &err) < 0)
		*status = command_fail(command, &err);
	else
		text = file.text ? strbuf_take(&file) : strdup("");
	strbuf_release(&file);
	return text;
}

/* The text, to be freed; NULL and the exit status. The last operand is it unless an option names a
 * file. */
static char *find_text(const struct command *command, const struct query_args *args, int *argc,
		       char **argv, int *status)
{
	if (args->from_graph)
		return text_of_graph(command, args->from_graph, status);
	if (args->file)
		return text_of_file(command, args->file, status);
	if (!*argc) {
		*status = command_usage(command, "no FILE and no QUERY given");
		return NULL;
	}
	return strdup(argv[--*argc]);
}

/* ---- without a trace ---- */

static int print_text(const struct command *command, const struct query_args *args,
		      const char *text)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);
	struct strbuf out = {0};
	struct json json = {.out = stdout};

	if (!query)
		return fail_query(command, text, &error);
	if (args->canonical) {
		query_print(query, &out);
		printf("%s\n", strbuf_text(&out));
		strbuf_release(&out);
	}
	if (args->graph && query_write_graph(query, &json, NULL))
		json_end(&json);
	query_free(query);
	return EXIT_DONE;
}

/* ---- with a trace ---- */

static bool parse_time(const char *word, u64 *ns)
{
	double real;

	if (!parse_ns(word, 0, NULL, &real) || real >= 9e18)
		return false;
	*ns = (u64)real;
	return true;
}

static int read_window(const struct command *command, const struct query_args *args,
		       struct query_window *window)
{
	static const char *const modes[] = {"overlap", "alloc", "free"};

	*window = (struct query_window){0};
	if (!args->from && !args->to)
		return EXIT_DONE;
	window->to_ns = UINT64_MAX / 2;
	if (args->from && !parse_time(args->from, &window->from_ns))
		return command_usage(command, "--from: expected a time such as 1.5s, not '%s'",
				     args->from);
	if (args->to && !parse_time(args->to, &window->to_ns))
		return command_usage(command, "--to: expected a time such as 1.5s, not '%s'",
				     args->to);
	for (u32 i = 0; args->by && i < 3; i++)
		if (strcmp(modes[i], args->by) == 0)
			window->mode = (enum query_window_mode)i;
	return EXIT_DONE;
}

static struct query_trace trace_of(const struct query_args *args, const struct study *study)
{
	struct thresholds thresholds = THRESHOLDS_DEFAULT;

	return (struct query_trace){.model = study->model,
				    .symbols = &study->symbols,
				    .image = study->model->image.number,
				    .name = study->path,
				    .type_index = args->index,
				    .debug_path = args->trace.debug_path,
				    .guess = args->guess,
				    .thresholds = thresholds,
				    .pointers = study_pointers(study)};
}

static int ask(const struct command *command, const struct query_args *args, const char *text,
	       struct study *const *studies, u32 count)
{
	enum format format = format_parse(args->trace.format);
	struct query_trace traces[QUERY_TRACES];
	struct query_options how = {.rows = args->trace.top,
				    .skip = args->skip,
				    .stacks = args->stacks,
				    .depth = format == FORMAT_TEXT ? 8 : 0,
				    .fold = format == FORMAT_TEXT};
	struct query_engine *engine;
	struct query_error error = {0};
	struct result *result = NULL;
	int status = read_window(command, args, &how.window);

	if (status != EXIT_DONE)
		return status;
	for (u32 i = 0; i < count; i++)
		traces[i] = trace_of(args, studies[i]);
	engine = query_engine_new(traces, count);
	if (!engine)
		return command_fail(command,
				    &(struct err){.code = ERR_MEMORY, .text = "out of memory"});
	if (query_run(engine, text, &how, &result, &error) < 0)
		status = fail_query(command, text, &error);
	else
		print_result(result, format);
	result_free(result);
	query_engine_free(engine);
	return status;
}

static int ask_files(const struct command *command, const struct query_args *args, const char *text,
		     int argc, char **argv)
{
	struct study *studies[QUERY_TRACES] = {0};
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);
	struct err err = {0};
	int status = EXIT_DONE, read = 0;

	/* A mistake is told before a large trace is read for nothing. */
	query_free(query);
	if (!query)
		return fail_query(command, text, &error);
	for (; status == EXIT_DONE && read < argc; read++) {
		studies[read] = open_trace(command, &args->trace, NULL, argv[read], &err);
		if (!studies[read])
			status = command_fail(command, &err);
	}
	if (status == EXIT_DONE)
		status = ask(command, args, text, studies, (u32)argc);
	while (read)
		close_trace(studies[--read]);
	return status;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct query_args *args = fields;
	int status = EXIT_DONE;
	char *text;

	if (args->fields || args->boxes)
		return argc ? command_usage(self, "unexpected FILE")
			    : print_made(self,
					 args->fields ? query_fields_result()
						      : query_boxes_result(),
					 format_parse(args->trace.format));
	text = find_text(self, args, &argc, argv, &status);
	if (!text)
		return status;
	if (args->canonical || args->graph)
		status = argc ? command_usage(self, "unexpected FILE")
			      : print_text(self, args, text);
	else if (argc < 1)
		status = command_usage(self, "no FILE given");
	else if (argc > QUERY_TRACES)
		status = command_usage(self, "too many arguments; expected at most two FILEs");
	else
		status = ask_files(self, args, text, argc, argv);
	free(text);
	return status;
}

const struct command cmd_query = {
	.name = "query",
	.operands = "FILE [FILE2] QUERY",
	.summary = "query one trace or two in the query language",
	.details = "FILE is a trace written by 'heapwise run'. FILE2 is an optional second trace, "
		   "which the query calls trace \"base\".\n"
		   "QUERY is a pipeline: all | where size >= 1KiB and stack ~ \"std::vector\" | "
		   "join type | sort size desc\n"
		   "heapwise-query(7) describes the language.",
	.options = options,
	.fields_size = sizeof(struct query_args),
	.fields_default = &defaults,
	.run = run,
};
