/* SPDX-License-Identifier: MIT
 * How the scores of allocation points are distributed over all runs.
 * Host. The store counts points by bin of all three scores at once; the rest is done here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/fleet/ask.h"

enum { BINS = 10, NO_BIN = 10, KINDS = 3 };

static const char *const kind_names[KINDS] = {"lifetime", "usage", "useful"};

struct distribution {
	u64 points[BINS];
	double bytes[BINS];
	u64 count;
	double sum, squares, by_bytes, all_bytes;
};

static const struct result_column columns[] = {
	COLUMN("score", "score", VALUE_TEXT, "which score"),
	COLUMN("points", "points", VALUE_COUNT, "points of runs with a known score"),
	COLUMN("mean", "mean", VALUE_RATIO, "mean of these points"),
	COLUMN("deviation", "deviation", VALUE_RATIO, "standard deviation"),
	COLUMN("mean_by_bytes", "by bytes", VALUE_RATIO, "mean, points weighted by bytes"),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const struct result_column bin_columns[] = {
	COLUMN("score", "score", VALUE_TEXT, "which score"),
	COLUMN("from", "from", VALUE_RATIO, "lowest score of the bin"),
	COLUMN("to", "to", VALUE_RATIO, "end of the bin; 1 is in the last one"),
	COLUMN("points", "points", VALUE_COUNT, "points of runs in it"),
	COLUMN("share", "share", VALUE_SHARE, "share of the points with a known score"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes of these points"),
};
enum { BIN_COLUMNS = sizeof bin_columns / sizeof *bin_columns };

static const struct result_column step_columns[] = {
	COLUMN("severity", "severity", VALUE_COUNT,
	       "severity from 1 (best) to 12; 0 = no score is known"),
	COLUMN("points", "points", VALUE_COUNT, "points of runs"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "their requested bytes"),
};
enum { STEP_COLUMNS = sizeof step_columns / sizeof *step_columns, STEPS = 13 };

struct scores {
	struct distribution kinds[KINDS];
	u64 step_points[STEPS];
	double step_bytes[STEPS];
};

/* Columns: three bins, severity, points, bytes, and for each score its sum, sum of squares, sum by
 * bytes. */
enum { FIELDS = KINDS + 3 + 3 * KINDS };

static void add_cell(struct scores *self, char **fields)
{
	u64 step = reply_number(fields[KINDS]), points = reply_number(fields[KINDS + 1]);
	double bytes = strtod(fields[KINDS + 2], NULL);

	if (step < STEPS) {
		self->step_points[step] += points;
		self->step_bytes[step] += bytes;
	}
	for (u32 i = 0; i < KINDS; i++) {
		struct distribution *kind = &self->kinds[i];
		u64 bin = reply_number(fields[i]);

		if (bin >= NO_BIN)
			continue;
		kind->points[bin] += points;
		kind->bytes[bin] += bytes;
		kind->count += points;
		kind->all_bytes += bytes;
		kind->sum += strtod(fields[KINDS + 3 + 3 * i], NULL);
		kind->squares += strtod(fields[KINDS + 4 + 3 * i], NULL);
		kind->by_bytes += strtod(fields[KINDS + 5 + 3 * i], NULL);
	}
}

static int read_scores(struct store *store, const struct fleet_query *query, struct scores *self,
		       struct err *err)
{
	struct question ask = {.store = store};
	char *fields[FIELDS];

	strbuf_add(&ask.sql, "SELECT ");
	for (u32 i = 0; i < KINDS; i++)
		strbuf_addf(&ask.sql,
			    "if(%s >= 0, toUInt8(least(floor(%s * %d), %d)), %d) AS bin%u, ",
			    kind_names[i], kind_names[i], BINS, BINS - 1, NO_BIN, i);
	strbuf_add(&ask.sql, "severity, count(), sum(toFloat64(bytes))");
	for (u32 i = 0; i < KINDS; i++)
		strbuf_addf(
			&ask.sql,
			", sum(toFloat64(%s)), sum(toFloat64(%s) * %s), sum(toFloat64(%s) * bytes)",
			kind_names[i], kind_names[i], kind_names[i], kind_names[i]);
	ask_from(&ask, TABLE_POINTS, "", &query->filter);
	strbuf_add(&ask.sql, " GROUP BY bin0, bin1, bin2, severity");
	while (question_row(&ask, fields, FIELDS, err))
		add_cell(self, fields);
	return question_end(&ask);
}

static struct result *bin_table(const struct scores *self)
{
	struct result *table = result_new(RESULT_TABLE, "bins", "Points by score");

	if (!table)
		return NULL;
	result_set_columns(table, bin_columns, BIN_COLUMNS);
	for (u32 i = 0; i < KINDS; i++)
		for (u32 bin = 0; bin < BINS && self->kinds[i].count; bin++) {
			struct value *row = result_add_row(table);

			if (!row)
				return table;
			row[0] = value_text(kind_names[i]);
			row[1] = value_real((double)bin / BINS);
			row[2] = value_real((double)(bin + 1) / BINS);
			row[3] = value_number(self->kinds[i].points[bin]);
			row[4] = value_real((double)self->kinds[i].points[bin] /
					    (double)self->kinds[i].count);
			row[5] = value_number((u64)self->kinds[i].bytes[bin]);
		}
	return table;
}

static struct result *step_table(const struct scores *self)
{
	struct result *table = result_new(RESULT_TABLE, "severities", "Points by severity");

	if (!table)
		return NULL;
	result_set_columns(table, step_columns, STEP_COLUMNS);
	for (u32 step = 0; step < STEPS; step++) {
		struct value *row = self->step_points[step] ? result_add_row(table) : NULL;

		if (!row)
			continue;
		row[0] = value_number(step);
		row[1] = value_number(self->step_points[step]);
		row[2] = value_number((u64)self->step_bytes[step]);
	}
	return table;
}

static void add_score(struct result *table, const char *name, const struct distribution *kind)
{
	struct value *row = result_add_row(table);
	double count = (double)kind->count, mean = kind->count ? kind->sum / count : 0;
	double variance = kind->count ? kind->squares / count - mean * mean : 0;

	if (!row)
		return;
	row[0] = value_text(name);
	row[1] = value_number(kind->count);
	if (!kind->count)
		return;
	row[2] = value_real(mean);
	row[3] = value_real(variance > 0 ? sqrt(variance) : 0);
	if (kind->all_bytes > 0)
		row[4] = value_real(kind->by_bytes / kind->all_bytes);
}

static struct result *score_table(const struct scores *self)
{
	struct result *table = result_new(RESULT_TABLE, "scores", "Scores of all runs");

	if (!table)
		return NULL;
	result_set_columns(table, columns, COLUMNS);
	for (u32 i = 0; i < KINDS; i++)
		add_score(table, kind_names[i], &self->kinds[i]);
	return table;
}

struct result *fleet_scores(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "scores", "Scores");
	struct scores scores = {0};
	int status;

	if (!record)
		return ask_done(NULL, 0, err);
	status = read_scores(store, query, &scores, err);
	if (status == 0) {
		result_add_part(record, score_table(&scores));
		result_add_part(record, bin_table(&scores));
		result_add_part(record, step_table(&scores));
	}
	return ask_done(record, status, err);
}
