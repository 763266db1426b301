/* SPDX-License-Identifier: MIT
 * Prints results.
 * Host. Looks at stdout only: what goes to stderr is for the commands to say. */
#include "show/cli/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "show/cli/pager.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MIN = 60, WIDTH_MAX = 160 };

enum format format_parse(const char *word)
{
	if (word && strcmp(word, "json") == 0)
		return FORMAT_JSON;
	if (word && strcmp(word, "csv") == 0)
		return FORMAT_CSV;
	return FORMAT_TEXT;
}

struct text_style print_style(void)
{
	struct text_style style = {.width = WIDTH_DEFAULT};
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
	struct winsize window;

	if (!isatty(pager_output()))
		return style;
	style.colour = !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0;
	if (ioctl(pager_output(), TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
		style.width = window.ws_col;
	if (style.width < WIDTH_MIN)
		style.width = WIDTH_MIN;
	if (style.width > WIDTH_MAX)
		style.width = WIDTH_MAX;
	return style;
}

void print_begin(void)
{
	progress_end();
	pager_start();
}

void print_result(const struct result *result, enum format format)
{
	struct text_style style = print_style();

	print_begin();
	switch (format) {
	case FORMAT_TEXT: render_text(result, &style, stdout); break;
	case FORMAT_JSON: render_json(result, stdout); break;
	case FORMAT_CSV: render_csv(result, stdout); break;
	}
}

int print_made(const struct command *command, struct result *result, enum format format)
{
	struct err err = {0};
	bool whole = result && !result_failed(result);

	if (whole)
		print_result(result, format);
	else
		err_memory(&err);
	result_free(result);
	return whole ? EXIT_DONE : command_fail(command, &err);
}
