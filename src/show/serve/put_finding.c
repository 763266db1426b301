/* SPDX-License-Identifier: MIT
 * Findings as verdicts, which several answers have. Runs on threads of the server. */
#include "show/serve/api.h"
#include "study/layout/verdicts.h"

static void put_points(struct json *json, const struct finding *finding,
		       const struct verdict_points *points)
{
	if (points->count)
		json_number(json, "point", points->points[0]);
	else
		json_null(json, "point");
	json_number(json, "points", finding->points);
	json_open_flat(json, "point_ids", '[');
	for (u32 i = 0; i < points->count; i++)
		json_number(json, NULL, points->points[i]);
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

static void put_cost(struct json *json, const struct finding *finding, const struct model *model)
{
	json_open_flat(json, "evidence", '{');
	json_number(json, "n_hit", model_count(model, finding->chunks));
	json_number(json, "n_all", model_count(model, finding->of_chunks));
	json_number(json, "bytes_hit", finding->bytes);
	json_close(json, '}');
	json_open_flat(json, "cost", '{');
	json_number(json, "bytes", finding->bytes);
	json_number(json, "allocs", model_count(model, finding->allocations));
	json_close(json, '}');
	json_open_flat(json, "saves", '{');
	json_text(json, "unit", saving_unit_name(finding->saving.unit));
	json_real(json, "amount", finding->saving.amount);
	json_real(json, "share", finding->saving.share);
	json_close(json, '}');
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
	json_text(json, "id", finding->id);
	json_text(json, "kind", finding_kind_name(finding->kind));
	json_text(json, "level", finding_level_name(finding->level));
	json_text(json, "title", finding_where(finding, &call->trace->stacks, holder));
	json_text(json, "text", finding_text(finding, model, holder));
	json_text(json, "seen", finding_seen(finding, model, holder));
	json_text(json, "repair", finding_repair(finding));
	json_text(json, "saving", finding_saves(finding, holder));
	put_condition(json, finding, &points);
	json_text(json, "confidence", confidence_name(finding->confidence));
	put_points(json, finding, &points);
	put_cost(json, finding, model);
	json_close(json, '}');
}
