// SPDX-License-Identifier: MIT
// verdict: kind=none
// A cache of at most 300 thumbnails that throws out the one that was used least recently. It fills at the start, and stays as large.
#include "noise.h"
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t limit = 300;

struct Thumbnail {
	unsigned id;
	std::vector<unsigned char> pixels;
};

class Cache
{
public:
	const Thumbnail &get(unsigned id)
	{
		auto found = where_.find(id);

		if (found == where_.end()) {
			order_.push_front(make(id));
			where_[id] = order_.begin();
			shrink();
		} else {
			order_.splice(order_.begin(), order_, found->second);
		}
		return order_.front();
	}

private:
	APART static Thumbnail make(unsigned id)
	{
		return {id, std::vector<unsigned char>(1200 + id % 64, static_cast<unsigned char>(id))};
	}
	void shrink()
	{
		if (order_.size() <= limit)
			return;
		where_.erase(order_.back().id);
		order_.pop_back();
	}
	std::list<Thumbnail> order_;
	std::unordered_map<unsigned, std::list<Thumbnail>::iterator> where_;
};

} // namespace

int main()
{
	Cache cache;
	unsigned long sum = 0;

	noise_start();
	for (unsigned i = 0; i < 18000; i++) {
		unsigned range = noise_random() % 4 ? 250 : 2000; // some are asked for often

		sum += cache.get(noise_random() % range).pixels[7];
		noise_turn(i);
	}
	printf("%lu\n", sum);
	noise_end();
}
