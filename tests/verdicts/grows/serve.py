#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py LINES: a server on loopback for one request. It writes its port to the file "port", answers with the lines that a Python
expression gives, makes the file "ready", and ends the answer when the file "scanned" is there."""
import os
import socket
import sys
import time

with socket.create_server(("127.0.0.1", 0)) as server:
    with open("port.new", "w", encoding="ascii") as file:
        file.write(str(server.getsockname()[1]))
    os.rename("port.new", "port")
    connection, _ = server.accept()
    with connection:
        connection.recv(1 << 16)
        answer = ["HTTP/1.1 200 OK", *eval(sys.argv[1])]
        connection.sendall("".join(line + "\r\n" for line in answer).encode())
        time.sleep(1)
        open("ready", "w", encoding="ascii").close()
        while not os.path.exists("scanned"):
            time.sleep(0.1)
