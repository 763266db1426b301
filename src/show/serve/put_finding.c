/* SPDX-License-Identifier: MIT
 * Findings as verdicts, which several answers have. Runs on threads of the server. */
#include "show/serve/reply.h"
#include "study/layout/verdicts.h"

static void put_points(struct json *json, const struct finding *finding,
		       const struct verdict_points *points)
{
	put_fields(json, field_if(points->count, FIELD("point", points->points[0].index)),
		   FIELD("points", finding->points));
	json_open_flat(json, "point_ids", '[');
	for (u32 i = 0; i < points->count; i++)
		json_number(json, NULL, points->points[i].index);
	json_close(json, ']');
}

static void put_condition(struct json *json, const struct finding *finding,
			  const struct verdict_points *points)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct strbuf condition = {0};

	verdict_condition(finding, points, &limits, &condition);
	json_text(json, "query",
		  condition.count && !condition.failed ? strbuf_text(&condition) : NULL);
	strbuf_release(&condition);
}

/* The line of the program's own code. */
static void put_place(struct call *call, const struct finding *finding)
{
	struct finding_place place = finding_place_of(&call->trace->stacks, finding);

	put_fields(&call->json, NAME("fn", place.own.function), NAME("file", place.own.file),
		   SOME("line", place.own.line));
}

static void put_cost(struct json *json, const struct finding *finding, const struct model *model)
{
	put_object(json, "evidence", FIELD("n_hit", model_count(model, finding->chunks)),
		   FIELD("n_all", model_count(model, finding->of_chunks)),
		   FIELD("bytes_hit", finding->bytes));
	put_object(json, "cost", FIELD("bytes", finding->bytes),
		   FIELD("allocs", model_count(model, finding->allocations)));
	put_object(json, "saves", FIELD("unit", saving_unit_name(finding->saving.unit)),
		   FIELD("amount", finding->saving.amount), FIELD("share", finding->saving.share));
}

void put_finding(struct call *call, const struct finding *finding, struct result *holder)
{
	const struct model *model = call->trace->model;
	struct verdict_points points;
	struct json *json = &call->json;
	struct err err = {0};

	if (verdict_points_find(&points, call->trace, finding, &err) < 0)
		points = (struct verdict_points){0};
	json_open_flat(json, NULL, '{');
	put_fields(json, FIELD("id", finding->id), FIELD("kind", finding_kind_name(finding->kind)),
		   FIELD("level", finding_level_name(finding->level)),
		   FIELD("title", finding_where(finding, &call->trace->stacks, holder)),
		   FIELD("text", finding_text(finding, model, holder)),
		   FIELD("seen", finding_seen(finding, model, holder)),
		   FIELD("repair", finding_repair(finding)),
		   FIELD("saving", finding_saves(finding, holder)));
	put_place(call, finding);
	put_condition(json, finding, &points);
	json_text(json, "confidence", confidence_name(finding->confidence));
	put_points(json, finding, &points);
	put_cost(json, finding, model);
	json_close(json, '}');
}
