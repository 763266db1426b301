// SPDX-License-Identifier: MIT
// Native memory by functions of JavaScript, which are interpreted at first and then compiled. Blocks of 70001 bytes are
// nobody else's; all are kept, and how many there were is said.
"use strict";
const zlib = require("zlib");
const kept = [];

function leafAllocates(count)
{
	for (let i = 0; i < count; i++)
		kept.push(Buffer.allocUnsafeSlow(70001));
}

function middleCalls(count)
{
	leafAllocates(count);
	return kept.length;
}

function packs(text) { return zlib.deflateSync(text, { level: 1 }).length; }

let sum = 0;
for (let round = 0; round < 400; round++)
	sum += middleCalls(5);
for (let round = 0; round < 300; round++)
	sum += packs("x".repeat(1000)) > 0;
console.log("truth", kept.length, 0, sum);
