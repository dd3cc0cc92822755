"""An HTTPS server for tests that leaves no socket behind, whatever its clients do."""

from __future__ import annotations

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any


class HttpsServer(ThreadingHTTPServer):
    """A thread for each connection, which does its handshake, too."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext
    ) -> None:
        super().__init__(address, handler)
        self._context = context

    def get_request(self) -> tuple[socket, Any]:
        """Accept a connection; one that was reset meanwhile is closed here, since ``wrap_socket`` would leak it."""
        connection, address = self.socket.accept()
        try:
            connection.getpeername()
        except OSError:
            connection.close()
            raise
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away or trust another certificate."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
