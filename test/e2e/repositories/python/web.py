"""POST /?text=… adds a job for the worker. GET / returns the last result of the worker."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from cache import cache


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(cache("GET", "result"))

    def do_POST(self):
        text = parse_qs(urlsplit(self.path).query)["text"][0]
        self.answer(cache("RPUSH", "jobs", text))

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
