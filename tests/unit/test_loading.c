/* SPDX-License-Identifier: MIT
 * What is found while a trace is written, by a model that forgets, is what its chunks tell
 * afterwards. */
#include <fcntl.h>
#include <math.h>

#include "host/trace/append.h"
#include "study/model/each.h"
#include "study/open/following.h"
#include "study/open/loading.h"
#include "unit/test_index.h"
#include "unit/test_trace.h"

/* Sums of real numbers in another order. */
#define CHECK_NEAR(got, want) CHECK(fabs((got) - (want)) <= 1e-9 * fabs(want))

struct found {
	struct model *model;
	struct behaviour_table behaviour;
	struct growth_samples *samples;
	struct growth_table growth;
};

static void find_growth(struct found *self)
{
	struct growth_query query = growth_defaults();
	struct err err = {0};

	query.min_ns = 0;
	if (growth_find(self->model, &query, self->samples, &self->growth, &err) < 0)
		FAIL("%s", err.text);
}

static struct found found_by_columns(const char *path)
{
	static const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct found self = {.model = open_by_trace(path, TRACE_LAST_IMAGE)};
	struct err err = {0};

	if (behaviour_begin(self.model, &limits, &self.behaviour, &err) < 0)
		FAIL("%s", err.text);
	find_growth(&self);
	return self;
}

/* By a model that forgets nothing. */
static struct found found_followed(const char *path)
{
	const struct trace_read_options options = {.image = TRACE_LAST_IMAGE};
	struct following following = {0};
	struct found self = {.model = model_new()};
	struct err err = {0};

	following_begin(&following, self.model, false);
	if (model_load(self.model, path, &options, NULL, &err) < 0 ||
	    !following_take(&following, &self.behaviour, &self.samples))
		FAIL("%s", err.text);
	following_release(&following);
	find_growth(&self);
	return self;
}

static struct found found_of(const struct study_sums *sums)
{
	struct found self = {.model = sums->model,
			     .behaviour = sums->behaviour,
			     .samples = sums->growth};

	find_growth(&self);
	return self;
}

static struct found found_by_loading(struct loading *loading)
{
	struct study_sums sums;

	CHECK(loading_finish(loading, UINT64_MAX) != NULL);
	if (!loading_take(loading, &sums))
		FAIL("there is no model");
	loading_free(loading);
	return found_of(&sums);
}

static void found_release(struct found *self)
{
	growth_table_release(&self->growth);
	growth_samples_free(self->samples);
	behaviour_table_release(&self->behaviour);
	model_free(self->model);
}

static bool same_tally(const struct tally *a, const struct tally *b)
{
	return CHECK_EQ(a->chunks, b->chunks) & CHECK_EQ(a->bytes, b->bytes) &
	       CHECK_NEAR(a->byte_ticks, b->byte_ticks);
}

/* Which of two events of one time was first only the stream knows, and growing sizes ask that. */
static void check_behaviour(const struct behaviour *a, const struct behaviour *b, u64 point,
			    bool ordered)
{
	bool same = same_tally(&a->all, &b->all);

	for (u32 i = 0; i < CHUNK_INFERENCES; i++)
		if (ordered || i != INFERENCE_GROWING)
			same &= same_tally(&a->hits[i], &b->hits[i]);
	same &= CHECK_EQ(a->groups, b->groups) & CHECK_NEAR(a->group_scores, b->group_scores);
	same &= CHECK_NEAR(a->short_ticks, b->short_ticks);
	if (ordered)
		same &= CHECK_EQ(a->growth_runs, b->growth_runs) &
			CHECK_EQ(a->growth.steps, b->growth.steps) &
			CHECK_EQ(a->replaced_bytes, b->replaced_bytes);
	same &= CHECK_EQ(a->freed_chunks, b->freed_chunks) & CHECK_EQ(a->min_size, b->min_size) &
		CHECK_EQ(a->max_size, b->max_size);
	if (!same)
		FAIL("point %llu", (unsigned long long)point);
}

static void check_growth(const struct growth_table *a, const struct growth_table *b)
{
	CHECK_EQ(a->rows.count, b->rows.count);
	CHECK_EQ(a->courses.count, b->courses.count);
	for (u64 i = 0; i < a->courses.count && i < b->courses.count; i++) {
		const struct growth_course *one = &a->courses.data[i], *other = &b->courses.data[i];

		CHECK_EQ(one->point.index, other->point.index);
		CHECK_EQ(one->end_bytes, other->end_bytes);
		CHECK_NEAR(one->held, other->held);
		CHECK_EQ(one->grows, other->grows);
		CHECK_EQ(one->growth.from_bytes, other->growth.from_bytes);
		CHECK_EQ(one->growth.to_bytes, other->growth.to_bytes);
		CHECK_NEAR(one->growth.trend, other->growth.trend);
		CHECK_NEAR(one->growth.bytes_per_s, other->growth.bytes_per_s);
		CHECK_NEAR(one->growth.bytes_per_1000, other->growth.bytes_per_1000);
	}
}

static void check_found(struct found *sums, struct found *columns, bool ordered)
{
	u64 kept = 0, live = 0;

	CHECK(sums->model->forgets && !columns->model->forgets);
	CHECK(memcmp(&sums->model->totals, &columns->model->totals, sizeof sums->model->totals) ==
	      0);
	CHECK_EQ(sums->model->points.count, columns->model->points.count);
	CHECK(memcmp(sums->model->points.data, columns->model->points.data,
		     sums->model->points.count * sizeof *sums->model->points.data) == 0);
	for (u64 i = 0; i < sums->model->points.count; i++)
		check_behaviour(&sums->behaviour.points[i], &columns->behaviour.points[i], i,
				ordered);
	check_growth(&sums->growth, &columns->growth);
	for (u64 i = 0; i < columns->model->chunks.count; i++)
		kept += chunk_end(&columns->model->chunks, i) == CHUNK_KEPT;
	for (u64 i = 0; i < sums->model->chunks.count; i++)
		live += chunk_end(&sums->model->chunks, i) == CHUNK_KEPT;
	CHECK_EQ(live, kept);
	/* rows are used again */
	CHECK(sums->model->chunks.count <=
	      columns->model->totals.peak_chunks + kept + 2 * HW_BLOCK_EVENTS_MAX + CHUNK_PAGE);
}

/* As they are in the trace. */
static void put_sums(const struct found *from, struct sums_out *out)
{
	const struct study_sums sums = {from->model, from->behaviour, from->samples};

	CHECK(study_sums_complete(&sums));
	study_sums_put(&sums, out);
}

static int take_sums(struct study_sums *sums, const char *path)
{
	struct err err = {0};
	struct trace_reader *reader = trace_open(path, &err);
	struct trace_info info = *trace_info(reader);
	int status;

	trace_close(reader);
	status = study_sums_take(sums, path, TRACE_LAST_IMAGE, &info, &err);
	if (status < 0)
		FAIL("%s", err.text);
	return status;
}

static void check_stored(const char *path, struct found *found, struct found *followed)
{
	struct sums_out out = {0};
	struct study_sums sums;
	struct found taken;
	struct err err = {0};

	CHECK_EQ(take_sums(&sums, path), 1);
	put_sums(found, &out);
	CHECK_EQ(trace_write_sums(path, &out, &err), 0);
	sums_out_release(&out);
	if (take_sums(&sums, path))
		FAIL("the sums cannot be read");
	taken = found_of(&sums);
	check_found(&taken, followed, true);
	CHECK(memcmp(taken.model->kinds, followed->model->kinds, sizeof taken.model->kinds) == 0);
	CHECK_EQ(taken.model->threads.count, followed->model->threads.count);
	CHECK_EQ(taken.model->contexts.frames.count, followed->model->contexts.frames.count);
	for (u64 i = 0, next = 0; i < taken.model->chunks.count; i++, next++) {
		const struct chunk_page *page = chunk_at(&taken.model->chunks, i);

		while (chunk_end(&followed->model->chunks, next) != CHUNK_KEPT)
			next++;
		CHECK_EQ(page->address[i % CHUNK_PAGE],
			 chunk_at(&followed->model->chunks, next)->address[next % CHUNK_PAGE]);
	}
	found_release(&taken);
}

static void check_file(u64 chunks)
{
	const char *path = synthetic_trace("whole.hwt", chunks, chunks / 500 + 1, false);
	struct found sums = found_by_loading(loading_begin(path)), columns = found_by_columns(path),
		     followed = found_followed(path);

	check_found(&sums, &followed, true);
	check_found(&sums, &columns, false);
	check_stored(path, &sums, &followed);
	found_release(&sums);
	found_release(&columns);
	found_release(&followed);
}

TEST(whole, "of a file that is whole, and of the sums that are stored in it")
{
	check_file(1);
	check_file(2000);
	check_file(300000);
}

/* The next bytes of a file, as somebody who writes it. */
static void pour(int from, int to, u64 bytes)
{
	static u8 buffer[1 << 20];

	while (bytes) {
		ssize_t got = read(from, buffer, bytes < sizeof buffer ? bytes : sizeof buffer);

		if (got <= 0)
			return;
		CHECK_EQ(write(to, buffer, (u64)got), got);
		bytes -= (u64)got;
	}
}

TEST(growing, "of a file that grows, however it is cut in between")
{
	const char *path = synthetic_trace("source.hwt", 100000, 100000 / 500 + 1, false);
	const char *copy = test_path("growing.hwt");
	int from = open(path, O_RDONLY), to = open(copy, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	struct found sums, followed = found_followed(path);
	struct loading *loading = loading_begin(copy);

	for (u32 i = 0; i < 40; i++) {
		pour(from, to, 1 + hash_u64(i) % 9000);
		usleep(10000);
	}
	pour(from, to, UINT64_MAX);
	sums = found_by_loading(loading);
	check_found(&sums, &followed, true);
	found_release(&sums);
	found_release(&followed);
	close(from);
	close(to);
}

static bool has_model(const char *path)
{
	struct loading *loading = loading_begin(path);
	bool has = loading_finish(loading, UINT64_MAX);

	loading_free(loading);
	return has;
}

TEST(none, "what is damaged, has accesses, or is no trace has no such model")
{
	const char *path = synthetic_trace("damaged.hwt", 50000, 50000 / 500 + 1, false);
	int fd = open(path, O_RDWR);
	u8 byte;

	CHECK(has_model(path));
	CHECK(pread(fd, &byte, 1, 5000) == 1);
	byte ^= 0x10;
	CHECK(pwrite(fd, &byte, 1, 5000) == 1);
	CHECK(!has_model(path));
	CHECK(ftruncate(fd, 0) == 0);
	CHECK(!has_model(path));
	CHECK(pwrite(fd, "no trace at all, whatever it is called, and longer than a header", 64, 0) ==
	      64);
	CHECK(!has_model(path));
	close(fd);
	CHECK(!has_model("/dev/null"));
	CHECK(!has_model(synthetic_trace("accesses.hwt", 5000, 5000 / 500 + 1, true)));
	CHECK(!loading_finish(NULL, UINT64_MAX));
	loading_free(NULL);
}

static int append_forged(struct block_file *file, const void *data, u64 seed, struct err *err)
{
	const struct sums_out *sums = data;
	int status = 0;

	for (u64 i = 0; i < sums->parts.count && status == 0; i++) {
		struct strbuf payload = {0};

		strbuf_add_bytes(&payload, strbuf_text(&sums->parts.data[i].payload),
				 sums->parts.data[i].payload.count);
		for (u64 k = 0; k < 1 + seed % 4; k++) {
			u64 hash = hash_u64(seed * 7919 + k * 104729 + i);

			payload.text[hash % payload.count] ^= (char)(1 + (hash >> 40) % 255);
		}
		status = append_payload(file, HW_BLOCK_SUMS, &payload, 1, err);
		strbuf_release(&payload);
	}
	return status;
}

/* Whoever reads what was accepted meets nothing that is not there. */
static void use(struct study_sums *sums)
{
	struct found found = found_of(sums);
	u64 bytes = 0;

	EACH_CHUNK (chunk, found.model, .kept = true)
		bytes += found.model->points.data[chunk_point(&chunk).index].bytes;
	CHECK(!found.model->wants_chunks);
	for (u64 i = 0; i < found.model->told.count; i++)
		bytes += found.model->points.data[found.model->told.data[i].point].bytes;
	CHECK(bytes + 1 > 0 || !bytes);
	found_release(&found);
}

TEST(forged, "sums that were changed are refused, or hold together")
{
	const char *path = synthetic_trace("forged.hwt", 3000, 7, false);
	struct found followed = found_followed(path);
	struct sums_out out = {0};
	u32 refused = 0;

	put_sums(&followed, &out);
	sums_out_end(&out);
	for (u64 seed = 1; seed <= 400; seed++) {
		struct study_sums sums;
		struct err err = {0};

		CHECK_EQ(trace_append(path, append_forged, &out, seed, &err), 0);
		if (take_sums(&sums, path) == 0)
			use(&sums);
		else
			refused++;
	}
	CHECK(refused > 100);
	sums_out_release(&out);
	found_release(&followed);
}

TEST(apart, "sums without their last block, or of another run, are none")
{
	const char *path = synthetic_trace("apart.hwt", 3000, 7, false);
	struct found followed = found_followed(path);
	struct sums_out whole = {0}, cut = {0};
	struct study_sums sums;
	struct err err = {0};

	put_sums(&followed, &cut);
	CHECK_EQ(trace_append(path, append_forged, &cut, 0, &err), 0);
	CHECK_EQ(take_sums(&sums, path), 1);
	put_sums(&followed, &whole);
	path = synthetic_trace("other.hwt", 3001, 7, false);
	CHECK_EQ(trace_write_sums(path, &whole, &err), 0);
	CHECK_EQ(take_sums(&sums, path), 1);
	sums_out_release(&whole);
	sums_out_release(&cut);
	found_release(&followed);
}
