// SPDX-License-Identifier: MIT
// Blocks outside of Java's heap, which are the C library's: 70,001 bytes, for which the machine asks in whole words. Beside them threads,
// exceptions that begin as signals, native libraries (zlib), and collections of garbage.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Known {
	static int caught;

	static int length(String text) {
		try {
			return text.length();
		} catch (NullPointerException none) {
			caught++;
			return 0;
		}
	}

	public static void main(String[] arguments) throws Exception {
		List<ByteBuffer> blocks = new ArrayList<>();
		for (int i = 0; i < 200; i++)
			blocks.add(ByteBuffer.allocateDirect(70001));
		long sum = 0;
		for (int i = 0; i < 200000; i++)
			sum += length(i % 1000 == 0 ? null : "text" + i);
		System.out.println(sum + " " + caught);

		byte[] text = "a text to be packed, ".repeat(5000).getBytes();
		List<Thread> threads = new ArrayList<>();
		long[] packed = new long[8];
		for (int i = 0; i < 8; i++) {
			int number = i;
			Thread thread = new Thread(() -> {
				Deflater deflater = new Deflater(1 + number);
				deflater.setInput(text);
				deflater.finish();
				packed[number] = deflater.deflate(new byte[200000]) > 0 ? 1 : 0;
				deflater.end();
			});
			threads.add(thread);
			thread.start();
		}
		for (Thread thread : threads)
			thread.join();
		CRC32 crc = new CRC32();
		crc.update(text);
		System.out.println(IntStream.range(0, 8).mapToLong(i -> packed[i]).sum() + " " + crc.getValue());
		for (int i = 0; i < 20; i++)
			if (new byte[4 << 20].length == 0)
				return;
		System.gc();
		System.out.println("truth " + blocks.size() + " 0");
		System.exit(6);
	}
}
