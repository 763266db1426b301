#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=lost,growth function=Perl_more_sv,Perl_more_bodies,Perl_hv_common,Perl_av_make not=Perl_safesysmalloc,Perl_safesyscalloc
# source: perlref(1), Circular References: what refers to itself is not freed before the program ends.
. "$(dirname "$0")/lib"
needs perl
cat >circles.pl <<'END'
for my $i (1 .. 20000) {
	my $node = { name => "node $i", list => [ 1 .. 8 ] };
	$node->{self} = $node;
}
END
record perl circles.pl
