"""Serializers that refuse what they do not know, and fields whose text forms are fixed.

Subclass `StrictSerializer` for bodies and `StrictQuery` for query parameters; plain `Serializer` is for
answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

MAX_PAGE_SIZE = 500


class StrictSerializer(serializers.Serializer[Any]):
    """A body in which an unknown field is an error that names it and the known ones."""

    def to_internal_value(self, data: Any) -> Any:
        """Validated values; the errors of known and unknown fields together."""
        problems: dict[str, Any] = {}
        if isinstance(data, Mapping):
            known = [name for name, field in self.fields.items() if not field.read_only]
            words = _("Unknown. Known: %(known)s.") % {"known": ", ".join(known) or "-"}
            problems = {str(name): [ErrorDetail(words, code="unknown")] for name in data if name not in known}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if isinstance(error.detail, dict):
                problems = {**problems, **error.detail}
            else:
                raise
        if problems:
            raise serializers.ValidationError(problems)
        return values


class StrictQuery(StrictSerializer):
    """Query parameters: unknown ones and repeats of a single-valued one are errors."""

    @classmethod
    def parse(cls, query: QueryDict) -> dict[str, Any]:
        """Validated values with defaults. Raises ValidationError by parameter."""
        fields = cls().fields
        many = {name for name, field in fields.items() if type(field) is serializers.ListField}
        repeated = {
            name: [ErrorDetail(_("Given more than once."), code="repeated")]
            for name, values in query.lists()
            if len(values) > 1 and name in fields and name not in many
        }
        if repeated:
            raise serializers.ValidationError(repeated)
        data = {name: query.getlist(name) if name in many else query[name] for name in query}
        serializer = cls(data=data)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)


class PageQuery(StrictQuery):
    """Parameters of every list."""

    page = serializers.IntegerField(
        min_value=1, max_value=1_000_000, default=1, help_text="Page number, from 1."
    )
    page_size = serializers.IntegerField(
        min_value=1, max_value=MAX_PAGE_SIZE, default=50, help_text="Rows a page."
    )


@extend_schema_field(OpenApiTypes.STR)
class CommaListField(serializers.ListField):
    """`a,b,c` in an address; a JSON list in a body. Empty parts are dropped."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """The parts, each through the child field."""
        if isinstance(data, str):
            data = [part.strip() for part in data.split(",") if part.strip()]
        return super().to_internal_value(data)


class UtcDateTimeField(serializers.DateTimeField):
    """ISO 8601 with an offset in, `Z` out. A time without an offset is refused: nobody knows which it is."""

    default_error_messages = {
        "naive": gettext_lazy("Add the offset: 2026-03-06T09:00:00Z or 2026-03-06T10:00:00+01:00."),
    }

    def enforce_timezone(self, value: datetime) -> datetime:
        """The time in UTC. Fails without an offset and outside the years that UTC can hold."""
        if value.tzinfo is None:
            self.fail("naive")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            self.fail("overflow")

    def to_representation(self, value: datetime | None) -> Any:
        """Seconds or microseconds, ending in Z."""
        return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


@extend_schema_field({"type": "string", "pattern": r"^\d{4}-\d{2}$", "example": "2026-03"})
class MonthField(serializers.DateField):
    """A month, of answers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(format="%Y-%m", **kwargs)


@extend_schema_field({"type": "string", "format": "decimal", "pattern": r"^-?\d{1,20}(\.\d{1,18})?$"})
class DecimalTextField(serializers.DecimalField):
    """A decimal string: a point, no grouping, no exponent, all digits kept. Binary floats are refused."""

    default_error_messages = {
        "float": gettext_lazy('Send decimals as strings: "12.5".'),
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=38, decimal_places=18, **kwargs)

    def to_internal_value(self, data: Any) -> Decimal:
        """The exact value of a string or a whole number."""
        if isinstance(data, (float, bool)):
            self.fail("float")
        return super().to_internal_value(data)

    def to_representation(self, value: Any) -> Any:
        """The digits."""
        return None if value is None else format(Decimal(value), "f")
