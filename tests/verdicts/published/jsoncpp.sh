#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=peak,growth function=Json::Value::operator,Json::Value::resolveReference,Json::OurReader::readArray
# source: https://github.com/open-source-parsers/jsoncpp/issues/433: nested arrays of numbers take seven times the size of their text.
. "$(dirname "$0")/lib"
needs_header jsoncpp/json/json.h libjsoncpp-dev
cat >load.cc <<'END'
#include <fstream>
#include <iostream>
#include <jsoncpp/json/json.h>

int main()
{
	std::ifstream file("surface.json");
	Json::Value surface;

	file >> surface;
	std::cout << surface["vertices"].size() << '\n';
}
END
g++ -std=c++17 -O1 -g -I/usr/include/jsoncpp -o load load.cc -ljsoncpp
awk 'BEGIN {
	for (i = 0; i < 20000; i++)
		printf "%s[[%d.25,%d.5,-35.75]]\n", i ? "," : "{\"vertices\": [", i, i
	print "]}"
}' >surface.json
record ./load
