#!/bin/bash
# SPDX-License-Identifier: MIT
# types.sh CASE [COMPILER [OPTION...]]   types that programs tell of their blocks.
# The case `table` also writes its table of forms and methods to the file that HEAPWISE_TABLE names.
. "$(dirname "$0")/lib.sh"
source=$HEAPWISE_SOURCE_DIR
case=${1:-}
compiler=${2:-g++}
shift $(($# < 2 ? $# : 2))


# build OUTPUT SOURCE OPTION...
build()
{
	local output=$1 from=$2
	shift 2
	"$compiler" -I"$source/include" -Wall -Wextra -Werror "$@" -o "$output" "$from" 2>"$work/build" ||
		{ fail "cannot build $from: $(grep -m3 error "$work/build")"; finish; }
}

# Addresses are small enough for awk's numbers.
hex='function hex(text, i, n) {
	n = 0
	for (i = 3; i <= length(text); i++)
		n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}'

# types TRACE   "start end count name" of each chunk that has a type and lives at the end
types()
{
	"$HEAPWISE" trace dump "$1" | awk "$hex"'
	/^# type .* source declared / { name = $0; sub(/.* name /, "", name); type[$3] = $9 "\t" name; next }
	/^#/ { next }
	$3 ~ /free|delete/ { delete start[$6]; next }
	$6 ~ /^[0-9]+$/ { start[$6] = hex($4); size[$6] = $5 }
	END { for (c in start) if (c in type) printf "%.0f\t%.0f\t%s\n", start[c], start[c] + size[c], type[c] }'
}

# compare TRUTH TYPES   what the program says it allocated has the right type
compare()
{
	awk -F'\t' "$hex"'
	NR == FNR { start[NR] = $1; end[NR] = $2; type[NR] = $4; n = NR; next }
	{
		found = "-"; at = hex($2); rows++
		for (i = 1; i <= n; i++)
			if (start[i] <= at && at < end[i])
				found = type[i]
		right = 0
		for (f = 4; f <= NF; f++)
			right = right || found == $f
		if (!right)
			print $1 ": is " $4 ", found " found
		else
			good++
	}
	END { print good + 0 " of " rows + 0 " forms" }' "$2" "$1"
}

# Every form has its type.
case_forms()
{
	local trace=$work/trace.hwt

	build "$work/forms" "$source/tests/targets/types_forms.cpp" -DHEAPWISE_TYPES -g -fno-builtin "$@"
	"$HEAPWISE" run -o "$trace" "$work/forms" >"$work/truth" 2>"$work/stderr" || fail "the program failed"
	types "$trace" >"$work/types"
	compare "$work/truth" "$work/types" >"$work/compared"
	tail -1 "$work/compared"
	[ "$(wc -l <"$work/compared")" -eq 1 ] || { fail "types that are not right:"; cat "$work/compared"; }
	at_least "number of forms" "$(wc -l <"$work/truth")" 60
	# Told of every array that was made by new_array.
	equal "elements behind a cookie" "$(awk -F'\t' '$4 == "Noisy" && $3 == 5' "$work/types" | wc -l)" 1
}

# Names of nodes and containers as `heapwise types` writes them, for what the program says.
also()
{
	sed -e '/^vector-outer\t/s/$/\tstd::vector<std::string>/' -e '/^vector-inner\t/s/$/\tstd::string/' \
		-e '/^list\t/s/$/\tstd::list<Leaf> node/' -e '/^map\t/s/$/\tstd::map<int, Leaf> node/' \
		-e '/^unordered-map\t/s/$/\tstd::unordered_map<int, Leaf> node/' \
		-e ':again; s/> >/>>/; s/::__cxx11::/::/; t again'
}

# Debug information alone: at least 80 of 100 forms are right, and nothing is wrong but guesses.
case_debug()
{
	local trace=$work/trace.hwt right forms

	build "$work/forms" "$source/tests/targets/types_forms.cpp" -g -fno-builtin "$@"
	"$HEAPWISE" run -o "$trace" "$work/forms" 2>"$work/stderr" | also >"$work/truth"
	"$HEAPWISE" types --chunks --top 0 --format json "$trace" >"$work/json" 2>>"$work/stderr" ||
		fail "types fails: $(cat "$work/stderr")"
	for least in guess likely; do
		jq -r --arg least "$least" '.chunks[] |
			select(.kept and (.confidence != "guess" or $least == "guess") and .type) |
			[.address, .address + .size, .count, .type] | @tsv' "$work/json" >"$work/types"
		compare "$work/truth" "$work/types" >"$work/compared.$least"
		tail -1 "$work/compared.$least"
	done
	forms=$(wc -l <"$work/truth")
	right=$(tail -1 "$work/compared.guess" | cut -d' ' -f1)
	at_least "number of forms" "$forms" 60
	at_least "right forms of 100" $((right * 100 / forms)) 80
	grep ', found ' "$work/compared.likely" | grep -v ', found -$' &&
		fail "wrong types that are more than a guess"
	"$HEAPWISE" types "$trace" 2>&1 | head -1 | grep -q '^ *unknown ' || fail "the first line is not what is unknown"
}

# Rust: the types of the program's own blocks, with the older linker names, whose types are in the debug information only, and with
# those that have types themselves. rustc works for seconds on each: every option in each run, the pairs with `rust more`.
case_rust()
{
	local program=$work/forms options sets=("-g -O" "-g -C symbol-mangling-version=v0" "-O -C debuginfo=1")

	needs rustc
	[ "$compiler" != more ] || sets=("-g" "-g -O -C symbol-mangling-version=v0")
	for options in "${sets[@]}"; do
		# shellcheck disable=SC2086
		rustc $options -o "$program" "$source/tests/targets/types_forms.rs" 2>"$work/build" ||
			{ fail "cannot build: $(grep -m3 error "$work/build")"; finish; }
		"$HEAPWISE" run -q -o "$work/trace.hwt" "$program" >"$work/truth" 2>"$work/stderr" || fail "the program failed"
		"$HEAPWISE" types --chunks --top 0 --format json "$work/trace.hwt" >"$work/json" 2>>"$work/stderr"
		jq -r '.chunks[] | select(.kept and .confidence != "guess" and .type) |
			[.address, .address + .size, .count, .type] | @tsv' "$work/json" >"$work/types"
		compare "$work/truth" "$work/types" >"$work/compared"
		tail -1 "$work/compared"
		at_least "forms with '$options'" "$(wc -l <"$work/truth")" 25
		[ "$(wc -l <"$work/compared")" -eq 1 ] || { fail "with '$options' types are not right:"; cat "$work/compared"; }
		"$HEAPWISE" types --format json "$work/trace.hwt" >"$work/json" 2>>"$work/stderr"
		at_least "percent of bytes with a type that is no guess" \
			"$(jq '100 - 100 * (.unknown_share + .guess_share) | floor' "$work/json")" 95
	done
}

# Rust without debug information: the newer linker names tell the types of functions that were not inlined. All of these are guesses, as
# rustc makes one function of several whose code is the same; what is more than a guess is right. The older names tell texts at most.
case_rust_names()
{
	local program=$work/forms level names least wanted levels=(0 3)

	needs rustc
	[ "$compiler" != more ] || levels=(2)
	while read -r level names least; do
		[[ " ${levels[*]} " == *" $level "* ]] || continue
		# shellcheck disable=SC2086
		rustc -C debuginfo=0 -C opt-level=$level ${names/older/} -o "$program" "$source/tests/targets/types_forms.rs" 2>"$work/build" ||
			{ fail "cannot build: $(grep -m3 error "$work/build")"; finish; }
		"$HEAPWISE" run -q -o "$work/trace.hwt" "$program" >"$work/truth" 2>"$work/stderr" || fail "the program failed"
		"$HEAPWISE" types --chunks --top 0 --format json "$work/trace.hwt" >"$work/json" 2>>"$work/stderr"
		for wanted in guess likely; do
			jq -r --arg wanted $wanted '.chunks[] | select(.kept and .type and (.confidence != "guess" or $wanted == "guess")) |
				[.address, .address + .size, .count, .type] | @tsv' "$work/json" >"$work/types"
			compare "$work/truth" "$work/types" >"$work/compared.$wanted"
		done
		echo "level $level, $names: $(tail -1 "$work/compared.guess")"
		at_least "right forms, level $level, $names" "$(tail -1 "$work/compared.guess" | cut -d' ' -f1)" "$least"
		# elements of 24 bytes: one function may grow the vectors of both types; rustc 1.85 makes inner vectors in the function of the outer
		grep ', found ' "$work/compared.guess" | grep -v ', found -$\|^vec-\(enum\|push\|inner\):' && fail "wrong guesses, level $level, $names"
		grep ', found ' "$work/compared.likely" | grep -v ', found -$' && fail "wrong and more than a guess, level $level, $names"
	done <<-END
	0 -Csymbol-mangling-version=v0 26
	2 -Csymbol-mangling-version=v0 9
	3 -Csymbol-mangling-version=v0 8
	0 older 4
	END
}

# What is thrown has the type that the line or the library's function names, and its block is 128 bytes larger.
case_thrown()
{
	local level

	for level in 0 2; do
		build "$work/thrown" "$source/tests/targets/types_thrown.cpp" -g -O$level -std=c++17
		"$HEAPWISE" run -q -o "$work/trace.hwt" "$work/thrown" || fail "the program failed"
		"$HEAPWISE" types --chunks --top 0 --format json "$work/trace.hwt" 2>"$work/stderr" | jq -r '.chunks[] |
			select([132, 144, 160, 192, 224][] == .size) | [.size, .count // 0, .type // "-", .confidence] | @tsv' | sort >"$work/types"
		sed -i 's/Mine\tlikely/Mine\tguess/; s/one::Same/two::Same/' "$work/types" # clang++ writes its size; either is a guess
		diff - "$work/types" <<-END || fail "types of what is thrown, $compiler -O$level"
		132	0	-	unknown
		144	1	std::length_error	exact
		144	1	std::out_of_range	exact
		144	1	std::runtime_error	likely
		160	1	Derived	likely
		192	1	Mine	guess
		224	1	two::Same	guess
		END
	done
}

# letters TRUTH JSON   "form TAB type TAB letter" of each form (long types by their readable names). The letter: who
# told the right type (small if it was a guess), "-" nobody, "x" a guess that is wrong, "X" more than a guess and wrong
letters()
{
	jq -r '.chunks[] | select(.kept) |
		[.address, .address + .size, .source, .confidence, .type // "-"] | @tsv' "$2" >"$work/chunks"
	awk -F'\t' "$hex"'
	NR == FNR { start[NR] = $1; end[NR] = $2; from[NR] = $3; sure[NR] = $4; type[NR] = $5; n = NR; next }
	{
		found = "-"; source = sureness = ""; at = hex($2)
		for (i = 1; i <= n; i++)
			if (start[i] <= at && at < end[i]) {
				found = type[i]; source = from[i]; sureness = sure[i]
			}
		letter = sureness == "guess" ? "x" : "X"
		for (f = 4; f <= NF; f++)
			if (found == $f)
				letter = substr(source, 1, 1)
		if (letter != "x" && letter != "X" && sureness != "guess")
			letter = toupper(letter)
		print $1 "\t" (length($4) > 40 ? $NF : $4) "\t" (found == "-" ? "-" : letter)
	}' "$work/chunks" "$1"
}

# right FILE   how many of 100 forms have their type
right()
{
	awk -F'\t' '$3 !~ /[-xX]/ { good++ } END { printf "%d\n", 100 * good / NR }' "$1"
}

# method NAME LEAST PROGRAM [OPTION...]   records it, adds the letters to columns/NAME; at least so many of
# 100 are right, and none is wrong but guesses, of which there are few
method()
{
	local name=$1 least=$2 program=$3 percent
	shift 3

	"$HEAPWISE" run -o "$work/trace.hwt" "$program" 2>"$work/stderr" | also >"$work/truth"
	"$HEAPWISE" types --chunks --top 0 --format json "$@" "$work/trace.hwt" >"$work/json" \
		2>>"$work/stderr" || fail "types fails: $(cat "$work/stderr")"
	letters "$work/truth" "$work/json" >"$work/letters"
	percent=$(right "$work/letters")
	echo "$configuration $name: $percent %"
	at_least "forms with $name" "$(wc -l <"$work/letters")" 60
	at_least "right forms of 100, $configuration, $name" "$percent" "$least"
	grep 'X$' "$work/letters" && fail "$configuration, $name: wrong types that are more than a guess"
	at_most "wrong guesses, $configuration, $name" "$(grep -c 'x$' "$work/letters")" 2
	cut -f3 "$work/letters" | paste -d '\0' "$work/columns/$name" - >"$work/column"
	mv "$work/column" "$work/columns/$name"
	printf '| %s | %s | %s |\n' "$configuration" "$name" "$percent %" >>"$work/shares"
}

# The forms of types_forms.cpp with every method, both compilers, without and with optimisation.
case_table()
{
	local forms=$source/tests/targets/types_forms.cpp configuration level name

	mkdir "$work/columns"
	for name in header debug stripped index; do
		yes '' | head -200 >"$work/columns/$name"
	done
	"$HEAPWISE" trace types-index -o "$work/forms.hwx" "$forms" -- -I"$source/include" -std=c++17 \
		>"$work/stdout" 2>"$work/stderr" || { grep -q 'without libclang' "$work/stderr" && lacks libclang-dev
		fail "no index: $(cat "$work/stderr")"; }
	for compiler in g++ clang++; do
		for level in 0 2; do
			configuration="$compiler -O$level"
			build "$work/told" "$forms" -DHEAPWISE_TYPES -g -fno-builtin -O$level -std=c++17
			build "$work/plain" "$forms" -g -fno-builtin -O$level -std=c++17
			strip -o "$work/stripped" "$work/plain"
			method header 100 "$work/told"
			method debug 80 "$work/plain"
			method stripped 0 "$work/stripped"
			method index 95 "$work/plain" --index "$work/forms.hwx"
		done
	done
	[ -z "${HEAPWISE_TABLE:-}" ] || write_table >"$HEAPWISE_TABLE"
}

# The columns as Markdown.
write_table()
{
	printf '| form | type | header | `-g` alone | stripped | index and `-g` |\n|---|---|---|---|---|---|\n'
	cut -f1,2 "$work/letters" | sed 's/|/\\|/g' | awk -F'\t' '{ print "| " $1 " | `" $2 "` " }' |
		paste -d '|' - "$work"/columns/{header,debug,stripped,index} | grep '^| ' |
		sed 's/|\([-A-Za-z]*\)|\([-A-Za-z]*\)|\([-A-Za-z]*\)|\([-A-Za-z]*\)$/| `\1` | `\2` | `\3` | `\4` |/'
	awk -F ' [|] ' '{ sub(/^[|] /, "", $1); sub(/ [|]$/, "", $3); of[$2] = of[$2] (of[$2] ? ", " : "") $3 }
		END { print "| **right** | | " of["header"] " | " of["debug"] " | " of["stripped"] " | " of["index"] " |" }' \
		"$work/shares"
}

# Queries know the types that the table shows, guesses included.
case_query()
{
	local trace=$work/trace.hwt guessed

	build "$work/forms" "$source/tests/targets/types_forms.cpp" -g -std=c++17
	"$HEAPWISE" run -o "$trace" "$work/forms" >/dev/null 2>&1
	for guess in "" --no-guess; do
		"$HEAPWISE" types $guess --top 0 --format json "$trace" | jq -c '[.types[] | [.type, .chunks, .bytes]] | sort' >"$work/types"
		"$HEAPWISE" query $guess --top 0 --format json "$trace" 'all | join type' |
			jq -c '[.rows[] | [.type, .chunks, .size]] | sort' >"$work/joined"
		cmp "$work/types" "$work/joined" || fail "types and 'join type' disagree${guess:+ with $guess}"
	done
	guessed=$("$HEAPWISE" types --top 0 --format json "$trace" | jq -c '[.types[] | select(.source == "line")][0] | [.type, .chunks]')
	[[ $guessed == *null* ]] && fail "no type that the source line names"
	equal "--where with the guessed type $guessed" "$("$HEAPWISE" types --where "type == $(jq '.[0]' <<<"$guessed")" \
		--format json "$trace" | jq -c '.types[0] | [.type, .chunks]')" "$guessed"
}

# A size is no evidence: what only debug information has a type for is unknown, and nowhere a type. What the line names is it, if it fits.
case_sizes()
{
	local trace=$work/trace.hwt

	build "$work/sizes" "$source/tests/targets/types_sizes.cpp" -g -O1
	"$HEAPWISE" run -o "$trace" "$work/sizes" 2>"$work/stderr" || fail "the program failed"
	"$HEAPWISE" types --chunks --top 0 --format json "$trace" >"$work/json"
	equal "types" "$(jq -r '.chunks[] | select(.kept and .size < 1000) | "\(.size) \(.type) \(.confidence)"' "$work/json")" \
		"24 std::vector<int> guess
24 Bits guess
24 null unknown
40 null unknown
40 null unknown
72 null unknown
88 null unknown
200 Round exact
216 Square exact"
	"$HEAPWISE" types "$trace" >"$work/text" 2>>"$work/stderr"
	"$HEAPWISE" export --to csv "$trace" >"$work/csv" 2>>"$work/stderr" || fail "no export"
	"$HEAPWISE" query -f csv "$trace" "all" >"$work/query" 2>>"$work/stderr" || fail "no query"
	"$HEAPWISE" mprof --table bins -v -f json "$trace" >"$work/bins" 2>>"$work/stderr" || fail "no bins"
	for type in Alone named_only Other Twin; do
		grep -E "(,| )$type(,|\$)" "$work/text" "$work/csv" "$work/query" && fail "$type is shown"
		grep -qw "$type" "$work/bins" || fail "the bins of mprof lack $type"
	done
}

# Members, padding, and folded templates.
case_fields()
{
	build "$work/forms" "$source/tests/targets/types_forms.cpp" -g -std=c++17
	"$HEAPWISE" run -o "$work/trace.hwt" "$work/forms" >/dev/null 2>&1
	"$HEAPWISE" types --fields Packet --format csv "$work/trace.hwt" >"$work/fields" 2>&1 || fail "no members"
	says "$work/fields" '^0,4,length,.*,unsigned int$'
	says "$work/fields" '^4,1,first,.*,unsigned char$'
	says "$work/fields" '^5,3,,,.*padding'
	"$HEAPWISE" types --fields Circle --format csv "$work/trace.hwt" >"$work/fields" 2>&1
	says "$work/fields" '^0,8,_vptr'
	says "$work/fields" '^12,20,radius,.*,int'
	"$HEAPWISE" types --fields NoSuchType "$work/trace.hwt" >"$work/fields" 2>&1
	equal "status for no such type" $? 2
	"$HEAPWISE" types --fold --top 0 --format csv "$work/trace.hwt" >"$work/fields" 2>&1
	says "$work/fields" 'std::unordered_map<\*> node'
	says "$work/fields" 'Table<\*>'
}

# members TYPE   "offset size member read written read_bytes written_bytes state" of each row, of $work/trace.hwt
members()
{
	"$HEAPWISE" types --fields "$1" --format csv "$work/trace.hwt" 2>>"$work/stderr" |
		sed '1,/^offset,/d; s/, never/ never/; s/"//g' |
		awk -F, '{ print $1, $2, $3 == "" ? "-" : $3, $5, $6, $7, $8, $9 }'
}

# Which members are used, by members.cpp, whose comments are the truth. WAY is gcc or clang, whose code is instrumented, or
# valgrind; further options are the compiler's.
case_members()
{
	local way=$compiler target=$source/tests/targets/members.cpp bits

	if [ "$way" = valgrind ]; then
		compiler=g++
		build "$work/members" "$target" -g -std=c++17 -fno-builtin "$@"
		set -- --access valgrind
	else
		HEAPWISE_CC=$way "$HEAPWISE" c++ -g -std=c++17 -fno-builtin "$@" -o "$work/members" "$target" ||
			{ fail "cannot build $target"; finish; }
		set -- --access exact
	fi
	"$HEAPWISE" run -q "$@" --coverage -o "$work/trace.hwt" -- "$work/members" || fail "the program failed"
	members Record >"$work/record"
	diff - "$work/record" <<-END || fail "members of Record"
	0 4 id 0 3 0 4 written never read
	4 4 - 0 0 0 0 padding
	8 8 weight 1 0 8 0 read never written
	16 16 name 0 3 0 5 written never read
	32 2 never 0 0 0 0 never touched
	34 6 - 0 0 0 0 padding
	40 8 pair.first 0 0 0 0 never touched
	48 8 pair.second 0 3 0 8 written never read
	56 1 flag 0 3 0 1 written never read
	57 7 - 0 0 0 0 padding
	END
	members Sides >"$work/sides"
	diff - "$work/sides" <<-END || fail "members of Sides"
	0 4 stored 0 4 0 4 written never read
	4 4 - 0 0 0 0 padding
	8 8 counter 1 2 8 8 read and written
	16 16 text 1 4 1 3 read and written
	32 8 loaded 1 0 8 0 read never written
	40 2 never 0 0 0 0 never touched
	42 2 - 0 0 0 0 padding
	44 8 half 1 1 4 4 read and written
	52 8 copied 3 0 8 0 read never written
	60 4 - 0 0 0 0 padding
	END
	# Storing a bit-field reads the byte. gcc reports one of the two accesses.
	case $way in
	gcc) bits="0 1 0 1 written never read" ;;
	*) bits="1 1 1 1 read and written" ;;
	esac
	members Derived | sed 's/_vptr[.$]/_vptr./' >"$work/derived"
	diff - "$work/derived" <<-END || fail "members of Derived"
	0 8 _vptr.Base 1 1 8 8 read and written
	8 8 number 0 1 0 8 written never read
	16 16 untouched 0 0 0 0 never touched
	32 1 low $bits
	32 1 high $bits
	33 7 - 0 0 0 0 padding
	40 8 extra 1 1 8 8 read and written
	48 3 tail 0 0 0 0 never touched
	51 5 - 0 0 0 0 padding
	END
	equal "caveats about merged accesses" \
		"$("$HEAPWISE" types --fields Derived "$work/trace.hwt" | grep -c 'code built by gcc')" \
		"$([ "$way" = gcc ] && echo 1 || echo 0)"
	members Cell >"$work/cell"
	diff - "$work/cell" <<-END || fail "members of Cell, in an array"
	0 4 key 0 1 0 4 written never read
	4 4 rest 0 0 0 0 never touched
	END
	members Either >"$work/either"
	diff - "$work/either" <<-END || fail "members of Either"
	0 8 number 0 1 0 8 written never read
	0 24 text 0 1 0 8 written never read
	END
	"$HEAPWISE" types --fields Record --format json "$work/trace.hwt" >"$work/json" 2>>"$work/stderr"
	equal "measured chunks" "$(jq .measured "$work/json")" 3
	# 4 + 5 + 8 + 1 bytes of each; gcc's checks miss writes, but none of these
	equal "bytes written" "$(jq .written_bytes "$work/json")" 54
	equal "bytes read" "$(jq .read_bytes "$work/json")" 8
}

# Without Heapwise the program runs, and without HEAPWISE_TYPES nothing of the header is left.
case_vanishes()
{
	build "$work/with" "$source/tests/targets/types_forms.cpp" -DHEAPWISE_TYPES -O2 -std=c++17
	build "$work/without" "$source/tests/targets/types_forms.cpp" -O2 -std=c++17
	"$work/with" >/dev/null || fail "does not run without Heapwise"
	nm -C "$work/without" | grep -i heapwise && fail "the header left symbols behind"
	"$HEAPWISE" run -o "$work/trace.hwt" "$work/without" >/dev/null 2>&1
	equal "types of a program without" "$("$HEAPWISE" trace dump "$work/trace.hwt" | grep -c '^# type .* source declared')" 0
}

# refused TEXT   that code does not compile below the macro
refused()
{
	printf '#include <heapwise/types.hpp>\n#include <heapwise/define_new.hpp>\n%s\n' "$1" >"$work/refused.cpp"
	"$compiler" -I"$source/include" -DHEAPWISE_TYPES -std=c++17 -fsyntax-only "$work/refused.cpp" \
		2>"$work/build" && fail "compiles: $1"
	grep -q 'error' "$work/build" || fail "no error for: $1"
}

case_refused()
{
	refused 'int *f() { return new int[3]; }'
	says "$work/build" 'delete'
	refused 'typedef int Ten[10]; int *f() { return new Ten; }'
	refused 'int *f(void *p) { return new (p) int; }'
	refused 'struct alignas(128) A { ~A(); char c; }; A *f() { return new A[2]; }'
}

# C: names, and what is cut, replaced, or no block at all.
case_c()
{
	compiler=gcc
	build "$work/c" "$source/tests/targets/types_c.c" -DHEAPWISE_TYPES -g
	"$work/c" || fail "does not run without Heapwise"
	record "$work/trace.hwt" -- "$work/c"
	equal status "$status" 0
	types "$work/trace.hwt" | cut -f3- | sort >"$work/types"
	diff - "$work/types" <<-END || fail "types of the C program"
	0	struct first
	0	struct last word
	0	struct that was another before
	12	unsigned char
	7	struct behind a cookie
	END
	"$HEAPWISE" trace dump --facts "$work/trace.hwt" | grep -q 'type_unknown.* 2$' || fail "two pointers to no block are not counted"
}

# build_id FILE, recorded_id TRACE PROGRAM
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
recorded_id() { "$HEAPWISE" trace info --format json "$1" | jq -r --arg path "$2" '.module_list[] | select(.path == $path) | .build_id'; }

# A program is one module from its header to its last variable, wherever a linker puts its segments.
case_apart()
{
	local row word rows link archive=$HEAPWISE_BUILD_DIR/libheapwise.a

	rows=('' '-z separate-code' '-z max-page-size=65536' 'no-pie -z max-page-size=65536' 'static -z max-page-size=65536')
	has ld.lld lld && rows+=('lld' 'lld -z separate-code' 'lld -z separate-loadable-segments' 'lld -z max-page-size=65536'
		'lld -z max-page-size=2097152' 'lld no-pie -z max-page-size=65536')
	for row in "${rows[@]}"; do
		link=(-Wl,--build-id)
		for word in $row; do
			case $word in
			lld) link+=(-fuse-ld=lld) ;;
			no-pie) link+=(-no-pie) ;;
			static) link+=(-static "$archive" -Wl,-u,malloc -Wl,-z,muldefs -Wl,--eh-frame-hdr) ;;
			*) link+=("-Wl,$word") ;;
			esac
		done
		build "$work/apart" "$source/tests/targets/types_apart.cpp" -DHEAPWISE_TYPES -O2 "${link[@]}"
		"$HEAPWISE" run -q -o "$work/trace.hwt" "$work/apart" || fail "linked with '$row': status $?"
		equal "types, linked with '$row'" "$(types "$work/trace.hwt" | cut -f4 | sort | xargs)" "Point shop::Crate<int> shop::Order"
		equal "build-id, linked with '$row'" "$(recorded_id "$work/trace.hwt" "$work/apart")" "$(build_id "$work/apart")"
	done
}

# Valgrind's list of mappings has its segments one by one.
case_apart_valgrind()
{
	local linker linkers=(bfd)

	has ld.lld lld && linkers+=(lld)
	for linker in "${linkers[@]}"; do
		build "$work/apart" "$source/tests/targets/types_apart.cpp" -O2 -Wl,--build-id -Wl,-z,max-page-size=65536 -fuse-ld=$linker
		"$HEAPWISE" run -q --access valgrind -o "$work/trace.hwt" "$work/apart" || fail "$linker: status $?"
		equal "build-id with $linker" "$(recorded_id "$work/trace.hwt" "$work/apart")" "$(build_id "$work/apart")"
	done
}

# What a compiler wrote beside calls: DW_AT_LLVM_alloc_type.
case_dwarf()
{
	compiler=gcc
	build "$work/calls" "$source/tests/targets/call_types.c" -g0 "$source/tests/targets/call_types.S"
	"$HEAPWISE" run -q -o "$work/trace.hwt" "$work/calls"
	equal status $? 0
	"$HEAPWISE" types --chunks --top 0 --format json "$work/trace.hwt" 2>"$work/stderr" | jq -r '.chunks[] |
		select(.kept) | [.size, .count // 0, .type // "-", .source, .confidence] | @tsv' | sort -n >"$work/types"
	diff - "$work/types" <<-END || fail "types that the compiler wrote"
	24	1	space::Point	dwarf	exact
	40	0	-	unknown	unknown
	56	0	-	unknown	unknown
	64	4	Cell	dwarf	exact
	80	10	space::Point*	dwarf	exact
	END
	"$HEAPWISE" types "$work/trace.hwt" >"$work/text" 2>&1
	says "$work/text" '^ *dwarf .*3 chunks: debug information'
}

# told TRACE OUTPUT   all that `types` says of the trace
told()
{
	local how

	: >"$2"
	for how in "--chunks --top 0" "--top 0" "--fold --top 0" "--no-guess --top 0"; do
		# shellcheck disable=SC2086
		"$HEAPWISE" types $how --format json "$1" >>"$2" 2>&1 || fail "types $how of $1"
	done
}

# dumped FILE   "found|recorded size count type" of each entry of a dump that has a type; types that were not recorded with the
# chunk, but found out, have a type_id of 60 bits
dumped()
{
	awk -F', ' '/^[A-Z][A-Za-z]*[|]/ { table = $0; next }
		table ~ /^HeapLog/ && $4 !~ /^0+$/ { entry[++n] = (length($4) == 15 ? "found" : "recorded") "\t" $2 "\t" $3; type[n] = $4 }
		table ~ /^Types/ { id = $1; sub(/^[^,]*, /, ""); name[id] = $0 }
		END { for (i = 1; i <= n; i++) print entry[i] "\t" name[type[i]] }' "$1" | LC_ALL=C sort
}

# HeapLog dumps have the types that `types` is sure of: of frames, of the index, of the compiler, and those that were recorded.
case_heaplog()
{
	local program forms=$source/tests/targets/types_forms.cpp

	compiler=gcc
	build "$work/calls" "$source/tests/targets/call_types.c" -g0 "$source/tests/targets/call_types.S"
	compiler=g++
	build "$work/frames" "$forms" -g -fno-builtin -std=c++17
	mkdir "$work/index"
	cp "$work/frames" "$work/index/index"
	"$HEAPWISE" trace types-index -o "$work/index/heapwise-types.hwx" "$forms" -- -I"$source/include" -std=c++17 >"$work/stdout" 2>"$work/stderr" ||
		{ grep -q 'without libclang' "$work/stderr" && lacks libclang-dev
		fail "no index: $(cat "$work/stderr")"; }
	for program in frames index/index calls; do
		"$HEAPWISE" run -q --dump "$work/dump" -o "$work/trace.hwt" "$work/$program" >/dev/null 2>"$work/stderr"
		"$HEAPWISE" types --chunks --top 0 --format json "$work/trace.hwt" 2>"$work/stderr" >"$work/json"
		jq -r '.chunks[] | select((.confidence == "likely" or .confidence == "exact") and .source != "vtable") |
			["found", .size, .count // 0, .type] | @tsv' "$work/json" | LC_ALL=C sort >"$work/sure"
		dumped "$work/dump" | grep ^found >"$work/dumped"
		diff "$work/sure" "$work/dumped" || fail "$program: types of the dump are not those that are sure"
		equal "$program: recorded types" "$(dumped "$work/dump" | grep -c ^recorded)" \
			"$(jq '[.chunks[] | select(.source == "vtable")] | length' "$work/json")"
		"$HEAPWISE" export --to heaplog "$work/trace.hwt" | cmp - "$work/dump" || fail "$program: the export is not the dump"
		"$HEAPWISE" import --from heaplog -o "$work/again.hwt" "$work/dump" 2>/dev/null || fail "$program: the dump cannot be read"
		equal "$program: types that come back" "$("$HEAPWISE" export --to heaplog "$work/again.hwt" | dumped /dev/stdin | cksum)" \
			"$(dumped "$work/dump" | cksum)"
		equal "$program: types with --no-types" "$("$HEAPWISE" export --no-types --to heaplog "$work/trace.hwt" | dumped /dev/stdin | grep -c ^found)" 0
		jq -r '.chunks[] | select(.confidence != "guess") | .source' "$work/json" | sort | uniq -c >"$work/sources"
		case $program in
		frames) says "$work/sources" frame ;;
		index/index) says "$work/sources" index ;;
		calls) says "$work/sources" dwarf ;;
		esac
	done
}

# Also a dump that a program asks for while it runs.
case_heaplog_asked()
{
	cat >"$work/asks.cpp" <<-END
	#include <heapwise/heapwise.h>
	#include <map>
	struct Leaf { long numbers[3]; };
	int main(int, char **argv)
	{
		std::map<int, Leaf> leaves;
		leaves[1] = leaves[2] = Leaf();
		return heapwise_dump(argv[1], 0);
	}
	END
	build "$work/asks" "$work/asks.cpp" -g -std=c++17
	"$HEAPWISE" run -q --no-symbols -o "$work/trace.hwt" "$work/asks" "$work/asked" || fail "no dump: status $?"
	equal "types" "$(dumped "$work/asked" | sort | uniq -c | xargs)" "2 found 64 0 std::map<int, Leaf> node"
}

# After the run, the trace tells types without the program's files: what the compiler wrote beside calls, sizes that types of source
# lines and vtables need. What it kept is what those files say.
case_alone()
{
	compiler=gcc
	build "$work/calls" "$source/tests/targets/call_types.c" -g0 "$source/tests/targets/call_types.S"
	compiler=g++
	build "$work/forms" "$source/tests/targets/types_forms.cpp" -g -std=c++17
	build "$work/vtables" "$source/tests/targets/vtables.cpp" -g -std=c++17
	for program in calls forms vtables; do
		"$HEAPWISE" run -q -o "$work/$program.hwt" "$work/$program" >/dev/null 2>"$work/stderr"
		told "$work/$program.hwt" "$work/$program.before"
		"$HEAPWISE" types --chunks --top 0 --debug-path "$work" --format json "$work/$program.hwt" >"$work/live" 2>&1
		"$HEAPWISE" types --chunks --top 0 --format json "$work/$program.hwt" >"$work/kept" 2>&1
		cmp "$work/live" "$work/kept" || fail "$program: what was kept is not what the debug info says"
		rm "$work/$program"
		told "$work/$program.hwt" "$work/$program.after"
		cmp "$work/$program.before" "$work/$program.after" || fail "$program: types differ without its file"
	done
	grep -q '"dwarf"' "$work/calls.after" || fail "no type that the compiler wrote"
	grep -q '"source": *"line"' "$work/forms.after" || fail "no guess"
	grep -q '"source": *"vtable"' "$work/vtables.after" || fail "no vtable"
}

# Many threads that hand blocks to each other, with stamps that say nothing: each block has its own type.
case_threads()
{
	compiler=g++
	build "$work/threads" "$source/tests/targets/types_threads.cpp" -DHEAPWISE_TYPES -O1 -pthread
	"$HEAPWISE" run "$@" -o "$work/trace.hwt" "$work/threads" >"$work/said" 2>"$work/stderr"
	equal status $? 0
	"$HEAPWISE" trace dump "$work/trace.hwt" | awk '
	/^# type .* source declared / { name = $0; sub(/.* name /, "", name); type[$3] = name; next }
	/^#/ { next }
	$3 == "new" && $5 ~ /^(1040|1072|1104)$/ { size[$6] = $5 }
	END {
		want[1040] = "Small"; want[1072] = "Middle"; want[1104] = "Large"
		for (c in size) { all++; if (type[c] == want[size[c]]) right++; else if (c in type) wrong++ }
		print all + 0, right + 0, wrong + 0
	}' >"$work/counts"
	read -r all right wrong <"$work/counts"
	at_least "blocks" "$all" 20000
	equal "blocks with a wrong type" "$wrong" 0
	equal "blocks with their type" "$right" "$all"
}

declare -F "case_$case" >/dev/null || fail "there is no case $case"
"case_$case" "$@"
finish
