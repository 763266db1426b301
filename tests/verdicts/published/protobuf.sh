#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=churn,steps function=google::protobuf::RepeatedField,google::protobuf::Arena::CreateMaybeMessage,read_once
# source: Byma and Larus, Detailed Heap Profiling (Memoro), 5.2.1: messages that are read without an arena allocate all repeated fields and
#         parts anew.
. "$(dirname "$0")/lib"
needs protoc protobuf-compiler
needs_header google/protobuf/message_lite.h libprotobuf-dev
cases=$(dirname "$0")/../../../bench/cases
protoc --proto_path="$cases" --cpp_out=. "$cases/record.proto"
g++ -std=c++17 -O1 -g -I. -o records "$cases/records.cc" record.pb.cc -lprotobuf-lite -pthread
record ./records
