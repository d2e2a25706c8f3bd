"""What a mail says, before it is HTML or plain text."""

from __future__ import annotations

from dataclasses import dataclass

from apps.reports.sections import Block

# Stands where each recipient's own link to unsubscribe goes; an address that exists nowhere (RFC 2606).
UNSUBSCRIBE = "https://unsubscribe.invalid/"


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the three figures below the sentence."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`finding` is the title, `measure` the line under it; `png` None: there is nothing to draw."""

    finding: str
    measure: str
    png: bytes | None


@dataclass(frozen=True, slots=True)
class Letter:
    """A report in words. `heading` has its figure between [[ and ]]; `sections`: blocks by name."""

    subject: str
    preheader: str
    edition: str
    heading: str
    lead: str
    figures: tuple[Figure, ...]
    chart: Chart | None
    sections: tuple[tuple[str, Block], ...]
    button: tuple[str, str]
    source: tuple[str, ...]
    schedule: str
    open_link: str
    change_link: str
    language: str

    @property
    def title(self) -> str:
        """The heading as plain text."""
        return self.heading.replace("[[", "").replace("]]", "")
