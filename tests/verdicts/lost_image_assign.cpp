// SPDX-License-Identifier: MIT
// verdict: kind=lost function=Image::assign bytes=18419712 chunks=1499
// Images that are scaled step by step. The assignment makes new pixels and forgets the old ones.
#include "noise.h"
#include <algorithm>
#include <memory>
#include <vector>

namespace {

class Image
{
public:
	Image(unsigned width, unsigned height) : width_(width), height_(height), pixels_(new unsigned char[width * height]())
	{
	}
	~Image() { delete[] pixels_; }
	Image(const Image &) = delete;
	Image &operator=(const Image &) = delete;

	APART void assign(const Image &from)
	{
		width_ = from.width_;
		height_ = from.height_;
		pixels_ = new unsigned char[width_ * height_]; // the flaw: without delete[] before
		std::copy_n(from.pixels_, width_ * height_, pixels_);
	}

	void brighten(unsigned by)
	{
		for (unsigned i = 0; i < width_ * height_; i += 3)
			pixels_[i] = static_cast<unsigned char>(pixels_[i] + by);
	}

	unsigned sum() const
	{
		unsigned sum = 0;

		for (unsigned i = 0; i < width_ * height_; i += 7)
			sum += pixels_[i];
		return sum;
	}

private:
	unsigned width_, height_;
	unsigned char *pixels_;
};

struct Job {
	std::unique_ptr<Image> from;
	unsigned steps;
};

std::unique_ptr<Job> next_job(unsigned number)
{
	return std::unique_ptr<Job>(new Job{std::unique_ptr<Image>(new Image(128, 96)), number % 3});
}

} // namespace

int main()
{
	Image shown(128, 96);
	unsigned total = 0;

	noise_start();
	for (unsigned i = 0; i < 1500; i++) {
		auto job = next_job(i);

		job->from->brighten(i);
		shown.assign(*job->from);
		total += shown.sum();
		for (unsigned k = 0; k < 8; k++)
			noise_turn(i + k);
	}
	printf("%u\n", total);
	noise_end();
}
