"""Body parsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJsonParser(JSONParser):
    """JSON without NaN and Infinity; every unreadable document is the caller's error."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The document. Raises ParseError for what is no JSON or nested too deep."""
        try:
            return super().parse(stream, media_type, parser_context)
        except (RecursionError, UnicodeDecodeError) as error:
            raise ParseError(str(error)) from None
