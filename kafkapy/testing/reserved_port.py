"""A port that stays reserved until it is released, whether or not a server listens on it."""

from __future__ import annotations

import socket


class ReservedPort:
    """A socket that is bound and never listens, so that the system assigns its port to no other socket.

    A server with SO_REUSEADDR can bind the port, too, and listen; while none does, connections are refused. So a
    killed broker can be restarted on its port, and clusters that start at the same time get different ports.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """`port` 0: any free one. Raises OSError if the port is in use, or the host is not an address of this
        machine."""
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            if port:
                self._refuse_if_taken(host, port)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError as error:
            self._socket.close()
            raise OSError(error.errno, f"{host}:{port} can't be used: {error.strerror}") from error
        self.host = host
        self.port: int = self._socket.getsockname()[1]

    @staticmethod
    def _refuse_if_taken(host: str, port: int) -> None:
        """Raise OSError if a server listens on the port.

        SO_REUSEADDR, so that connections of a former server in TIME_WAIT don't count.
        """
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def release(self) -> None:
        self._socket.close()
