/* SPDX-License-Identifier: MIT
 * A model that is opened by its index is the one that the trace gives. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>

#include "unit/test_index.h"
#include "unit/test_trace.h"

TEST(synth_round_trip, "a trace with accesses and types gives the same model by its index")
{
	const char *path = index_trace("a.hwt", 200000);
	struct index_made made;
	struct model *read, *mapped;
	struct stat st;

	build_index(path, TRACE_LAST_IMAGE, &made);
	CHECK(!made.fresh);
	CHECK(stat(made.path, &st) == 0 && (u64)st.st_size == made.bytes);
	CHECK_EQ(st.st_mode & 0777, 0600);
	read = open_by_trace(path, TRACE_LAST_IMAGE);
	mapped = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(!read->store && mapped->store);
	CHECK_EQ(read->chunks.count, 200000);
	CHECK(read->type_table.chunks[0] && read->accesses.count == 200000);
	check_same_models(read, mapped);
	CHECK(chunk_table_make_zones(&read->chunks));
	CHECK(memcmp(read->chunks.zones.data, mapped->chunks.zones.data,
		     read->chunks.zones.count * sizeof *read->chunks.zones.data) == 0);
	/* the maps that were made again */
	CHECK(model_name_type(mapped, read->type_table.identities.data[0].identity, "another name",
			      NULL) == 0);
	CHECK_EQ(mapped->types.count, read->types.count + 1);
	model_free(read);
	model_free(mapped);
	build_index(path, TRACE_LAST_IMAGE, &made);
	CHECK(made.fresh);
}

TEST(story_round_trip, "traces with scans, samples, strange frees and several images do, too")
{
	for (u64 seed = 1; seed <= 6; seed++) {
		const char *path = test_path("story.hwt");
		LOG(told);

		write_story(path, 4, 3000 * seed, seed * 77, &told);
		for (int image = 0; image < 4; image++) {
			struct index_made made;
			struct model *read, *mapped;

			build_index(path, image, &made);
			CHECK(!made.fresh);
			CHECK(strstr(made.path, image == 3 ? "hwt.index" : "hwt.image"));
			read = open_by_trace(path, image);
			mapped = open_by_index(path, image);
			CHECK(mapped->store != NULL);
			check_same_models(read, mapped);
			model_free(read);
			model_free(mapped);
		}
	}
}

TEST(truncated_trace, "a trace that breaks off has an index, too")
{
	const char *path = index_trace("cut.hwt", 60000);
	struct trace_info info[2] = {0};
	struct model_options options = {.image = TRACE_LAST_IMAGE,
					.info = &info[0],
					.write_index = true};
	struct model *read, *mapped;
	struct stat st;

	CHECK(stat(path, &st) == 0 && truncate(path, st.st_size / 2) == 0);
	mapped = open_model(path, &options);
	options.info = &info[1];
	options.no_index = true;
	read = open_model(path, &options);
	CHECK(mapped->store != NULL && !read->store);
	CHECK(!read->has_end && read->chunks.count);
	check_same_models(read, mapped);
	CHECK(info[1].damaged_blocks == info[0].damaged_blocks && !info[0].complete);
	CHECK_STR(info[0].damage, info[1].damage);
	model_free(read);
	model_free(mapped);
}

TEST(changed_trace, "an index of a trace that has changed is not used, and made again")
{
	const char *path = index_trace("b.hwt", 1000);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000, .tv_nsec = 5}};
	struct index_made made;
	struct model *model;

	build_index(path, TRACE_LAST_IMAGE, &made);
	CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
	model = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(!model->store && model->chunks.count == 1000);
	model_free(model);
	build_index(path, TRACE_LAST_IMAGE, &made);
	CHECK(!made.fresh);
	index_trace("b.hwt", 2000); /* another trace of that name */
	model = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(!model->store);
	CHECK_EQ(model->chunks.count, 2000);
	model_free(model);
}

TEST(cache_folder, "an index that cannot lie beside its trace lies in the cache folder")
{
	char name[256], cache[512];
	struct index_made made;
	struct model *model;
	const char *path;
	u64 removed;

	/* too long for a further ending */
	memset(name, 'x', 250);
	strcpy(name + 246, ".hwt");
	snprintf(cache, sizeof cache, "%s/cache", test_folder());
	setenv("XDG_CACHE_HOME", cache, 1);
	path = index_trace(name, 500);
	build_index(path, TRACE_LAST_IMAGE, &made);
	CHECK(strncmp(made.path, cache, strlen(cache)) == 0);
	CHECK(strstr(made.path, "/heapwise/xxx") != NULL);
	model = open_by_index(path, TRACE_LAST_IMAGE);
	CHECK(model->store != NULL);
	model_free(model);
	CHECK_EQ(index_remove(path, &removed, NULL), 0);
	CHECK_EQ(removed, 1);
	CHECK(access(made.path, F_OK) != 0);
}

TEST(removed, "all indexes of a trace are removed, and those of others stay")
{
	char path[512], other[512], left[600];
	struct index_made made, others;
	LOG(told);
	u64 removed;
	struct err err = {0};

	setenv("XDG_CACHE_HOME", test_folder(), 1);
	snprintf(path, sizeof path, "%s/s[t]ory.hwt", test_folder());
	snprintf(other, sizeof other, "%s/story.hwt", test_folder());
	write_story(path, 3, 500, 5, &told);
	write_story(other, 3, 500, 5, &told);
	build_index(other, TRACE_LAST_IMAGE, &others);
	for (int image = 0; image < 3; image++)
		build_index(path, image, &made);
	snprintf(left, sizeof left, "%s.index.abc123", path); /* of one that was killed */
	write_index(left, (const u8 *)"", 0);
	unlink(path);
	CHECK_EQ(index_remove(path, &removed, &err), 0);
	CHECK_EQ(removed, 4);
	CHECK(access(others.path, F_OK) == 0);
	CHECK_EQ(index_remove(path, &removed, &err), 0);
	CHECK_EQ(removed, 0);
}

TEST(no_room, "without room on the disk there is no index, an error that says so, and the model "
	      "all the same")
{
	const char *path = index_trace("c.hwt", 50000);
	struct model_options options = {.image = TRACE_LAST_IMAGE, .write_index = true};
	struct rlimit limit = {.rlim_cur = 2 << 20, .rlim_max = 2 << 20};
	struct err err = {0};
	struct model *model;
	char pattern[512];
	glob_t found = {0};

	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ(index_build(path, &options, NULL, &err), ERR_SYSTEM);
	CHECK(strstr(err.text, "c.hwt.index: File too large") != NULL);
	model = open_model(path, &options);
	CHECK(!model->store);
	CHECK_EQ(model->chunks.count, 50000);
	model_free(model);
	snprintf(pattern, sizeof pattern, "%s.index*", path);
	CHECK_EQ(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

TEST(large_passes, "letting go of chunks that were passed changes nothing that is read")
{
	const char *path = index_trace("e.hwt", 100000);
	struct index_made made;
	struct model *model;
	u64 sums[2] = {0};

	build_index(path, TRACE_LAST_IMAGE, &made);
	model = open_by_index(path, TRACE_LAST_IMAGE);
	for (u32 round = 0; round < 2; round++) {
		for (u64 i = 0; i < model->chunks.count; i++)
			sums[round] += chunk_at(&model->chunks, i)->size[i % CHUNK_PAGE];
		/* beyond what stays by itself */
		for (u64 i = 0; i < model->chunks.pages.count; i++)
			column_store_forget(model->store, model->chunks.pages.data[i],
					    sizeof(struct chunk_page));
		model_release_range(model, 0, model->chunks.count);
		model_rest(model);
	}
	CHECK_EQ(sums[0], sums[1]);
	CHECK_EQ(sums[0], model->recorded_bytes);
	model_free(model);
}
