#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# site.sh   the site is made without a warning, has a page for each page and manual page, and asks no other host for anything.
. "$(dirname "$0")/../run/lib.sh"
needs mkdocs
needs groff groff-base
source=$(cd "$(dirname "$0")/../.." && pwd)

"$source/tools/make-site" "$work/build" >"$work/out" 2>&1 || { fail "make-site:"; cat "$work/out"; }
cd "$work/build/site" 2>/dev/null || { fail "no site"; finish; }
for page in index.html docs/index.html docs/TUTORIAL.html docs/howto/ci.html man/heapwise-run.1.html bench/index.html; do
	[ -s "$page" ] || fail "no page $page"
done
[ "$(find man -name 'heapwise*.html' | wc -l)" = "$(find "$source/man" -name 'heapwise*.[1-8]' | wc -l)" ] || fail "manual pages are missing"
grep -q 'TUTORIAL.html' docs/index.html || fail "links between pages do not lead to pages of the site"
if grep -rnoE '<(script|link|img)[^>]*(src|href)="(https?:)?//[^"]*"' --include='*.html' . >"$work/foreign"; then
	fail "pages ask other hosts:"
	sort -u "$work/foreign" | head -5
fi
finish
