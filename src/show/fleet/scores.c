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

static const struct result_column bin_columns[] = {
	COLUMN("score", "score", VALUE_TEXT, "which score"),
	COLUMN("from", "from", VALUE_RATIO, "lowest score of the bin"),
	COLUMN("to", "to", VALUE_RATIO, "end of the bin; 1 is in the last one"),
	COLUMN("points", "points", VALUE_COUNT, "points of runs in it"),
	COLUMN("share", "share", VALUE_SHARE, "share of the points with a known score"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes of these points"),
};

static const struct result_column step_columns[] = {
	COLUMN("severity", "severity", VALUE_COUNT,
	       "severity from 1 (best) to 12; 0 = no score is known"),
	COLUMN("points", "points", VALUE_COUNT, "points of runs"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "their requested bytes"),
};
enum { STEPS = 13 };

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
	struct result *table = result_table("bins", "Points by score", bin_columns);

	for (u32 i = 0; i < KINDS && table; i++) {
		const struct distribution *kind = &self->kinds[i];

		for (u32 bin = 0; bin < BINS && kind->count; bin++)
			result_row(table, value_text(kind_names[i]), value_real((double)bin / BINS),
				   value_real((double)(bin + 1) / BINS),
				   value_number(kind->points[bin]),
				   value_real((double)kind->points[bin] / (double)kind->count),
				   value_number((u64)kind->bytes[bin]));
	}
	return table;
}

static struct result *step_table(const struct scores *self)
{
	struct result *table = result_table("severities", "Points by severity", step_columns);

	for (u32 step = 0; step < STEPS && table; step++)
		if (self->step_points[step])
			result_row(table, value_number(step), value_number(self->step_points[step]),
				   value_number((u64)self->step_bytes[step]));
	return table;
}

static struct result *score_table(const struct scores *self)
{
	struct result *table = result_table("scores", "Scores of all runs", columns);

	for (u32 i = 0; i < KINDS && table; i++) {
		const struct distribution *kind = &self->kinds[i];
		bool known = kind->count;
		double count = (double)kind->count, mean = known ? kind->sum / count : 0;
		double variance = known ? kind->squares / count - mean * mean : 0;

		result_row(table, value_text(kind_names[i]), value_number(kind->count),
			   value_if(known, value_real(mean)),
			   value_if(known, value_real(variance > 0 ? sqrt(variance) : 0)),
			   value_if(known && kind->all_bytes > 0,
				    value_real(kind->by_bytes / kind->all_bytes)));
	}
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
