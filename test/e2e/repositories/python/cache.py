"""A client of Redis for one command, which returns the last line of the reply."""

import os
import socket
from urllib.parse import urlsplit


def cache(*words):
    uri = urlsplit(os.environ["CACHE_URI"])
    request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    with socket.create_connection((uri.hostname, uri.port)) as connection:
        connection.sendall(request.encode())
        return connection.recv(65536).decode().split("\r\n")[-2]
