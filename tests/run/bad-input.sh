#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bad-input.sh CASE   errors say what happened to what, the status is 3, and the program is unharmed.
. "$(dirname "$0")/lib.sh"

target=$HEAPWISE_TARGETS/family

# refused TEXT -- OPTION... : heapwise run ends with status 3 and says the text.
refused()
{
	local text=$1

	shift 2
	"$HEAPWISE" run "$@" >"$work/stdout" 2>"$work/stderr"
	equal "status" "$?" 3
	says "$work/stderr" "$text"
}

case_missing_program()
{
	refused "no-such-program" -- -o "$work/t" -- no-such-program
	refused "no-such-folder/program" -- -o "$work/t" -- /no-such-folder/program
	refused "$work" -- -o "$work/t" -- "$work"
	echo "no program" >"$work/file"
	refused "$work/file" -- -o "$work/t" -- "$work/file"
	printf '#!/no/such/interpreter\n' >"$work/script"
	chmod +x "$work/script"
	refused "$work/script': the interpreter or loader that it names does not exist" -- -o "$work/t" -- "$work/script"
}

case_unwritable_output()
{
	refused "/no-such-folder/trace" -- -o /no-such-folder/trace -- touch "$work/was-run"
	refused "$work" -- -o "$work" -- touch "$work/was-run"
	[ ! -e "$work/was-run" ] || fail "the program was run although its trace cannot be written"
}

# Another recording writes to the file: it stays whole, and the program is not run.
case_output_in_use()
{
	"$HEAPWISE" run -q -o "$work/t.hwt" -- sh -c "until [ -e '$work/go' ]; do sleep 0.05; done; : \$(seq 20)" 2>"$work/first" &
	until_true test -s "$work/t.hwt"
	refused "cannot write $work/t.hwt: another recording is writing to it" -- -o "$work/t.hwt" -- touch "$work/was-run"
	[ ! -e "$work/was-run" ] || fail "the program was run although its trace cannot be written"
	"$HEAPWISE-synth" -o "$work/t.hwt" >"$work/stdout" 2>"$work/stderr"
	equal "status of synth" "$?" 3
	says "$work/stderr" "another recording is writing to it"
	touch "$work/go"
	wait
	equal "what the first says" "$(cat "$work/first")" ""
	equal "closed" "$("$HEAPWISE" trace info --format json "$work/t.hwt" | jq -r .closed)" true
	equal "complete" "$(field "$work/t.hwt" .complete)" true
	"$HEAPWISE" run -q -o "$work/t.hwt" -- true 2>"$work/stderr"
	equal "status when it is free again" "$?" 0
}

# A disk of 64 KiB. The program must end as ever, and the trace must open up to where it was full.
case_full_disk()
{
	export HEAPWISE_EXPECT=$work/expected
	mkdir "$work/disk"
	unshare -rm sh -c '
		mount -t tmpfs -o size=64k none "$1/disk" || exit 77
		"$2" run --no-symbols -o "$1/disk/trace" -- "$3" 2 300000 2>"$1/stderr"
		echo $? >"$1/status"
		cp "$1/disk/trace" "$1/trace"' sh "$work" "$HEAPWISE" "$HEAPWISE_TARGETS/threads"
	[ -s "$work/status" ] || skip "no small disk can be mounted here"
	equal "exit status" "$(cat "$work/status")" 0
	equal "allocations of the program" "$(expected_total "$work/expected" allocations)" 600000
	says "$work/stderr" "no space left|full"
	"$HEAPWISE" trace info "$work/trace" >"$work/info" 2>&1 || fail "the trace does not open"
}

# A limit on file sizes also holds for the shared memory of a recording: the program runs, and the message says why it is not
# recorded. With the right to raise limits, which root has on most machines, Heapwise would raise its own: that right is given up.
case_file_limit()
{
	local without=()

	! setpriv --bounding-set -sys_resource true 2>"$work/refused" || without=(setpriv --bounding-set -sys_resource)
	(ulimit -f 64; "${without[@]}" "$HEAPWISE" run -o "$work/trace" -- touch "$work/was-run" 2>"$work/stderr")
	equal "exit status" "$?" 0
	says "$work/stderr" "file too large.*limit.*NOT RECORDED"
	[ -e "$work/was-run" ] || fail "the program was not run"
	[ ! -e "$work/trace" ] || fail "a trace of nothing is left"
}

# damaged FILE   report, dump and info neither crash nor hang; status is 0 or 3.
damaged()
{
	for command in "report --no-symbols" "trace dump" "trace info"; do
		timeout 60 "$HEAPWISE" $command "$1" >"$work/stdout" 2>"$work/stderr"
		status=$?
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "$command $1: status $status"
		[ "$status" -eq 0 ] || [ -s "$work/stderr" ] || fail "$command $1: failed silently"
	done
}

case_damaged_trace()
{
	local size

	# Large enough for many blocks: at least one is whole in three quarters of the file.
	record "$work/trace" -- "$HEAPWISE_TARGETS/sampled" 500000
	equal "exit status" "$status" 0
	size=$(stat -c %s "$work/trace")
	for share in 0 1 10 50 90 99; do
		head -c $((size * share / 100)) "$work/trace" >"$work/cut"
		damaged "$work/cut"
	done
	head -c $((size * 3 / 4)) "$work/trace" >"$work/cut"
	equal "complete, cut" "$("$HEAPWISE" report --no-symbols --format json "$work/cut" | jq .complete)" false
	at_least "allocations, cut" \
		"$("$HEAPWISE" report --no-symbols --format json "$work/cut" | jq .allocations)" 1

	cp "$work/trace" "$work/bad"
	head -c 64 /dev/zero | dd of="$work/bad" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
	damaged "$work/bad"
	# its sums are whole: only who reads the events meets the damage
	"$HEAPWISE" report --no-symbols --no-index "$work/bad" >"$work/all" 2>&1
	says "$work/all" "section [0-9]+"
	at_least "allocations, damaged" \
		"$("$HEAPWISE" report --no-symbols --format json "$work/bad" | jq .allocations)" 1

	head -c 5000 /dev/urandom >"$work/noise"
	"$HEAPWISE" report "$work/noise" >"$work/stdout" 2>"$work/stderr"
	equal "status, noise" "$?" 3
	says "$work/stderr" "not a heapwise trace"
	"$HEAPWISE" report "$work/no-such-file" >"$work/stdout" 2>"$work/stderr"
	equal "status, no file" "$?" 3
	says "$work/stderr" "no-such-file"
}

case_static_program()
{
	refused "static" -- -o "$work/t" -- "$HEAPWISE_TARGETS/static"
	"$HEAPWISE" run --unprofiled -o "$work/t" -- "$HEAPWISE_TARGETS/static" 2>"$work/stderr"
	equal "status, unprofiled" "$?" 7
	says "$work/stderr" "without (being )?record|not recorded|unprofiled"
}

case_setuid_program()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can make a program setuid of another user"
	cp "$HEAPWISE_TARGETS/empty" "$work/setuid"
	chown nobody "$work/setuid" && chmod u+s "$work/setuid" && chmod 755 "$work" && chmod u+s "$work/setuid"
	refused "setuid|set-user-id" -- -o "$work/t" -- "$work/setuid"
	"$HEAPWISE" run --unprofiled -o "$work/t" -- "$work/setuid" 2>"$work/stderr"
	equal "status, unprofiled" "$?" 7
}

case_usage()
{
	for arguments in "" "run" "run --no-such-option x" "report" "no-such-command" "report --format=xml f"; do
		"$HEAPWISE" $arguments >"$work/stdout" 2>"$work/stderr"
		equal "status of 'heapwise $arguments'" "$?" 2
		[ -s "$work/stderr" ] || fail "heapwise $arguments: says nothing"
	done
}

run_case "$1"
finish
