<?php
// SPDX-License-Identifier: MIT
// What PHP does with its own heap (or, with USE_ZEND_ALLOC=0, with malloc): arrays, texts, patterns, closures, generators, exceptions.
function squares(int $n) { for ($i = 0; $i < $n; $i++) yield $i => $i * $i; }
$rows = [];
foreach (squares(20000) as $i => $square)
	$rows["key" . ($square % 997)][] = ["number" => $i, "text" => str_repeat("x", $i % 50)];
ksort($rows);
$text = json_encode($rows);
echo count(json_decode($text, true)), " ", strlen($text), " ", crc32($text), " ", preg_match_all('/x{9,}/', $text), "\n";
echo array_sum(array_map(fn($list) => count($list), $rows)), " ", hash("sha256", serialize($rows)), "\n";
try {
	intdiv(1, 0);
} catch (DivisionByZeroError $error) {
	echo get_class($error), "\n";
}
exit(7);
