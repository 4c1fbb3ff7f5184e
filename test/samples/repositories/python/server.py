"""Answers every GET with a greeting, until SIGTERM."""

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"Hello from Python\n"
        self.send_response(200)
        self.send_header("content-type", "text/plain; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8000"))), Greeting).serve_forever()
