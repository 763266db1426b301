# SPDX-License-Identifier: MIT
# Servers of ClickHouse on the loopback, with folders of their own, for tests and benchmarks; sourced.
#   servers_start FOLDER COUNT   starts them; their HTTP ports are in http_ports[0] …
#   server_stop N, server_start N
#   servers_stop                 all of them
# User "fleet" has the password "pass:word". The cluster of all of them is called "fleet".
PATH=$PATH:/usr/sbin # where Debian has the server, and not every user looks
server_folder=
server_count=0
server_pids=()
http_ports=()
tcp_ports=()

# Ports that nobody has: the kernel gives them, and they are free again a moment later.
free_ports()
{
	python3 -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])' "$1"
}

server_config()
{
	local folder=$server_folder/$1 i
	mkdir -p "$folder/data" "$folder/tmp"
	{
		echo "<yandex><logger><level>warning</level><log>$folder/log</log><errorlog>$folder/errors</errorlog></logger>"
		echo "<listen_host>127.0.0.1</listen_host><http_port>${http_ports[$1]}</http_port><tcp_port>${tcp_ports[$1]}</tcp_port>"
		echo "<path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path><mark_cache_size>268435456</mark_cache_size>"
		echo "<users_config>users.xml</users_config><default_profile>default</default_profile>"
		echo "<default_database>default</default_database><remote_servers><fleet>"
		for ((i = 0; i < server_count; i++)); do
			echo "<shard><replica><host>127.0.0.1</host><port>${tcp_ports[i]}</port></replica></shard>"
		done
		echo "</fleet></remote_servers></yandex>"
	} >"$folder/config.xml"
	cat >"$folder/users.xml" <<-XML
		<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		<fleet><password>pass:word</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet>
		</users></yandex>
	XML
}

server_start()
{
	local i
	# Files that whoever started us holds, such as locks, are not theirs.
	setsid bash -c 'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -lt 3 ] || eval "exec $fd>&-"; done; exec clickhouse-server --config-file="$1"' - \
		"$server_folder/$1/config.xml" >"$server_folder/$1/out" 2>&1 </dev/null &
	server_pids[$1]=$!
	for ((i = 0; i < 600; i++)); do
		[ "$(curl -s "http://127.0.0.1:${http_ports[$1]}/")" = "Ok." ] && return
		kill -0 "${server_pids[$1]}" 2>/dev/null || break
		sleep 0.1
	done
	echo "server $1 did not start: $(tail -3 "$server_folder/$1/errors")" >&2
	return 1
}

server_stop()
{
	[ -n "${server_pids[$1]:-}" ] || return 0
	kill -9 "${server_pids[$1]}" 2>/dev/null
	wait "${server_pids[$1]}" 2>/dev/null
	server_pids[$1]=
}

servers_stop()
{
	local i
	for ((i = 0; i < server_count; i++)); do
		server_stop "$i"
	done
}

servers_start()
{
	local ports i
	server_folder=$1 server_count=$2
	read -r -a ports <<<"$(free_ports $((2 * server_count)))"
	for ((i = 0; i < server_count; i++)); do
		http_ports[i]=${ports[2 * i]}
		tcp_ports[i]=${ports[2 * i + 1]}
	done
	for ((i = 0; i < server_count; i++)); do
		server_config "$i"
		server_start "$i" || return 1
	done
}

# server_ask N SQL
server_ask()
{
	curl -s "http://127.0.0.1:${http_ports[$1]}/" --data-binary "$2"
}
