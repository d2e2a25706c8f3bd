"""Bills out as FOCUS files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import StrictQuery
from apps.billing.focus_download import MEDIA, download
from apps.billing.selectors.focus_rows import FORMATS, PERIODS
from apps.billing.selectors.spend_question import SpendError, question_of
from apps.billing.services.focus_export import ExportError
from finops.frames.focus_rules import VERSION, VERSIONS


class FocusQuery(StrictQuery):
    """What to export; names are those of the command line."""

    format = serializers.ChoiceField(choices=list(FORMATS), default=FORMATS[0])
    focus_version = serializers.ChoiceField(choices=list(VERSIONS), default=VERSION)
    period = serializers.ChoiceField(
        choices=list(PERIODS),
        default=PERIODS[0],
        help_text="charge: charges that begin in these days; billing: the bills of these months.",
    )

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            "from": serializers.CharField(max_length=10, help_text="First day, 2018-11-01."),
            "to": serializers.CharField(max_length=10, help_text="Day after the last one."),
            **super().get_fields(),
        }


class _FileOrError(DefaultContentNegotiation):
    """The answer is a file whatever the reader accepts, and `format` is a parameter like any other."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer of errors."""
        first = next(iter(renderers))
        return first, str(first.media_type)


class FocusExport(ApiView):
    """A FOCUS file of the organisation's bills."""

    content_negotiation_class = _FileOrError
    tag = "spend"
    endpoints = {
        "GET": Endpoint(
            summary="Bills as one FOCUS file, CSV or Parquet",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=FocusQuery,
            answer=OpenApiTypes.BINARY,
            media=MEDIA,
            refusals=(507,),
            description="The file. Headers: `X-Focus-Version`, `X-Rows`, `X-Focus-Conformant` and "
            "`X-Columns-Not-Available`, what the sources cannot give.",
        )
    }

    def get(self, request: Request) -> FileResponse:
        """The file, written first and sent whole."""
        try:
            window = question_of(start=self.query["from"], end=self.query["to"]).window
            return download(
                window=window,
                organisation=self.organisation,
                form=self.query["format"],
                version=self.query["focus_version"],
                period=self.query["period"],
            )
        except (ExportError, SpendError) as error:
            if isinstance(error, ExportError) and error.failed:
                raise Refused(error.message, code="not_written", status=507) from error
            raise serializers.ValidationError({error.field: [error.message]}) from error
