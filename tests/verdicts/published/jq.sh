#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=peak,growth function=jv_array_sized,jv_parser_next not=jv_mem_alloc
# source: https://github.com/jqlang/jq/issues/620: small arrays take six times the size of their text.
. "$(dirname "$0")/lib"
needs jq
awk 'BEGIN {
	for (i = 0; i < 60000; i++)
		printf "%s[%d,%d,%d]\n", i ? "," : "[", i, i * 7, i % 9
	print "]"
}' >arrays.json
record jq length arrays.json
