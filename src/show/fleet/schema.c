/* SPDX-License-Identifier: MIT
 * The schema of a store. Written in what ClickHouse 18.16 and later versions have in common: no
 * TTL, no LowCardinality, no ON CLUSTER.
 * Host. */
#include "show/fleet/schema.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "show/fleet/question.h"

struct table {
	const char *name;
	const char *engine;  /* and what orders rows */
	const char *columns; /* "name type, name type" */
	bool by_day;         /* rows belong to a run, and go with its day */
};

/* What begins each table of rows that belong to a run. */
#define OF_RUN "day Date, program UInt64, build UInt64, push UInt64, "

static const char runs[] =
	"day Date, run UInt64, push UInt64, time DateTime, pushed DateTime, host String, "
	"program UInt64, program_name String, program_path String, build UInt64, "
	"build_id String, version String, command String, labels.key Array(String), "
	"labels.value Array(String), pid UInt32, image UInt32, duration_ns UInt64, "
	"end String, end_value Int32, complete UInt8, sample_bytes UInt64, access String, "
	"allocations UInt64, bytes UInt64, frees UInt64, freed_bytes UInt64, "
	"peak_bytes UInt64, peak_chunks UInt64, kept_bytes UInt64, kept_chunks UInt64, "
	"temporary UInt64, lost_bytes UInt64, byte_seconds Float64, lost_events UInt64, "
	"points UInt64, chunks UInt64, trace String, trace_bytes UInt64, heapwise String";

static const char points[] = OF_RUN
	"place UInt64, stack UInt64, kind String, type UInt64, allocations UInt64, "
	"bytes UInt64, frees UInt64, freed_bytes UInt64, kept_chunks UInt64, "
	"kept_bytes UInt64, lost_bytes UInt64, indirect_bytes UInt64, possible_bytes UInt64, "
	"own_peak_chunks UInt64, own_peak_bytes UInt64, at_peak_chunks UInt64, "
	"at_peak_bytes UInt64, temporary UInt64, temporary_bytes UInt64, "
	"byte_seconds Float64, lifetime Float32, usage Float32, useful Float32, "
	"severity UInt8, inferences UInt32, unknown UInt32";

static const char types[] =
	OF_RUN "type UInt64, chunks UInt64, bytes UInt64, peak_bytes UInt64, kept_bytes UInt64, "
	       "kept_chunks UInt64, life_ns Float64";

static const char findings[] =
	OF_RUN "id String, kind String, confidence String, rank Float64, share Float64, "
	       "where String, text String, stack UInt64";

static const char timelines[] =
	OF_RUN "start_ns UInt64, end_ns UInt64, min_bytes UInt64, max_bytes UInt64, "
	       "last_bytes UInt64, max_chunks UInt64, allocations UInt64";

static const char chunks[] =
	OF_RUN "chunk UInt64, stack UInt64, size UInt64, alloc_ns UInt64, free_ns UInt64, "
	       "alloc_thread UInt32, end String, class String, weight Float64";

static const char traces[] = OF_RUN "part UInt32, data String";

static const char stacks[] =
	"stack UInt64, place UInt64, functions Array(UInt64), files Array(UInt64), "
	"lines Array(UInt32), modules Array(UInt64), offsets Array(UInt64), "
	"inlined Array(UInt8)";

static const char names[] = "name UInt64, text String";

static const char meta[] = "key String, value String, made DateTime";

#define BY_DAY(order) "MergeTree PARTITION BY day ORDER BY (" order ")"

static const struct table tables[FLEET_TABLES] = {
	[TABLE_RUNS] = {"runs", BY_DAY("program, build, time, run"), runs, true},
	[TABLE_POINTS] = {"points", BY_DAY("program, build, place, stack"), points, true},
	[TABLE_TYPES] = {"types", BY_DAY("program, build, type"), types, true},
	[TABLE_FINDINGS] = {"findings", BY_DAY("program, build, kind"), findings, true},
	[TABLE_TIMELINES] = {"timelines", BY_DAY("push, start_ns"), timelines, true},
	[TABLE_CHUNKS] = {"chunks", BY_DAY("push, chunk"), chunks, true},
	[TABLE_TRACES] = {"traces", BY_DAY("push, part"), traces, true},
	[TABLE_STACKS] = {"stacks", "ReplacingMergeTree ORDER BY stack", stacks, false},
	[TABLE_NAMES] = {"names", "ReplacingMergeTree ORDER BY name", names, false},
};

static const struct table meta_table = {"meta", "MergeTree ORDER BY (key, made)", meta, false};

const char *schema_table(enum fleet_table table) { return tables[table].name; }

struct column {
	const char *name, *type;
	int name_length, type_length;
};

/* The next column of a list; false at its end. */
static bool next_column(const char **list, struct column *column)
{
	column->name = *list;
	column->name_length = (int)strcspn(*list, " ");
	if (!column->name_length)
		return false;
	column->type = *list + column->name_length + 1;
	column->type_length = (int)strcspn(column->type, ",");
	*list = column->type + column->type_length;
	*list += strspn(*list, ", ");
	return true;
}

/* " (`day` Date, `program` UInt64 …)" */
static void list_columns(struct strbuf *sql, const struct table *table, bool typed)
{
	const char *list = table->columns, *before = " (";

	for (struct column column; next_column(&list, &column); before = ", ")
		strbuf_addf(sql, "%s`%.*s`%s%.*s", before, column.name_length, column.name,
			    typed ? " " : "", typed ? column.type_length : 0, column.type);
	strbuf_add(sql, ")");
}

int schema_insert(struct store *self, u32 shard, enum fleet_table table, const struct strbuf *rows,
		  struct err *err)
{
	struct strbuf into = {0};
	int status;

	strbuf_add(&into, tables[table].name);
	list_columns(&into, &tables[table], false);
	status = into.failed ? err_memory(err)
			     : store_insert(self, shard, strbuf_text(&into), rows, err);
	strbuf_release(&into);
	return status;
}

/* ---- making ---- */

static int tell(struct store *self, u32 shard, struct strbuf *sql, struct err *err)
{
	int status =
		sql->failed ? err_memory(err) : store_ask(self, shard, strbuf_text(sql), NULL, err);

	strbuf_clear(sql);
	return status;
}

/* A table of an earlier version gets the columns that it lacks. */
static int add_columns(struct store *self, u32 shard, const struct table *table, struct err *err)
{
	struct question ask = {.store = self, .one_shard = true, .shard = shard};
	const char *list = table->columns;
	struct strbuf there = {0}, sql = {0};
	char *name;
	int status;

	strbuf_addf(&ask.sql,
		    "SELECT name FROM system.columns WHERE database = '%s' AND table = '%s'",
		    self->database, table->name);
	while (question_row(&ask, &name, 1, err))
		strbuf_addf(&there, " %s ", name);
	status = question_end(&ask);
	for (struct column column; status == 0 && next_column(&list, &column);) {
		strbuf_clear(&sql);
		strbuf_addf(&sql, " %.*s ", column.name_length, column.name);
		if (strstr(strbuf_text(&there), strbuf_text(&sql)))
			continue;
		strbuf_clear(&sql);
		strbuf_addf(&sql, "ALTER TABLE %s ADD COLUMN `%.*s` %.*s", table->name,
			    column.name_length, column.name, column.type_length, column.type);
		status = there.failed ? err_memory(err) : tell(self, shard, &sql, err);
	}
	strbuf_release(&there);
	strbuf_release(&sql);
	return status;
}

static int make_table(struct store *self, u32 shard, const struct table *table, struct err *err)
{
	struct strbuf sql = {0};
	int status;

	strbuf_addf(&sql, "CREATE TABLE IF NOT EXISTS %s", table->name);
	list_columns(&sql, table, true);
	strbuf_addf(&sql, " ENGINE = %s", table->engine);
	status = tell(self, shard, &sql, err);
	strbuf_release(&sql);
	return status < 0 ? status : add_columns(self, shard, table, err);
}

/* It holds no rows of its own, so it is made anew each time. */
static int make_distributed(struct store *self, u32 shard, const struct table *table,
			    const char *cluster, struct err *err)
{
	struct strbuf sql = {0};
	int status;

	strbuf_addf(&sql, "DROP TABLE IF EXISTS %s_all", table->name);
	status = tell(self, shard, &sql, err);
	strbuf_addf(&sql, "CREATE TABLE %s_all", table->name);
	list_columns(&sql, table, true);
	strbuf_addf(&sql, " ENGINE = Distributed(%s, %s, %s)", cluster, self->database,
		    table->name);
	if (status == 0)
		status = tell(self, shard, &sql, err);
	strbuf_release(&sql);
	return status;
}

/* The cluster's name goes to *cluster, which may be NULL; "" = there is none. */
static int read_meta(struct store *self, u32 shard, u64 *version, struct strbuf *cluster,
		     struct err *err)
{
	struct reply answer = {0};
	char *fields[2];
	int status = store_ask(self, shard, "SELECT key, value FROM meta ORDER BY made, value",
			       &answer, err);

	*version = 0;
	while (status == 0 && reply_row(&answer, fields, 2)) {
		if (strcmp(fields[0], "version") == 0)
			*version = strtoull(fields[1], NULL, 10);
		if (strcmp(fields[0], "cluster") != 0)
			continue;
		self->distributed = *fields[1] != 0;
		if (cluster) {
			strbuf_clear(cluster);
			strbuf_add(cluster, fields[1]);
		}
	}
	if (status == 0 && cluster && cluster->failed)
		status = err_memory(err);
	reply_release(&answer);
	return status;
}

static int newer(const struct store *self, u64 version, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "the database '%s' has schema %llu, created by a newer Heapwise; this one "
		       "supports schema %d; use a newer heapwise",
		       self->database, (unsigned long long)version, SCHEMA_VERSION);
}

static int write_meta(struct store *self, u32 shard, const char *cluster, struct err *err)
{
	struct strbuf sql = {0};
	int status;

	strbuf_addf(&sql, "INSERT INTO meta (key, value, made) SELECT 'version', '%d', now()",
		    SCHEMA_VERSION);
	status = tell(self, shard, &sql, err);
	strbuf_addf(&sql, "INSERT INTO meta (key, value, made) SELECT 'cluster', '%s', now()",
		    cluster ? cluster : "");
	if (status == 0)
		status = tell(self, shard, &sql, err);
	strbuf_release(&sql);
	return status;
}

static int make_shard(struct store *self, u32 shard, const char *cluster, struct err *err)
{
	struct strbuf sql = {0};
	u64 version;
	int status;

	strbuf_addf(&sql, "CREATE DATABASE IF NOT EXISTS %s", self->database);
	status = store_ask_outside(self, shard, strbuf_text(&sql), NULL, err);
	strbuf_release(&sql);
	if (status == 0)
		status = make_table(self, shard, &meta_table, err);
	if (status == 0)
		status = read_meta(self, shard, &version, NULL, err);
	if (status == 0 && version > SCHEMA_VERSION)
		return newer(self, version, err);
	for (u32 i = 0; i < FLEET_TABLES && status == 0; i++)
		status = make_table(self, shard, &tables[i], err);
	for (u32 i = 0; i < FLEET_TABLES && status == 0 && cluster; i++)
		status = make_distributed(self, shard, &tables[i], cluster, err);
	return status < 0 ? status : write_meta(self, shard, cluster, err);
}

/* The cluster that an earlier init was told, of the first shard that knows one: a shard may be new.
 * What hinders a server from telling is told when its tables are made. */
static void find_cluster(struct store *self, struct strbuf *cluster)
{
	struct err ignored = {0};
	u64 version;

	for (u32 i = 0; i < self->shards.count && !cluster->count; i++)
		read_meta(self, i, &version, cluster, &ignored);
}

static int make_shards(struct store *self, const char *cluster, struct err *err)
{
	int status = 0;

	for (const char *c = cluster; c && *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c))
			return err_set(err, ERR_USAGE,
				       "the name of a cluster must consist of letters, digits and "
				       "_");
	for (u32 i = 0; i < self->shards.count && status == 0; i++)
		status = make_shard(self, i, cluster, err);
	return status;
}

int schema_make(struct store *self, const char *cluster, struct err *err)
{
	struct strbuf known = {0};
	int status;

	if (!cluster)
		find_cluster(self, &known);
	if (known.failed)
		status = err_memory(err);
	else
		status = make_shards(self, known.count ? strbuf_text(&known) : cluster, err);
	strbuf_release(&known);
	return status;
}

/* ---- checking ---- */

int schema_check_shard(struct store *self, u32 shard, struct err *err)
{
	u64 version;
	int status = read_meta(self, shard, &version, NULL, err);

	if (status < 0)
		return status;
	if (version > SCHEMA_VERSION)
		return newer(self, version, err);
	if (version < SCHEMA_VERSION)
		return err_set(err, ERR_INPUT,
			       "the database '%s' has the old schema %llu; run 'heapwise fleet "
			       "init' to upgrade it to %d",
			       self->database, (unsigned long long)version, SCHEMA_VERSION);
	return 0;
}

int schema_check(struct store *self, struct err *err)
{
	int status = ERR_SYSTEM;

	for (u32 i = 0; i < self->shards.count; i++) {
		status = schema_check_shard(self, i, err);
		if (status != ERR_SYSTEM)
			break;
	}
	if (status == 0 && self->shards.count > 1 && !self->distributed)
		return err_set(
			err, ERR_INPUT,
			"the database '%s' has no tables across all shards; run 'heapwise fleet "
			"init --cluster NAME' to create them",
			self->database);
	return status;
}

/* ---- tidying ---- */

static int expire_table(struct question *ask, const struct table *table, u64 days, u64 *dropped,
			struct err *err)
{
	struct strbuf sql = {0};
	char *day;

	strbuf_addf(
		&ask->sql,
		"SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s' AND "
		"table = '%s' AND toInt64(today()) - toInt64(toDate(partition)) > %llu",
		ask->store->database, table->name, (unsigned long long)days);
	while (question_row(ask, &day, 1, err)) {
		strbuf_addf(&sql, "ALTER TABLE %s DROP PARTITION '%.10s'", table->name, day);
		ask->status = tell(ask->store, ask->shard, &sql, err);
		*dropped += ask->status == 0;
	}
	strbuf_release(&sql);
	return question_end(ask);
}

/* The runs go first: what is dropped half is not seen. */
int schema_expire(struct store *self, u64 days, u64 *dropped, struct err *err)
{
	int status = 0;

	*dropped = 0;
	if (days > 36500)
		return err_set(err, ERR_USAGE, "a store can keep at most 36500 days");
	for (u32 shard = 0; shard < self->shards.count; shard++)
		for (u32 i = 0; i < FLEET_TABLES && status == 0; i++)
			if (tables[i].by_day) {
				struct question ask = {.store = self,
						       .one_shard = true,
						       .shard = shard};

				status = expire_table(&ask, &tables[i], days, dropped, err);
			}
	return status;
}

int schema_clean(struct store *self, struct err *err)
{
	u64 before = (u64)(time(NULL) - 86400) << 32;
	struct strbuf sql = {0};
	int status = 0;

	for (u32 shard = 0; shard < self->shards.count; shard++)
		for (u32 i = 0; i < FLEET_TABLES && status == 0; i++) {
			if (!tables[i].by_day || i == TABLE_RUNS)
				continue;
			/* A push begins with the second in which it was made, see push.c. The
			 * statement is carried out later, and whatever it says then it must say
			 * now: no clock of the server, no database that somebody chose. */
			strbuf_addf(&sql,
				    "ALTER TABLE %s DELETE WHERE push NOT IN (SELECT push FROM "
				    "%s.runs) AND push < %llu",
				    tables[i].name, self->database, (unsigned long long)before);
			status = tell(self, shard, &sql, err);
		}
	strbuf_release(&sql);
	return status;
}
