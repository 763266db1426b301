/* SPDX-License-Identifier: MIT
 * Findings as verdicts, which several answers have. Runs on threads of the server. */
#include "show/serve/api.h"
#include "study/layout/verdicts.h"

static void put_point_id(struct json *json, const void *points, u64 i)
{
	json_number(json, NULL, ((const struct verdict_points *)points)->points[i].index);
}

static struct named_value condition_field(struct call *call, const struct finding *finding,
					  const struct verdict_points *points)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct strbuf condition = {0};

	verdict_condition(finding, points, &limits, &condition);
	return field_words("query", call, &condition);
}

void put_finding(struct json *json, const void *list, u64 i)
{
	const struct finding_list *self = list;
	const struct finding *finding = &self->rows[i];
	const struct study *trace = self->call->trace;
	const struct model *model = trace->model;
	struct result *holder = self->call->holder;
	/* The line of the program's own code. */
	const struct finding_place place = finding_place_of(&trace->stacks, finding);
	struct verdict_points points;
	struct err err = {0};

	if (verdict_points_find(&points, self->call->trace, finding, &err) < 0)
		points = (struct verdict_points){0};
	put_object(json, NULL, FIELD("id", finding->id),
		   FIELD("kind", finding_kind_name(finding->kind)),
		   FIELD("level", finding_level_name(finding->level)),
		   FIELD("title", finding_where(finding, &trace->stacks, holder)),
		   FIELD("text", finding_text(finding, model, holder)),
		   FIELD("seen", finding_seen(finding, model, holder)),
		   FIELD("repair", finding_repair(finding)),
		   FIELD("saving", finding_saves(finding, holder)), NAME("fn", place.own.function),
		   NAME("file", place.own.file), SOME("line", place.own.line),
		   condition_field(self->call, finding, &points),
		   FIELD("confidence", confidence_name(finding->confidence)),
		   field_if(points.count, FIELD("point", points.points[0].index)),
		   FIELD("points", finding->points),
		   LIST("point_ids", points.count, put_point_id, &points),
		   OBJECT("evidence", FIELD("n_hit", model_count(model, finding->chunks)),
			  FIELD("n_all", model_count(model, finding->of_chunks)),
			  FIELD("bytes_hit", finding->bytes)),
		   OBJECT("cost", FIELD("bytes", finding->bytes),
			  FIELD("allocs", model_count(model, finding->allocations))),
		   OBJECT("saves", FIELD("unit", saving_unit_name(finding->saving.unit)),
			  FIELD("amount", finding->saving.amount),
			  FIELD("share", finding->saving.share)));
}
