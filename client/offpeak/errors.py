"""How the program ends when there is no verdict."""

from __future__ import annotations

FAILED, USAGE, REFUSED = 1, 2, 3


class EndError(Exception):
    """The end of the program: what to say and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
