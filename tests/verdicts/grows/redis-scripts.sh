#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: lctx lua_newstate|_dictExpand
# source: https://github.com/redis/redis/issues/1688, mended by https://github.com/redis/redis/pull/13108 in a later version: each text of EVAL is
#         kept for ever.
. "$(dirname "$0")/lib"
needs redis-server
needs redis-cli redis-tools
(
	until redis-cli -s "$PWD/socket" ping 2>/dev/null | grep -q PONG; do sleep 0.1; done
	seq -f 'eval "return %g -- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" 0' 4000 |
		redis-cli -s "$PWD/socket" >/dev/null
	touch ready
	until_there scanned
	redis-cli -s "$PWD/socket" shutdown nosave
) &
scan_when ready redis-server --port 0 --unixsocket "$PWD/socket" --save ""
