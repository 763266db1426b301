/* SPDX-License-Identifier: MIT
 * The third program of docs/TUTORIAL.md: keeps the last readings of 5,000 sensors and prints the warmest one. */
#include <cstdio>
#include <memory>
#include <vector>

static const int readings_kept = 24; /* one for each hour */

struct Sensor {
	int number;
	int next = 0;
	double readings[120];

	explicit Sensor(int number) : number(number) {}

	void add(double reading)
	{
		readings[next] = reading;
		next = (next + 1) % readings_kept;
	}

	double mean() const
	{
		double sum = 0;

		for (int i = 0; i < readings_kept; i++)
			sum += readings[i];
		return sum / readings_kept;
	}
};

int main()
{
	std::vector<std::unique_ptr<Sensor>> sensors;
	const Sensor *warmest = nullptr;

	for (int i = 0; i < 5000; i++)
		sensors.push_back(std::make_unique<Sensor>(i));
	for (int hour = 0; hour < 24 * 7; hour++)
		for (auto &sensor : sensors)
			sensor->add(15 + (sensor->number * 31 + hour) % 97 / 10.0);
	for (const auto &sensor : sensors)
		if (!warmest || sensor->mean() > warmest->mean())
			warmest = sensor.get();
	printf("sensor %d is the warmest: %.2f degrees on average\n", warmest->number, warmest->mean());
	return 0;
}
