# SPDX-License-Identifier: MIT
# Blocks of 1,237 bytes that Ruby asks malloc for, of which half are freed at once and the others at the end; threads, a fiber, exceptions and collections.
require "digest"
require "json"
require "zlib"

blocks = Array.new(600) { IO::Buffer.new(1237, IO::Buffer::INTERNAL) }
blocks.each_slice(2) { |first, _| first.free }

text = JSON.generate(Array.new(3000) { |i| {number: i, text: "x" * (i % 50)} })
puts JSON.parse(text).sum { |row| row["number"] }, Digest::SHA256.hexdigest(text), Zlib.inflate(Zlib.deflate(text)) == text
puts Array.new(8) { |i| Thread.new { (1..20_000).sum { |n| (n * i).to_s.size } } }.sum(&:value)
fiber = Fiber.new { 5.times { |i| Fiber.yield "f#{i}" * 1000 }; nil }
puts Array.new(5) { fiber.resume.size }.sum
GC.start
GC.compact if GC.respond_to?(:compact)
begin
  Integer("none")
rescue ArgumentError => error
  puts error.message
end
puts "truth 600 600"
$stdout.flush
blocks.size == 600 or abort
exit 5
