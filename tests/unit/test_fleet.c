/* SPDX-License-Identifier: MIT
 * Statistics of fleets, addresses of stores, and what their servers answer. */
#include <math.h>
#include <string.h>

#include "show/fleet/ranks.h"
#include "show/fleet/store.h"
#include "lib/test.h"

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

/* Values of the exact distribution by hand: of 5 against 5 without overlap, 2 of 252 orders are as extreme. */
TEST(mann_whitney_of_two_groups_apart, "two groups apart differ by the exact distribution")
{
	double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10};
	struct rank_test test = rank_test(a, 5, b, 5);

	CHECK(near(test.p, 2.0 / 252));
	CHECK(near(test.delta, 1));
	test = rank_test(b, 5, a, 5);
	CHECK(near(test.p, 2.0 / 252));
	CHECK(near(test.delta, -1));
}

/* 2 against 2: of the six orders each U from 0 to 4 has 1, 1, 2, 1, 1. */
TEST(mann_whitney_of_two_groups_mixed, "two mixed groups do not differ by the exact distribution")
{
	double a[] = {1, 3}, b[] = {2, 4};
	struct rank_test test = rank_test(a, 2, b, 2);

	CHECK(near(test.p, 4.0 / 6));
	CHECK(near(test.delta, 0.5));
}

TEST(mann_whitney_of_equal_values, "equal values do not differ")
{
	double a[] = {5, 5, 5}, b[] = {5, 5, 5};
	struct rank_test test = rank_test(a, 3, b, 3);

	CHECK(near(test.p, 1));
	CHECK(near(test.delta, 0));
	CHECK(near(rank_test(a, 0, b, 3).p, 1));
}

TEST(false_discovery_counts_tests_that_were_not_made,
     "a correction counts tests that were not made")
{
	double p[] = {0.001, 0.01, 0.02};

	false_discovery(p, 3, 10);
	CHECK(near(p[0], 0.01));
	CHECK(near(p[1], 0.05));
	CHECK(near(p[2], 0.02 * 10 / 3));
}

TEST(distances_by_the_median, "one far value does not hide itself")
{
	double values[] = {10, 11, 9, 10, 100}, centre, distances[5];

	CHECK(robust_distances(values, 5, &centre, distances));
	CHECK(near(centre, 10));
	CHECK(distances[4] > 3.5);
	CHECK(fabs(distances[1]) < 3.5);
	for (u32 i = 0; i < 5; i++)
		values[i] = 7;
	CHECK(robust_distances(values, 5, &centre, distances));
	CHECK(near(distances[0], 0));
}

TEST(addresses_of_stores, "addresses of stores are taken apart")
{
	struct store store = {0};
	struct err err = {0};

	CHECK(store_open(&store, "clickhouse://u%40x:p%2Fw@a:1,b,[::1]:3/db_1", &err) == 0);
	CHECK(store.shards.count == 3);
	CHECK(strcmp(store.user, "u@x") == 0);
	CHECK(strcmp(store.password, "p/w") == 0);
	CHECK(strcmp(store.database, "db_1") == 0);
	CHECK(store.shards.data[0].port == 1 && store.shards.data[1].port == 8123 &&
	      store.shards.data[2].port == 3);
	CHECK(strcmp(store.shards.data[2].host, "[::1]") == 0);
	store_close(&store);
}

TEST(addresses_that_are_none, "what is no address of a store is refused")
{
	static const char *const wrong[] = {"clickhouse://",      "clickhouse://h",
					    "clickhouse://h/",    "clickhouse:///d",
					    "clickhouse://h/d;x", "clickhouse://h:99999/d",
					    "clickhouse://h,/d",  "http://h/d"};

	for (u32 i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct store store = {0};
		struct err err = {0};

		CHECK(store_open(&store, wrong[i], &err) == ERR_USAGE);
		store_close(&store);
	}
}

TEST(passwords_are_overwritten, "passwords are overwritten")
{
	char with[] = "clickhouse://me:secret@h/d", without[] = "clickhouse://me@h/d",
	     other[] = "a@b:c", odd[] = "clickhouse://me:a?b@c@h/d?e:f@g";

	address_hide_password(with);
	address_hide_password(without);
	address_hide_password(other);
	address_hide_password(odd);
	CHECK(strcmp(with, "clickhouse://me:xxxxxx@h/d") == 0);
	CHECK(strcmp(without, "clickhouse://me@h/d") == 0);
	CHECK(strcmp(other, "a@b:c") == 0);
	CHECK(strcmp(odd, "clickhouse://me:xxxxx@h/d?e:f@g") == 0);
}

TEST(rows_of_an_answer, "rows of an answer are taken apart")
{
	struct reply reply = {0};
	struct numbers numbers = {0};
	char *fields[3];
	u64 ids[4], count;

	strbuf_add(&reply.text, "a\\tb\t[1,2.5]\tx\\\\\\n\n\t\t\nshort\n");
	CHECK(reply_row(&reply, fields, 3));
	CHECK(strcmp(fields[0], "a\tb") == 0);
	CHECK(strcmp(fields[2], "x\\\n") == 0);
	CHECK(reply_numbers(fields[1], &numbers) && numbers.rows.count == 2 &&
	      near(numbers.rows.data[1], 2.5));
	CHECK(reply_row(&reply, fields, 3) && !*fields[0]);
	CHECK(!reply_row(&reply, fields, 3));
	CHECK(!reply_row(&reply, fields, 3));
	CHECK(reply_ids("[18446744073709551615,3]", ids, 4, &count) && count == 2 &&
	      ids[0] == UINT64_MAX);
	CHECK(reply_ids("[]", ids, 4, &count) && count == 0);
	CHECK(!reply_ids("[x]", ids, 4, &count));
	CHECK(!reply_numbers("7", &numbers));
	vec_release(&numbers.rows);
	reply_release(&reply);
}
