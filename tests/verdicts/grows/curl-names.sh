#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: transfers Curl_share
# source: https://github.com/curl/curl/pull/11084: the cache of host names grows uncontrollably. The distribution's version is older than the fix.
. "$(dirname "$0")/lib"
build_curl >build.log 2>&1
"$here/serve.py" '[]' &
until_there port
{
	seq -f 'url = "http://host-%g.localhost:1/"' 3000
	echo "url = \"http://127.0.0.1:$(cat port)/\""
} >urls
scan_when ready "$PACKAGES/curl-unlimited/b/src/curl" -s -K urls
