#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=steps,churn module=lua5.4,liblua5.4.so.0
# source: https://www.lua.org/pil/11.6.html: to append to a string in a loop makes a new one in each turn.
. "$(dirname "$0")/lib"
needs lua5.4
cat >append.lua <<'END'
for round = 1, 5 do
	local text = ""
	for i = 1, 5000 do
		text = text .. "line " .. i .. "\n"
	end
	print(#text)
end
END
record lua5.4 append.lua
