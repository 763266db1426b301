/* SPDX-License-Identifier: MIT
 * The second program of docs/TUTORIAL.md: counts the requests of a web server's log by status. */
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static std::vector<std::string> split(const std::string &line)
{
	std::vector<std::string> fields;
	size_t begin = 0;

	for (size_t end; (end = line.find(' ', begin)) != std::string::npos; begin = end + 1)
		fields.push_back(line.substr(begin, end - begin));
	fields.push_back(line.substr(begin));
	return fields;
}

static int status_of(const std::string &line)
{
	return std::stoi(split(line)[4]);
}

int main()
{
	std::vector<std::string> log;
	std::map<int, int> requests;

	for (int i = 0; i < 50; i++)
		log.push_back("192.168.100." + std::to_string(100 + i) + " 2026-11-17T12:00:00Z GET /articles/2026/november/" +
			      std::to_string(i) + (i % 10 == 0 ? " 404 512" : " 200 20480"));
	for (int i = 0; i < 300000; i++)
		requests[status_of(log[i % log.size()])]++;
	for (const auto &row : requests)
		printf("%d: %d requests\n", row.first, row.second);
	return 0;
}
