/* SPDX-License-Identifier: MIT
 * For bench/run-query: opens a trace as heapwise does, and says as JSON how long each step took and how much memory the
 * process had after it.
 *
 *	index_open [--no-index] [--columns] FILE
 *
 * --columns leaves out the names of functions, so that the memory is that of the model alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "study/analysis/summary/summary.h"
#include "study/model/index.h"
#include "host/trace/symtab.h"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static u64 resident_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (statm) {
		if (fscanf(statm, "%*u %llu", &pages) != 1)
			pages = 0;
		fclose(statm);
	}
	return pages * (u64)sysconf(_SC_PAGESIZE);
}

static void step(const char *name, double *since)
{
	double time = now();

	printf("\"%s_s\": %.6f, \"%s_resident_bytes\": %" PRIu64 ", ", name, time - *since, name,
	       resident_bytes());
	*since = now();
}

/* Every column of every chunk, as a query that asks for all of them would. */
static u64 touch(const struct model *model)
{
	u64 sum = 0;

	for (u64 i = 0; i < model->chunks.pages.count; i++) {
		const u8 *bytes = (const u8 *)model->chunks.pages.data[i];
		struct chunk_access access;
		struct chunk_type type;

		model_pass(model, i * CHUNK_PAGE);
		for (u64 at = 0; bytes && at < sizeof(struct chunk_page); at += 64)
			sum += bytes[at];
		for (u64 k = 0; k < CHUNK_PAGE; k += 8) {
			sum += model_chunk_access(model, i * CHUNK_PAGE + k, &access);
			sum += model_chunk_type(model, i * CHUNK_PAGE + k, &type);
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct trace_info info = {0};
	struct model_options options = {.image = TRACE_LAST_IMAGE, .info = &info};
	struct summary_query query = {.info = &info};
	struct symbol_table symbols = {0};
	struct model *model = model_new();
	struct err err = {0};
	bool columns = false;
	struct result *summary;
	struct rusage usage;
	double since = now();
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		options.no_index |= strcmp(argv[at], "--no-index") == 0;
		columns |= strcmp(argv[at], "--columns") == 0;
	}
	if (at + 1 != argc || !model)
		return 2;
	if (model_open(model, argv[at], &options, &err) < 0) {
		fprintf(stderr, "index_open: %s\n", err.text);
		return 1;
	}
	printf("{\"chunks\": %" PRIu64 ", \"mapped\": %s, ", model->chunks.count,
	       model->store ? "true" : "false");
	step("open", &since);
	if (!columns && trace_read_symbols(argv[at], &symbols, &err) < 0)
		return 1;
	step("symbols", &since);
	summary = analyse_summary(model, &query, &err);
	step("summary", &since);
	printf("\"scan\": %" PRIu64 ", ", touch(model));
	step("scan", &since);
	printf("\"again\": %" PRIu64 ", ", touch(model));
	step("again", &since);
	getrusage(RUSAGE_SELF, &usage);
	printf("\"most_resident_bytes\": %ld}\n", usage.ru_maxrss * 1024);
	result_free(summary);
	symbol_table_release(&symbols);
	model_free(model);
	return 0;
}
