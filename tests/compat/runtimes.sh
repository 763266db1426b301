# SPDX-License-Identifier: MIT
# Runtimes and servers of the distribution; sourced by compat.sh. What a program prints on both streams and how it ends is the same with
# and without Heapwise, and its traces are sound; where it counts blocks of its own, these are in the trace.

# only_debian   programs of the distribution, not what was installed beside them
only_debian()
{
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin TZ=UTC
	unset DISPLAY XDG_RUNTIME_DIR
}

# runs [OPTION...] -- COMMAND...   alone and recorded, errors included
runs()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf trace*
	alone "$@"
	recorded -q "${options[@]}" -- "$@"
	grep -v '^heapwise: ' stderr | diff alone.err - >difference || { fail "the program's errors are not the same:"; head -20 difference; }
	[ ! -d trace ] || { sound trace/*.hwt; return; }
	sound trace
}

case_python()
{
	local setting

	only_debian
	needs python3
	export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
	for setting in A=b PYTHONMALLOC=malloc; do
		runs -- env $setting python3 "$here/runtimes/known.py"
		outcome_is "$(truths alone.out)" trace
	done
	python3 --version
}

case_ruby()
{
	only_debian
	needs ruby
	runs -- ruby -W0 "$here/runtimes/known.rb"
	equal "status alone" "$alone_status" 5
	outcome_is "$(truths alone.out)" trace
	ruby --version
}

# Java asks for whole words: 70,008 bytes.
case_java()
{
	only_debian
	needs javac default-jdk-headless
	javac -d . "$here/runtimes/Known.java" 2>log || { cat log; fail "cannot be compiled"; finish; }
	block=70008
	runs -- java -cp . Known
	equal "status alone" "$alone_status" 6
	outcome_is "$(truths alone.out)" trace
	# The compiler itself, as one program with the class: reads thousands of classes.
	runs -- java "$here/runtimes/Known.java"
	outcome_is "$(truths alone.out)" trace
	java --version
}

case_cgo()
{
	only_debian
	needs go golang-go
	export GOCACHE=$work/cache GOFLAGS=-p=2 GOTOOLCHAIN=local GO111MODULE=off CGO_ENABLED=1 HOME=$work
	go build -o known "$here/runtimes/known.go" >log 2>&1 || { cat log; fail "cannot be compiled"; finish; }
	runs -- ./known
	equal "status alone" "$alone_status" 3
	outcome_is "$(truths alone.out)" trace
	go version
}

case_php()
{
	only_debian
	needs php php-cli
	for setting in A=b USE_ZEND_ALLOC=0; do
		runs -- env $setting php "$here/runtimes/known.php"
		equal "status alone" "$alone_status" 7
	done
	outcome_is "" trace
	php --version | head -n 1
}

# ---- servers ----

# open_heapwise   where servers that give up root can read it, too
open_heapwise()
{
	mkdir bin
	cp "$HEAPWISE" "$HEAPWISE_BUILD_DIR/libheapwise.so" bin
	HEAPWISE=$work/bin/heapwise
	chmod 755 "$work" bin
}

# recorded_pids   of all traces
recorded_pids()
{
	local trace

	for trace in trace/*.hwt; do
		"$HEAPWISE" report --no-symbols --format json "$trace" | jq .pid
	done | sort -u
}

# postgres_session   what several clients are answered, and the numbers of their processes in the file `pids`
postgres_session()
{
	local i client=(psql -h "$work/socket" -U "$owner" -X -d postgres)

	"${client[@]}" -q -f "$here/runtimes/load.sql" 2>&1
	for i in 1 2 3 4 5 6; do
		"${client[@]}" -qAt -c "select $i, count(*), sum(number) from rows where number > $i * 1000" -c "\\o |cat >>pids" \
			-c "select pg_backend_pid()" >"client.$i" 2>&1 &
		clients+=($!)
	done
	wait "${clients[@]}"
	cat client.*
}

# postgres_run DATA COMMAND...   the server, as who owns the data, from its start to its end
postgres_run()
{
	local data=$1 i server clients=()

	shift
	"${as_owner[@]}" "$@" "$postgres/postgres" -D "$data" -k "$work/socket" -c listen_addresses= -c fsync=off -c max_connections=20 \
		>"$data.log" 2>&1 &
	server=$!
	for ((i = 0; i < 600; i++)); do
		! "$postgres/pg_isready" -q -h "$work/socket" || break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	rm -f pids
	postgres_session >"$data.answers"
	kill -INT "$(head -n 1 "$data/postmaster.pid")"
	wait $server
	echo "ends with $?" >>"$data.answers"
}

case_postgres()
{
	local postgres owner=postgres as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)

	only_debian
	postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
	[ -x "$postgres/postgres" ] || lacks postgresql
	needs jq
	open_heapwise
	mkdir socket data
	[ "$(id -u)" -eq 0 ] || { as_owner=() owner=$(id -un); }
	[ "$(id -u)" -ne 0 ] || chown -R postgres socket data "$work"
	# Its making starts servers, too.
	"${as_owner[@]}" "$HEAPWISE" run -q --no-symbols --children -o made -- "$postgres/initdb" -D "$work/data/recorded" -U "$owner" --no-sync -A trust \
		>made.log 2>&1 || { tail -n 5 made.log; fail "initdb fails under Heapwise"; finish; }
	sound made/*.hwt
	cp -a data/recorded data/alone
	postgres_run "$work/data/alone"
	postgres_run "$work/data/recorded" "$HEAPWISE" run -q --no-symbols --children -o trace --
	diff data/alone.answers data/recorded.answers >difference || { fail "the answers are not the same:"; head -20 difference data/recorded.log; }
	at_least "lines of answers" "$(wc -l <data/alone.answers)" 40
	says data/alone.answers "^ends with 0$"
	equal "clients" "$(wc -l <pids)" 6
	recorded_pids >recorded.pids
	equal "processes of clients that are not recorded" "$(sort -u pids | comm -23 - recorded.pids)" ""
	outcome_is "" trace/*.hwt
	"$postgres/postgres" --version
	echo "$(ls trace | wc -l) processes"
}

# nginx_run NAME COMMAND...   a master and its workers, and in the middle of the load new workers for old ones
nginx_run()
{
	local name=$1 server i get=(curl -s --unix-socket "$work/socket" -w '%{http_code}\n')

	shift
	"$@" nginx -c "$work/nginx.conf" -p "$work" -e "$work/$name.errors" >"$name.log" 2>&1 &
	server=$!
	until_true test -S socket -a -s nginx.pid
	{
		"${get[@]}" "http://x/file?[1-300]"
		kill -HUP "$(cat nginx.pid)"
		sleep 1
		"${get[@]}" --compressed "http://x/file?[301-400]"
		"${get[@]}" "http://x/passed/file?[1-100]"
		"${get[@]}" "http://x/none" "http://x/moved"
		"${get[@]}" -o /dev/null --parallel "http://x/big?[1-60]" 2>/dev/null | sort
		"${get[@]}" -r 100-200 "http://x/big" | md5sum
	} >"$name.answers" 2>&1
	kill -QUIT "$(cat nginx.pid)"
	wait $server
	echo "ends with $?" >>"$name.answers"
	rm -f socket inner
}

case_nginx()
{
	only_debian
	needs nginx
	needs curl
	needs jq
	open_heapwise
	mkdir pages
	seq 1 2000 >pages/file
	seq 1 300000 >pages/big
	chmod 755 pages
	cat >nginx.conf <<-END
	daemon off;
	worker_processes 4;
	pid $work/nginx.pid;
	events { worker_connections 200; }
	http {
		access_log off;
		gzip on;
		gzip_types *;
		client_body_temp_path $work/body;
		proxy_temp_path $work/proxy;
		fastcgi_temp_path $work/fastcgi;
		uwsgi_temp_path $work/uwsgi;
		scgi_temp_path $work/scgi;
		server {
			listen unix:$work/socket;
			root $work/pages;
			location /passed/ { proxy_pass http://unix:$work/inner:/; }
			location /moved { return 301 http://x/file; }
		}
		server {
			listen unix:$work/inner;
			root $work/pages;
		}
	}
	END
	nginx_run alone
	nginx_run recorded "$HEAPWISE" run -q --no-symbols --children -o trace --
	cmp alone.answers recorded.answers || { fail "the answers are not the same:"; diff alone.answers recorded.answers | head -20; }
	says alone.answers "^ends with 0$"
	at_least "bytes of answers" "$(wc -c <alone.answers)" 3000000
	grep -E 'exited on signal|\[alert\]' recorded.errors && fail "a worker did not end well"
	equal "processes: the master and twice its workers" "$(ls trace | wc -l)" 9
	outcome_is "" trace/*.hwt
	nginx -v
}

# One command of each program of PROGRAMS.
case_programs()
{
	"$here/programs.sh" run each || fail "not all programs do what they do alone"
}
