# SPDX-License-Identifier: MIT
# http_sink.py FOLDER          keeps each POST in FOLDER: N.head and N.body; prints its port
# http_sink.py unpack FOLDER   takes the profiles out of the bodies: N.pprof
# The user answer_STATUS of ClickHouse is answered with that status and an empty body, answer_STATUS_endless with one that does not
# end, answer_STATUS_torn with one whose last line does not.
import base64, glob, http.server, json, re, sys


class Sink(http.server.BaseHTTPRequestHandler):
    count = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wanted = re.search(r"answer_(\d+)(_endless|_torn)?$", self.headers.get("X-ClickHouse-User", ""))
        if wanted:
            self.answer(int(wanted[1]), wanted[2])
            return
        if self.path.startswith(("/no/such", "/?")):
            self.send_error(404)
            return
        name = f"{sys.argv[1]}/{Sink.count}"
        Sink.count += 1
        with open(name + ".body", "wb") as out:
            out.write(body)
        with open(name + ".head", "w") as out:
            out.write(f"POST {self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, body):
        self.send_response(status)
        if status in (301, 302):
            self.send_header("Location", "/elsewhere")
        if body != "_endless":
            text = b"version\t1\nday" if body else b""
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"18446744073709551615\n" * 50000)
        except OSError:
            pass  # the other side has had enough

    def log_message(self, *words):
        pass


def unpack(folder):
    for path in glob.glob(folder + "/*.body"):
        with open(path, "rb") as file:
            body = file.read()
        with open(path[:-5] + ".head") as file:
            kind = [line for line in file if line.lower().startswith("content-type:")][0]
        if "json" in kind:
            profile = base64.b64decode(json.loads(body)["series"][0]["samples"][0]["rawProfile"])
        else:
            boundary = b"--" + kind.strip().split("boundary=")[1].encode()
            by_name = {}
            for part in body.split(boundary)[1:-1]:
                head, content = part[2:-2].split(b"\r\n\r\n", 1)
                by_name[head.split(b'name="')[1].split(b'"')[0].decode()] = content
            json.loads(by_name["sample_type_config"])
            profile = by_name["profile"]
        with open(path[:-5] + ".pprof", "wb") as out:
            out.write(profile)


if sys.argv[1] == "unpack":
    unpack(sys.argv[2])
else:
    server = http.server.HTTPServer(("127.0.0.1", 0), Sink)
    print(server.server_address[1], flush=True)
    server.serve_forever()
