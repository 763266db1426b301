/* SPDX-License-Identifier: MIT
 * Graphs as DOT.
 * Host. Whatever a label holds, it stays inside its quotes. */
#include "study/result/dot.h"

#include <inttypes.h>
#include <math.h>

#include "host/base/text.h"

enum { PEN_MAX = 5 };

static void put_label(const char *text, FILE *out)
{
	struct strbuf clean = {0};

	text_add_clean(&clean, text);
	for (const char *p = strbuf_text(&clean); *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	strbuf_release(&clean);
}

static void put_quoted(const char *text, const char *more, FILE *out)
{
	fputc('"', out);
	if (text)
		put_label(text, out);
	if (text && more) {
		fputs("\\n", out);
		put_label(more, out);
	}
	fputc('"', out);
}

static u64 heaviest(const struct dot_graph *graph)
{
	u64 most = 1;

	for (u64 i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].weight > most)
			most = graph->edges[i].weight;
	return most;
}

/* Weights span many powers of ten: the pen follows the logarithm. */
static double pen(u64 weight, u64 most)
{
	return 1 + (PEN_MAX - 1) * log2(1 + (double)weight) / log2(1 + (double)most);
}

static void put_node(const struct dot_node *node, u64 number, FILE *out)
{
	double share = node->share < 0 ? 0 : node->share > 1 ? 1 : node->share;

	fprintf(out, "\tn%" PRIu64 " [label=", number);
	put_quoted(node->label, node->remark, out);
	if (node->tooltip) {
		fputs(", tooltip=", out);
		put_quoted(node->tooltip, NULL, out);
	}
	fprintf(out, ", fillcolor=\"0.08 %.3f 1.0\"];\n", share * 0.7);
}

void render_dot(const struct dot_graph *graph, FILE *out)
{
	u64 most = heaviest(graph);

	fputs("digraph ", out);
	put_quoted(graph->name, NULL, out);
	fputs(" {\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n"
	      "\tedge [fontname=\"sans-serif\"];\n",
	      out);
	for (u64 i = 0; i < graph->node_count; i++)
		put_node(&graph->nodes[i], i, out);
	for (u64 i = 0; i < graph->edge_count; i++) {
		const struct dot_edge *edge = &graph->edges[i];

		fprintf(out, "\tn%u -> n%u [label=\"%" PRIu64 "\", penwidth=%.2f%s];\n", edge->from,
			edge->to, edge->weight, pen(edge->weight, most),
			edge->faint ? ", style=dashed, constraint=false" : "");
	}
	fputs("}\n", out);
}
