#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: ^records expand_hashtable|ARR_|Record
# source: https://nvd.nist.gov/vuln/detail/CVE-2010-0293: chronyd remembers every client, without a limit. The limit of the fix is taken back with the
#         program's own option.
. "$(dirname "$0")/lib"
chrony=$PACKAGES/chrony
if source_of chrony chrony; then
	(cd "$chrony" && CFLAGS="-O1 -g" ./configure --disable-readline --disable-nts --disable-sechash --disable-privdrop --without-seccomp \
		--disable-asyncdns --without-gnutls && make -j"$(nproc)" chronyd) >build.log 2>&1
fi
python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >port
cat >conf <<END
port $(cat port)
bindaddress 127.0.0.1
allow all
cmdport 0
bindcmdaddress /
local
clientloglimit 1000000000
pidfile $PWD/pid
END
(
	until_there pid
	python3 - <<'END'
import socket
for i in range(10000):
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.bind((f"127.1.{i // 250}.{1 + i % 250}", 0))
        client.sendto(b"\x23" + bytes(47), ("127.0.0.1", int(open("port").read())))
        if i % 50 == 0:  # it keeps up
            client.settimeout(10)
            client.recv(100)
END
	touch ready
	until_there scanned
	kill "$(cat pid)"
) &
scan_when ready "$chrony/chronyd" -d -x -U -u "$(id -un)" -f conf
