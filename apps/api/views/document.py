"""The OpenAPI document and a page that lists it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.api.endpoint import ApiView, Endpoint


@lru_cache(maxsize=4)
def document(language: str | None) -> dict[str, Any]:
    """The OpenAPI 3 document; its texts are in `language`."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return schema


class Schema(ApiView):
    """The document as JSON."""

    tag = "document"
    endpoints = {
        "GET": Endpoint(
            summary="This document (OpenAPI 3)",
            action=Action.VIEW,
            scope="any",
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """The whole document."""
        return self.answer(document(get_language()))


@access(Action.VIEW)
def document_page(request: HttpRequest) -> HttpResponse:
    """Every endpoint with its parameters, as a plain page without scripts."""
    operations = [
        {**operation, "method": method.upper(), "path": path}
        for path, methods in document(get_language())["paths"].items()
        for method, operation in methods.items()
    ]
    return render(request, "api/document.html", {"operations": operations})
