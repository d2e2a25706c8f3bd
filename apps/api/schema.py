"""The OpenAPI document, read off the endpoints' declarations."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers


class FieldError(serializers.Serializer[Any]):
    """One value that is not right."""

    field = serializers.CharField(help_text="Where: `hours`, `workload.regions[1]`; empty for the whole.")
    code = serializers.CharField(help_text="Stable, for programs: `required`, `unknown`, `invalid` …")
    message = serializers.CharField()


class ErrorBody(serializers.Serializer[Any]):
    """What went wrong."""

    code = serializers.CharField(help_text="Stable, for programs.")
    message = serializers.CharField(help_text="One sentence for people, in the caller's language.")
    fields = FieldError(many=True)  # type: ignore[assignment]
    request_id = serializers.CharField(allow_null=True, help_text="Under which the log has this request.")


class ErrorAnswer(serializers.Serializer[Any]):
    """The shape of every error."""

    error = ErrorBody()


class EndpointSchema(AutoSchema):
    """Summary, parameters, body and answers of a view from its `endpoints`."""

    @property
    def _endpoint(self) -> Any:
        return cast(Any, self.view).endpoints[self.method]

    def get_operation_id(self) -> str:
        """`Keys_post`: the view's class and the method."""
        return f"{type(self.view).__name__}_{self.method.lower()}"

    def get_summary(self) -> str:
        """The declared sentence."""
        return str(self._endpoint.summary)

    def get_description(self) -> str:  # type: ignore[override]
        """The declared text and who may call."""
        endpoint = self._endpoint
        who = f"Role action: `{endpoint.action}`. Key scope: "
        who += "none, people only." if endpoint.scope is None else f"`{endpoint.scope}`."
        return f"{endpoint.description}\n\n{who}".strip()

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
        """The answer, and the error shape for what can go wrong."""
        endpoint = self._endpoint
        codes = [400, 401, 403, 429]
        if endpoint.body is not None:
            codes += [413, 415]
        if "{" in self.path or "page" in endpoint.query().fields:
            codes.append(404)
        codes += endpoint.refusals
        errors = dict.fromkeys(codes, ErrorAnswer)
        return {endpoint.status if endpoint.answer else 204: endpoint.answer, **errors}


class StrictBody(OpenApiSerializerExtension):
    """Strict serializers take no further fields."""

    target_class = "apps.api.strict.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """The object, closed."""
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
