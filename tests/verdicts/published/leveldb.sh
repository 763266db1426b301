#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=lost,growth function=leveldb::NewLRUCache,leveldb::Table::BlockReader,leveldb::ReadBlock
# source: https://github.com/Level/leveldown/issues/87: the cache that a database was opened with is not deleted when it is closed; its
#         blocks are lost.
. "$(dirname "$0")/lib"
needs_header leveldb/db.h libleveldb-dev
cat >store.cc <<'END'
#include <cstdlib>
#include <string>

#include <leveldb/cache.h>
#include <leveldb/db.h>

static size_t visit(const std::string &path)
{
	leveldb::DB *db;
	leveldb::Options options;
	size_t bytes = 0;

	options.create_if_missing = true;
	options.block_cache = leveldb::NewLRUCache(8 << 20);
	if (!leveldb::DB::Open(options, path, &db).ok())
		exit(1);
	for (int i = 0; i < 300; i++)
		db->Put(leveldb::WriteOptions(), "key " + std::to_string(i), std::string(200, 'x'));
	db->CompactRange(nullptr, nullptr);
	leveldb::Iterator *at = db->NewIterator(leveldb::ReadOptions());
	for (at->SeekToFirst(); at->Valid(); at->Next())
		bytes += at->value().size();
	delete at;
	delete db;
	return bytes;
}

int main()
{
	for (int i = 0; i < 40; i++)
		if (!visit("db" + std::to_string(i % 3)))
			return 1;
}
END
g++ -std=c++17 -O1 -g -o store store.cc -lleveldb
record ./store
