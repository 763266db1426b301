#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# web.sh dist           web/dist is what web/src builds to, byte for byte, and its types are right
# web.sh page [FILE...] the page in a browser (*.test.mjs, or these of them)
# web.sh full           the same with what takes long
# web.sh run FILE ...   a script of its own: pictures, measurements
# The packages of web/package-lock.json are put below the build folder. Without Node, its packages or a browser the
# test is skipped, with a reason that tools/check-skips lists.
set -u
here=$(cd "$(dirname "$0")" && pwd)
web=$HEAPWISE_SOURCE_DIR/web
modules=$HEAPWISE_BUILD_DIR/web-modules

skip()
{
	echo "skipped: $*"
	exit 77
}

command -v node >/dev/null && command -v npm >/dev/null || skip "needs package nodejs npm"

# Two tests need them at the same time.
install_modules()
(
	mkdir -p "$modules" && cd "$modules" || exit
	flock 9 || exit
	cmp -s "$web/package-lock.json" done && exit
	cp "$web/package.json" "$web/package-lock.json" "$web/.npmrc" . &&
		npm ci --ignore-scripts --no-progress >log 2>&1 &&
		cp package-lock.json done
) 9>"$HEAPWISE_BUILD_DIR/web-modules.lock"

install_modules || skip "cannot download npm packages: $(tail -n 3 "$modules/log" | tr '\n' ' ')"

# Where the packages are: the names of the parts depend on the paths to them.
dist()
{
	cd "$modules" || return
	rm -rf src dist &&
		cp -R "$web/src" "$web/build.mjs" "$web/tsconfig.json" . &&
		node_modules/.bin/tsc --noEmit -p . &&
		node build.mjs || return
	diff -rq dist "$web/dist" || {
		echo "FAILED: web/dist is not what web/src builds to; 'make web' builds it"
		return 1
	}
}

browser()
{
	[ -x /usr/bin/chromium-headless-shell ] || [ -x /usr/bin/chromium ] || skip "needs package chromium-headless-shell"
	export HEAPWISE_WEB_MODULES=$modules
}

# They wait for the browser more than they compute.
page()
{
	browser
	[ $# -gt 0 ] || set -- "$here"/*.test.mjs
	command -v ecl >/dev/null || echo "skipped: needs package ecl"
	node --test --test-concurrency=2 --test-reporter=spec "$@"
}

full()
{
	HEAPWISE_WEB_FULL=1 page
}

run()
{
	browser
	node "$@"
}

"$@"
