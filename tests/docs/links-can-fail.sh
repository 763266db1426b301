#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# links-can-fail.sh   check-links accepts a small tree, and finds each link of it that is broken.
. "$(dirname "$0")/../run/lib.sh"
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check-links

plant()
{
	rm -rf "$work/tree"
	mkdir -p "$work/tree/docs/howto" "$work/tree/man" "$work/tree/src/live/drain"
	cd "$work/tree" || exit
	printf '# Pages\n\n[Methods](METHODS.md), [again](METHODS.md#the-peak), [guide](howto/ci.md), `man 7 heapwise-query`, heapwise-run(1)\n' >docs/README.md
	printf '# Methods\n\n## The peak\n\n*Title.* Text. `[no](link)`\n\nCode: `src/live/drain/ring*.c`, `pull.h`. `pull`\n(`pull.h`)\n' >docs/METHODS.md
	printf '# Guide\n\n[up](../METHODS.md#the-peak)\n\n```\n[no](link.md)\n```\n' >docs/howto/ci.md
	printf 'nav:\n  - A: docs/METHODS.md\n  - B: docs/howto/ci.md\n' >mkdocs.yml
	printf '.SH SEE ALSO\n.BR heapwise\\-query (7),\ndocs/METHODS.md\n' >man/heapwise-run.1
	printf '.SH NAME\n' >man/heapwise-query.7
	printf '/* Defined in docs/METHODS.md, "The peak" and "Title". See live/drain/pull.h. */\n' >src/peak.h
	touch src/live/drain/ring_a.c
	printf 'void pull(void);\n' >src/live/drain/pull.h
}

# finds TEXT FILE SED   the change is found
finds()
{
	plant
	sed -i "$3" "$2"
	"$check" "$work/tree" >"$work/out" 2>&1 && fail "passes, instead of: $1"
	grep -qF -- "$1" "$work/out" || { fail "does not say: $1"; cat "$work/out"; }
}

plant
"$check" "$work/tree" >"$work/out" || { fail "a right tree:"; cat "$work/out"; }
finds "docs/README.md:3: no file docs/METHOD.md" docs/README.md 's/METHODS.md)/METHOD.md)/'
finds "docs/METHODS.md has no section #the-peek" docs/howto/ci.md 's/the-peak/the-peek/'
finds "has no section #the-peak" docs/METHODS.md 's/The peak/Peaks/'
finds "no page docs/METHOD.md" src/peak.h 's/METHODS/METHOD/'
finds 'has no section "Total"' src/peak.h 's/Title/Total/'
finds "no manual page heapwise-ask(7)" man/heapwise-run.1 's/query/ask/'
finds "no manual page heapwise-walk(1)" docs/README.md 's/run(1)/walk(1)/'
finds "no manual page heapwise-ask" docs/README.md 's/man 7 heapwise-query/man 7 heapwise-ask/'
finds "no page docs/METHODS" man/heapwise-run.1 's/METHODS.md/METHODS-OLD.md/'
finds "docs/howto/ci.md:1: not in docs/README.md" docs/README.md 's/howto.ci.md/METHODS.md/'
finds "docs/METHODS.md:1: not in mkdocs.yml" mkdocs.yml '/METHODS/d'
finds "docs/METHODS.md:7: no source src/live/drain/push*.c" docs/METHODS.md 's/ring/push/'
finds "no source src/live/drain/peak.h" docs/METHODS.md 's/pull.h/peak.h/'
finds "no source src/live/ring*.c" docs/METHODS.md 's,drain/ring,ring,'
finds "pull.h has no push" docs/METHODS.md 's/`pull`/`push`/'
finds "src/peak.h:1: no source live/drain/push.h" src/peak.h 's/pull/push/'
finds "no page docs/OTHER.md" mkdocs.yml 's/METHODS/OTHER/'
finish
