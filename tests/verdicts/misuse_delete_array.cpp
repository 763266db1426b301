// SPDX-License-Identifier: MIT
// verdict: kind=misuse function=release calls=300
// A mixer of sounds: buffers made by new[] go through a table of channels, and are given back by delete.
#include "noise.h"
#include <vector>

namespace {

constexpr unsigned samples = 512;

struct Channel {
	short *buffer = nullptr;
	unsigned volume = 0;
};

APART short *make_buffer(unsigned number)
{
	short *buffer = new short[samples];

	for (unsigned i = 0; i < samples; i++)
		buffer[i] = static_cast<short>(i * number);
	return buffer;
}

APART void release(Channel &channel)
{
	noise_last = channel.buffer;
	delete static_cast<short *>(noise_last); // the flaw: delete[]
	channel.buffer = nullptr;
}

long mix(const std::vector<Channel> &channels)
{
	long sum = 0;

	for (const Channel &channel : channels)
		for (unsigned i = 0; i < samples; i += 8)
			sum += channel.buffer[i] * static_cast<long>(channel.volume);
	return sum;
}

} // namespace

int main()
{
	long sum = 0;

	noise_start();
	for (unsigned i = 0; i < 100; i++) {
		std::vector<Channel> channels(3);

		for (unsigned k = 0; k < 3; k++) {
			channels[k].buffer = make_buffer(i + k);
			channels[k].volume = k + 1;
		}
		sum += mix(channels);
		for (Channel &channel : channels)
			release(channel);
		for (unsigned k = 0; k < 60; k++)
			noise_turn(i * 60 + k);
	}
	printf("%ld\n", sum);
	noise_end();
}
