#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: transfers Cookie
# source: https://curl.se/docs/CVE-2022-32205.html: a server may set any number of cookies, and curl keeps all of them. The limit of the fix is
#         taken back.
. "$(dirname "$0")/lib"
build_curl >build.log 2>&1
"$here/serve.py" '[f"Set-Cookie: name{i}={100 * chr(120)}" for i in range(8000)]' &
until_there port
scan_when ready "$PACKAGES/curl-unlimited/b/src/curl" -s -b none "http://127.0.0.1:$(cat port)/"
