#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: hnametable hnamemem
# source: https://github.com/the-tcpdump-group/tcpdump/issues/13 and 189: the name of each address is kept for ever, with -n, too. As it is.
. "$(dirname "$0")/lib"
needs_header pcap/pcap.h libpcap-dev
if source_of tcpdump tcpdump; then
	(cd "$PACKAGES/tcpdump" && ./configure --without-crypto CFLAGS="-O2 -g" && make -j"$(nproc)") >build.log 2>&1
fi
python3 - <<'END'
import struct
with open("many.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for i in range(6000):
        packet = bytes.fromhex("020000000001020000000002 0800") + struct.pack(
            "!BBHHHBBHI4sHHHH", 0x45, 0, 28, i, 0, 64, 17, 0, (1 + i % 200) << 24 | i // 200 << 16 | 1, b"\x0a\xff\xff\xfe", 1000, 2000, 8, 0)
        file.write(struct.pack("<IIII", i, 0, len(packet), len(packet)) + packet)
END
record "$PACKAGES/tcpdump/tcpdump" -n -r many.pcap
