# SPDX-License-Identifier: Apache-2.0
"""A daemon that says what a test wants: one thread, one Unix socket, one handler.

The handler gets (method, path, headers, body) and returns the bytes of the whole answer, an
iterable of pieces, or None to hang up without a word. `requests` keeps what was asked."""

import json
import os
import socket
import threading


def answer(status, body, kind="application/json"):
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode() + body


def problem(status, code, detail, field=""):
    return answer(status, {"code": code, "detail": detail, "field": field, "status": status,
                           "title": "X"}, "application/problem+json")


class FakeDaemon:
    def __init__(self, path, handler):
        self.path, self.handler, self.requests = str(path), handler, []
        self.errors = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                try:
                    self.converse(peer)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                except Exception as e:  # a test's own mistake must be seen
                    self.errors.append(repr(e))

    def converse(self, peer):
        data = b""
        while b"\r\n\r\n" not in data:
            more = peer.recv(65536)
            if not more:
                return
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        while len(body) < int(headers.get("content-length", 0)):
            body += peer.recv(65536)
        self.requests.append((method, path, headers, body))
        pieces = self.handler(method, path, headers, body)
        if isinstance(pieces, bytes):
            pieces = [pieces]
        for piece in pieces or []:
            peer.sendall(piece)
