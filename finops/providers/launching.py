"""Where launches go: the protocol of every executor and how it says that a call failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from finops.frames.launches import LaunchCall, Machine, Tried
from finops.providers.base import ProviderError


class LaunchRefusedError(ProviderError):
    """Nothing was launched by this call; `code` is the provider's, for the table of launch errors."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class LaunchOutcomeUnknownError(ProviderError):
    """No clear answer came: it may have been launched. Look, or send the same token again."""


class Executor(Protocol):
    """A place to run machines. Every call may raise ProviderError besides what is named."""

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """Start one machine; the same token with the same call gives the same machine.

        Raises LaunchRefusedError and LaunchOutcomeUnknownError.
        """

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """Machines with all of these tags, as far as they show already; ended ones while they show."""

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """What the place says to this call; nothing is launched."""

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """Machines by what we stored of them: the id, or where that is "" the token of their call; whatever
        their tags say. What a place cannot look up so is not in it.
        """

    def end(self, machine_id: str, *, now: datetime) -> None:
        """End a machine; one that is ended or gone is no error."""
