# SPDX-License-Identifier: MIT
# What the scripts of tests/run share; sourced by each. ctest sets
#   HEAPWISE          the program under test
#   HEAPWISE_TARGETS  folder of the target programs
#   HEAPWISE_SANITIZE with which sanitizers heapwise was built, if any
# A script ends with `finish`: status 0, 1 if any check failed, 77 if it could not be run here.
set -u
export LC_ALL=C
: "${HEAPWISE:?set by ctest}" "${HEAPWISE_TARGETS:?set by ctest}"
failures=0
work=$(mktemp -d "${TMPDIR:-/tmp}/heapwise-run-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# skip REASON   the machine itself cannot run the test: its CPU, kernel, rights or network. tools/check-skips lists it.
skip()
{
	echo "skipped: $*"
	exit 77
}

# lacks PACKAGE...   a package is not installed: a failure where all could be (tools/check-skips)
lacks()
{
	skip "needs package $*"
}

# has PROGRAM [PACKAGE]   whether it is there; if not, that the test leaves something out is listed as well
has()
{
	command -v "$1" >/dev/null || { echo "skipped: needs package ${2:-$1}"; return 1; }
}

# needs PROGRAM [PACKAGE]   the test cannot be run without it
needs()
{
	has "$@" || exit 77
}

# not_sanitized WHY   the rest cannot be run with a heapwise that was built with a sanitizer
not_sanitized()
{
	[ -z "${HEAPWISE_SANITIZE-}" ] || skip "$1 (heapwise was built with -fsanitize=$HEAPWISE_SANITIZE)"
}

# What a program is linked with that has libraries of ours in it.
with_sanitizer=${HEAPWISE_SANITIZE:+-fsanitize=$HEAPWISE_SANITIZE}

finish()
{
	[ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }
	exit 0
}

# run_case NAME   calls case_NAME, with _ for -; a case that does not exist must not pass
run_case()
{
	declare -F "case_${1//-/_}" >/dev/null || fail "there is no case $1"
	"case_${1//-/_}"
}

# equal WHAT GOT WANTED
equal()
{
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

# at_least WHAT GOT LIMIT, at_most WHAT GOT LIMIT
at_least()
{
	[ "$2" -ge "$3" ] 2>/dev/null || fail "$1 is '$2', below $3"
}

at_most()
{
	[ "$2" -le "$3" ] 2>/dev/null || fail "$1 is '$2', above $3"
}

# says FILE TEXT   the file has a line with the text (an extended regular expression, any case)
says()
{
	grep -qiE -- "$2" "$1" || { fail "no line says '$2':"; sed 's/^/    | /' "$1" | head -20; }
}

# record TRACE [OPTION...] -- PROGRAM [ARGUMENT...]   status in $status, stderr in $work/stderr
record()
{
	local trace=$1
	shift
	"$HEAPWISE" run --no-symbols -o "$trace" "$@" 2>"$work/stderr"
	status=$?
}

# preloadable LIBRARY   a path to it that LD_PRELOAD takes: blanks and colons stand between two libraries there
preloadable()
{
	ln -sf "$1" "$work/${1##*/}"
	echo "$work/${1##*/}"
}

# child_of PID   waits until it has started a program and says that one's number; "" if it ended before
child_of()
{
	local child=

	while [ -z "$child" ] && [ -d "/proc/$1" ]; do
		child=$(cat "/proc/$1/task/"*/children 2>/dev/null)
		[ -n "$child" ] || sleep 0.01
	done
	# Between fork and exec it is still a copy of its parent.
	while [ -n "$child" ] && [ "/proc/$1/exe" -ef "/proc/${child%% *}/exe" ]; do
		sleep 0.01
	done
	echo "${child%% *}"
}

# field TRACE JQ_EXPRESSION   of the report. jq takes thirty milliseconds to start: all single values are asked for at once.
field()
{
	local fields=${1##*/}

	fields=${1%"$fields"}.$fields.fields # hidden: some tests look at what is left
	[ -e "$1.json" ] || { "$HEAPWISE" report --no-symbols --format json "$1" >"$1.json"; rm -f "$fields"; }
	[[ $2 =~ ^(\.[a-z_]+)+$ ]] || { jq -r "$2" "$1.json"; return; }
	[ -e "$fields" ] || jq -r 'path(recurse(if type == "object" then .[] else empty end)) as $path | getpath($path) |
		select(type | . != "object" and . != "array") | select(type != "string" or (contains("\n") | not)) |
		".\($path | join(".")) \(.)"' "$1.json" >"$fields" 2>/dev/null
	grep -q "^${2//./[.]} " "$fields" || { jq -r "$2" "$1.json"; return; }
	sed -n "s/^${2//./[.]} //p" "$fields"
}

# events TRACE   allocations and frees of the last image: "kind address size flags" per line
events()
{
	"$HEAPWISE" trace dump --image $(($(field "$1" .images) - 1)) "$1" | awk '
		$1 !~ /^#/ && $3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ ||
		$3 ~ /^(free|realloc_free|delete|delete_array)$/ { print $3, $4, $5, $9 }'
}

# For awk programs over events.
is_free='$1 ~ /^(free|realloc_free|delete|delete_array)$/'

# Nothing was lost, and every free was matched with its allocation.
whole()
{
	equal "complete" "$(field "$1" .complete)" true
	equal "lost_events" "$(field "$1" .lost_events)" 0
	equal "unknown_frees" "$(field "$1" .unknown_frees)" 0
	equal "implied_frees" "$(field "$1" .implied_frees)" 0
}

# The expectation of a target: its lines without the padding of the mapping.
expected()
{
	tr -d '\0' <"$1"
}

# The expected total of a name.
expected_total()
{
	expected "$1" | sed -n "s/^total $2 //p"
}

# until_true COMMAND...   tries until it succeeds, for a minute at least
until_true()
{
	local i
	for ((i = 0; i < 3000; i++)); do
		"$@" && return
		sleep 0.02
	done
	fail "in vain: $*"
}
