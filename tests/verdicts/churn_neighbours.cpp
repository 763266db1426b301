// SPDX-License-Identifier: MIT
// verdict: kind=churn function=neighbours calls=2400000
// A search for short paths in a grid: the neighbours of a field are returned in a new vector each time.
#include "noise.h"
#include <vector>

namespace {

constexpr int side = 200;

struct Grid {
	std::vector<unsigned char> walls = std::vector<unsigned char>(side * side);
	std::vector<int> distance = std::vector<int>(side * side);
};

APART std::vector<int> neighbours(int field)
{
	std::vector<int> result(4, -1); // the flaw: four numbers fit into an array on the stack
	int x = field % side, y = field / side;

	if (x > 0)
		result[0] = field - 1;
	if (x < side - 1)
		result[1] = field + 1;
	if (y > 0)
		result[2] = field - side;
	if (y < side - 1)
		result[3] = field + side;
	return result;
}

void fill(Grid &grid)
{
	for (auto &wall : grid.walls)
		wall = noise_random() % 16 == 0;
	grid.walls[0] = 0;
}

int furthest(Grid &grid, std::vector<int> &queue)
{
	grid.distance.assign(grid.distance.size(), -1);
	queue.clear();
	queue.push_back(0);
	grid.distance[0] = 0;
	for (size_t i = 0; i < queue.size(); i++)
		for (int next : neighbours(queue[i])) {
			if (next < 0 || grid.walls[next] || grid.distance[next] >= 0)
				continue;
			grid.distance[next] = grid.distance[queue[i]] + 1;
			queue.push_back(next);
		}
	return grid.distance[queue.back()];
}

} // namespace

int main()
{
	Grid grid;
	std::vector<int> queue;
	long sum = 0;

	noise_start();
	queue.reserve(side * side);
	for (unsigned i = 0; i < 64; i++) {
		fill(grid);
		sum += furthest(grid, queue);
		for (unsigned k = 0; k < 50; k++)
			noise_turn(i * 50 + k);
	}
	printf("%ld\n", sum);
	noise_end();
}
