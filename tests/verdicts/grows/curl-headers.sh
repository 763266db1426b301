#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: transfers Curl_llist_element|Curl_header_store
# source: https://curl.se/docs/CVE-2023-38039.html: a server may send any number of headers, and curl keeps all of them. The patch of the fix
#         is taken back.
. "$(dirname "$0")/lib"
build_curl >build.log 2>&1
"$here/serve.py" '[f"X-Header-{i}: {100 * chr(120)}" for i in range(8000)]' &
until_there port
scan_when ready "$PACKAGES/curl-unlimited/b/src/curl" -s "http://127.0.0.1:$(cat port)/"
