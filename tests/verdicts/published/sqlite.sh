#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=churn,steps module=libsqlite3.so.0 not=sqlite3DbMallocRaw,sqlite3DbMallocRawNN,sqlite3Malloc,sqlite3_malloc64
# source: Peiris and Hill, EMAD, 4.2, and https://sqlite.org/malloc.html#lookaside: without lookaside, parse tree nodes, names and values
#         are allocated one by one.
. "$(dirname "$0")/lib"
needs sqlite3
awk 'BEGIN {
	print "create table product(id integer primary key, name text, price real, stock int);"
	for (i = 1; i <= 3000; i++)
		printf "insert into product values(%d, '\''product %d'\'', %d.5, %d);\n", i, i, i % 97, i % 13
	for (i = 1; i <= 2000; i++) {
		printf "select name, price * 2 + stock from product where id = %d", i
		for (k = 1; k <= 20; k++)
			printf " and price > %d - stock", k - 20
		print ";"
	}
}' >script.sql
record sqlite3 -lookaside 0 0 :memory: ".read script.sql"
