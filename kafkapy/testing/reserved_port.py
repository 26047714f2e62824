"""A port that is ours until we let go of it, whether or not a server listens on it at the moment."""

from __future__ import annotations

import socket


class ReservedPort:
    """A socket that is bound and never listens: the system gives its port to nobody, a server that sets SO_REUSEADDR may bind
    it too and listen, and while none does connections are refused. So a broker that is killed finds its port again, and
    clusters that start at the same moment get different ones.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """`port` 0: any that is free. `OSError` if the port is in use, or the host is none of this machine's."""
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
        """Another reservation would let us in; and connections of a former server that linger must not keep us out."""
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def release(self) -> None:
        self._socket.close()
