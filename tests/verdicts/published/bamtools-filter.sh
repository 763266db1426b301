#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=churn function=evaluateFilterRules
# source: Byma and Larus, Detailed Heap Profiling (Memoro), 5.2.2: for each read the rules of the filter are copied to a queue, and a
#         stack is made to evaluate them.
. "$(dirname "$0")/lib"
needs bamtools
needs samtools
awk 'BEGIN {
	srand(7)
	print "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:chr1\tLN:10000000"
	for (i = 0; i < 4000; i++) {
		bases = ""
		for (k = 0; k < 101; k++)
			bases = bases substr("ACGT", int(rand() * 4) + 1, 1)
		for (k = 0; k < 6; k++)
			printf "read%07d\t0\tchr1\t%d\t%d\t101M\t*\t0\t0\t%s\t*\tNM:i:%d\n", i, i * 6 + k + 1, int(rand() * 61), bases, k
	}
}' | samtools view -b -o reads.bam -
record bamtools filter -in reads.bam -out filtered.bam -mapQuality '>=50'
