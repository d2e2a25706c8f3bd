"""Body parsers with limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class LimitedJsonParser(JSONParser):
    """JSON of at most API_BODY_MAX_BYTES; Django's own limit does not see bodies read as a stream."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The document. Raises RequestDataTooBig, or ParseError for what is no JSON or nested too deep."""
        request = (parser_context or {}).get("request")
        length = int(request.META.get("CONTENT_LENGTH") or 0) if request is not None else 0
        if length > settings.API_BODY_MAX_BYTES:
            raise RequestDataTooBig(f"a body of {length} bytes")
        try:
            return super().parse(stream, media_type, parser_context)
        except (RecursionError, UnicodeDecodeError) as error:
            raise ParseError(str(error)) from None
