"""The OpenAPI document, read off the endpoints' declarations."""

from __future__ import annotations

import inspect
from typing import Any, cast

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from apps.api.errors import PROBLEM


class FieldError(serializers.Serializer[Any]):
    """One value that is not right."""

    field = serializers.CharField(help_text="Where: `hours`, `workload.regions[1]`; empty for the whole.")
    code = serializers.CharField(help_text="Stable, for programs: `required`, `unknown`, `invalid` …")
    message = serializers.CharField()


class ErrorBody(serializers.Serializer[Any]):
    """The problem under the names that answers had before they were problem documents."""

    code = serializers.CharField(help_text="Stable, for programs.")
    message = serializers.CharField(help_text="One sentence for people, in the caller's language.")
    fields = FieldError(many=True)  # type: ignore[assignment]
    request_id = serializers.CharField(allow_null=True, help_text="Under which the log has this request.")


class ProblemField(serializers.Serializer[Any]):
    """One value that is not right."""

    field = serializers.CharField(help_text="Where: `hours`, `workload.regions[1]`; empty for the whole.")
    pointer = serializers.CharField(
        allow_null=True, help_text="JSON pointer into the body, `#/workload/regions/1`; null in an address."
    )
    code = serializers.CharField(help_text="Stable, for programs: `required`, `unknown`, `invalid` …")
    detail = serializers.CharField(help_text="One sentence for people, in the caller's language.")


class Problem(serializers.Serializer[Any]):
    """The shape of every error: problem details (RFC 9457)."""

    type = serializers.CharField(help_text="`urn:offpeak:problem:<code>`; codes are stable, for programs.")
    title = serializers.CharField(help_text="What the status means, in the caller's language.")
    status = serializers.IntegerField(help_text="The answer's HTTP status.")
    detail = serializers.CharField(help_text="One sentence for people, in the caller's language.")
    instance = serializers.CharField(help_text="The address that was asked, without its query.")
    errors = ProblemField(many=True)  # type: ignore[assignment]
    request_id = serializers.CharField(allow_null=True, help_text="Under which the log has this request.")
    error = ErrorBody()


# Statuses that every endpoint can answer with; 304 has no body.
ALWAYS = (400, 401, 403, 406, 429, 500)
WRITES = frozenset({"POST", "PUT", "PATCH"})


class EndpointSchema(AutoSchema):
    """Summary, parameters, body and answers of a view from its `endpoints`."""

    @property
    def _endpoint(self) -> Any:
        return cast(Any, self.view).endpoints[self.method]

    def get_operation_id(self) -> str:
        """`Keys_post`: the view's class and the method."""
        return f"{type(self.view).__name__}_{self.method.lower()}"

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """The class with its module before it: the same name stands for other things in other areas."""
        kind = type(serializer)
        area = kind.__module__.rpartition(".")[2] if kind.__module__.startswith("apps.api.views.") else ""
        name = "".join(part.capitalize() for part in area.split("_")) + kind.__name__
        return name

    def get_summary(self) -> str:
        """The declared sentence."""
        return str(self._endpoint.summary)

    def get_description(self) -> str:  # type: ignore[override]
        """The declared text, else what the view is and answers, and who may call."""
        endpoint = self._endpoint
        handler = getattr(self.view, self.method.lower())
        text = endpoint.description or " ".join(
            inspect.getdoc(told) or "" for told in (type(self.view), handler)
        )
        who = f"Role action: `{endpoint.action}`. Key scope: "
        who += "none, people only." if endpoint.scope is None else f"`{endpoint.scope}`."
        return f"{text}\n\n{who}".strip()

    def get_tags(self) -> list[str]:
        """The view's area."""
        return [cast(Any, self.view).tag]

    def get_override_parameters(self) -> list[Any]:
        """The strict query's fields."""
        query = self._endpoint.query
        return [query] if query().fields else []

    def get_filter_backends(self) -> list[Any]:
        """None: parameters are declared."""
        return []

    def get_request_serializer(self) -> Any:
        """The strict body."""
        return self._endpoint.body

    def get_response_serializers(self) -> Any:
        """The answer, and the problem document for what can go wrong."""
        endpoint = self._endpoint
        codes = [*ALWAYS]
        if self.method in WRITES:
            codes += [409, 413, 415]
        if "{" in self.path or "page" in endpoint.query().fields:
            codes.append(404)
        codes += endpoint.refusals
        errors = {(str(code), PROBLEM): Problem for code in sorted(set(codes))}
        status = str(endpoint.status if endpoint.answer else 204)
        return {(status, *endpoint.media) if endpoint.media else status: endpoint.answer, **errors}


class StrictBody(OpenApiSerializerExtension):
    """Strict serializers take no further fields."""

    target_class = "apps.api.strict.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """The object, closed."""
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
