/* SPDX-License-Identifier: MIT
 * Lobby and berths as another process finds them, through /proc and through files. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/test.h"
#include "live/drain/berths.h"
#include "test_monitor_producer.h"

static struct berths *berths_for(const struct berths_options *options)
{
	struct berths *berths = malloc(sizeof(*berths));
	struct err err = { 0 };

	if (berths_open(berths, options, &err) < 0)
		FAIL("%s", err.text);
	return berths;
}

/* Claims a berth in a child process; its exit status tells how that went. */
static int join_in_child(const struct berths *berths)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct producer producer;

		if (!producer_join(&producer, berths->path, (u32)getpid()))
			_exit(1);
		producer_use_slots(&producer, 1);
		producer_event(&producer, 0, HW_MALLOC, 16, 5, 77);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void check_claim(const struct berths_options *options)
{
	struct berths *berths = berths_for(options);
	struct berth berth = { 0 };
	struct err err = { 0 };

	CHECK_EQ(berths_take_claimed(berths, &berth, &err), 0);
	CHECK_EQ(join_in_child(berths), 0);
	CHECK_EQ(berths_take_claimed(berths, &berth, &err), 1);
	CHECK(berth.pid != 0 && berth.pid != (u32)getpid());
	CHECK_EQ(berth_ring(&berth, 0)[0].ticks, 77);
	CHECK_EQ(berth_slot(&berth, 0)->head, 1);
	CHECK_EQ(berths_take_claimed(berths, &berth, &err), 0);
	berths_give_back(berths, &berth);
	berths_close(berths);
	free(berths);
}

TEST(memfd, "another process finds the lobby and claims a berth through /proc")
{
	struct berths_options options = { 0 };

	check_claim(&options);
}

TEST(files, "without memfd a private folder does it")
{
	struct berths_options options = { .use_files = true };

	check_claim(&options);
}

TEST(files_removed, "the private folder has mode 0700, and nothing of it is left in the end")
{
	struct berths_options options = { .use_files = true };
	struct berths *berths = berths_for(&options);
	char folder[256];
	struct stat status;

	snprintf(folder, sizeof(folder), "%s", berths->folder);
	CHECK_EQ(stat(folder, &status), 0);
	CHECK_EQ(status.st_mode & 0777, 0700);
	CHECK_EQ(stat(berths->path, &status), 0);
	CHECK_EQ(status.st_mode & 0777, 0600);
	berths_close(berths);
	CHECK(stat(folder, &status) < 0);
	free(berths);
}

TEST(close_on_exec, "no descriptor of the session survives an exec")
{
	struct berths_options options = { 0 };
	struct berths *berths = berths_for(&options);

	CHECK(fcntl(berths->lobby_fd, F_GETFD) & FD_CLOEXEC);
	for (u32 i = 0; i < HW_BERTHS; i++) {
		if (berths->berths[i].used)
			CHECK(fcntl(berths->berths[i].fd, F_GETFD) & FD_CLOEXEC);
	}
	berths_close(berths);
	free(berths);
}

TEST(many_images, "more images than the lobby has places come and go, one after the other")
{
	struct berths_options options = { 0 };
	struct berths *berths = berths_for(&options);

	for (u32 i = 0; i < HW_BERTHS + 100; i++) {
		struct producer producer;
		struct berth berth = { 0 };
		struct err err = { 0 };

		if (!producer_join(&producer, berths->path, 1000 + i))
			FAIL("no berth for image %u", i);
		if (berths_take_claimed(berths, &berth, &err) != 1)
			FAIL("claim of image %u not seen", i);
		CHECK_EQ(berth.pid, 1000 + i);
		munmap(producer.memory, producer.control->total_bytes);
		munmap(producer.lobby, sizeof(*producer.lobby));
		if (berths_replenish(berths, &err) < 0)
			FAIL("%s", err.text);
		berths_give_back(berths, &berth);
	}
	berths_close(berths);
	free(berths);
}

TEST(spares, "with children sixteen processes can start at the same moment")
{
	struct berths_options options = { .children = true };
	struct berths *berths = berths_for(&options);
	struct producer producer;
	u32 joined = 0;

	CHECK_EQ(berths->lobby->flags, HW_SESSION_CHILDREN);
	while (joined < 100 && producer_join(&producer, berths->path, 1000 + joined))
		joined++;
	CHECK_EQ(joined, 16);
	berths_close(berths);
	free(berths);
}

static const struct { u64 asked; u32 got;
} ring_rows[] = {
	{ 0, 16384 }, {1, 2}, {2, 2}, {3, 4}, {1000, 1024}, {8192, 8192}, {~0ull, 1 << 20},
};

TEST(ring_sizes_long, "where short lives are only counted the first rings are longer, and do not overlap either")
{
	struct berths_options options = { .flags = HW_RUN_PAGES | HW_RUN_LASTING };
	struct berths *berths = berths_for(&options);
	const struct berth_layout *layout = &berths->layout;

	for (u32 i = 0; i < HW_RINGS_LONG + 2; i++) {
		u64 size = hw_ring_size(layout->ring_records, layout->ring_extra, i);

		CHECK_EQ(size, i < HW_RINGS_LONG ? 131072 : 16384);
		CHECK(hw_ring_start(layout->ring_stride, layout->ring_extra, i + 1) >=
		      hw_ring_start(layout->ring_stride, layout->ring_extra, i) +
			      (size + layout->nested_records) * HW_RECORD_ROOM);
	}
	CHECK(layout->total_bytes >=
	      layout->rings_offset + hw_ring_start(layout->ring_stride, layout->ring_extra, layout->slots_max));
	berths_close(berths);
	free(berths);
}

TEST(ring_sizes, "rings have a power of two of records, and slots do not overlap")
{
	for (u64 i = 0; i < sizeof(ring_rows) / sizeof(ring_rows[0]); i++) {
		struct berths_options options = { .ring_records = ring_rows[i].asked };
		struct berths *berths = berths_for(&options);
		const struct berth_layout *layout = &berths->layout;

		CHECK_EQ(layout->ring_records, ring_rows[i].got);
		CHECK(layout->ring_stride >=
		      (layout->ring_records + layout->nested_records) * HW_RECORD_ROOM);
		CHECK(layout->slots_offset >= layout->modules_offset + layout->modules_bytes);
		CHECK(layout->nodes_offset >=
		      layout->slots_offset + layout->slots_max * sizeof(struct hw_slot));
		CHECK(layout->rings_offset >=
		      layout->nodes_offset + layout->nodes_max * sizeof(struct hw_node));
		CHECK(layout->total_bytes >=
		      layout->rings_offset + layout->slots_max * layout->ring_stride);
		berths_close(berths);
		free(berths);
	}
}
