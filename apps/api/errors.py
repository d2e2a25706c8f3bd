"""One error shape: {"error": {"code", "message", "fields": [{"field", "code", "message"}], "request_id"}}.

`code` is stable and for programs, `message` is for people and translated. docs/api.md lists the codes.
"""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from finops.redact import redact

log = structlog.get_logger(__name__)


class Refused(exceptions.APIException):
    """A refusal with its own status and stable code."""

    status_code = 400
    default_code = "refused"

    def __init__(self, message: str, *, code: str, status: int = 400) -> None:
        super().__init__(message, code)
        self.status_code = status


# Codes of DRF's own exceptions, by class; a Refused brings its own.
CODES: dict[type[exceptions.APIException], str] = {
    exceptions.ParseError: "unreadable_body",
    exceptions.NotAuthenticated: "not_signed_in",
    exceptions.AuthenticationFailed: "key_refused",
    exceptions.PermissionDenied: "not_allowed",
    exceptions.NotFound: "not_found",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "too_many_requests",
}


def envelope(code: str, message: str, fields: list[dict[str, str]] | None = None) -> dict[str, Any]:
    """The body of an error answer."""
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    told = [{name: _sent(text) for name, text in one.items()} for one in fields or []]
    return {"error": {"code": code, "message": _sent(message), "fields": told, "request_id": request_id}}


def _sent(text: str) -> str:
    """A text that UTF-8 can hold: half a pair that a body had would break the answer that quotes it."""
    return text.encode("utf-8", "replace").decode()


def _fields(detail: Any, path: str = "") -> list[dict[str, str]]:
    """Flatten nested error details: `workload.hours`, `regions[1]`; an error of the whole has field ''."""
    if isinstance(detail, dict):
        found = []
        for name, inner in detail.items():
            if name in {"non_field_errors", NON_FIELD_ERRORS}:
                where = path
            elif isinstance(name, int):
                where = f"{path}[{name}]"
            else:
                where = f"{path}.{name}" if path else str(name)
            found += _fields(inner, where)
        return found
    if isinstance(detail, list):
        found = []
        for index, inner in enumerate(detail):
            found += _fields(inner, f"{path}[{index}]" if isinstance(inner, dict) and inner else path)
        return found
    return [{"field": path, "code": getattr(detail, "code", "invalid"), "message": redact(str(detail))}]


def _invalid(detail: Any) -> dict[str, Any]:
    """Body of a 400 about fields: a single error is the message, several are counted."""
    fields = _fields(detail)
    if len(fields) == 1:
        name = fields[0]["field"]
        message = f"{name}: {fields[0]['message']}" if name else fields[0]["message"]
    else:
        words = ngettext("%(n)d value is not right.", "%(n)d values are not right.", len(fields))
        message = words % {"n": len(fields)}
    return envelope("invalid", message, fields)


def _translated(error: Exception) -> exceptions.APIException | None:
    """Django's exceptions as DRF's; None for one that nobody expected."""
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, Http404):
        return exceptions.NotFound(_("There is nothing at this address."))
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, RequestDataTooBig):
        return Refused(_("The body is too large."), code="too_large", status=413)
    if isinstance(error, DjangoValidationError):
        detail = error.message_dict if hasattr(error, "error_dict") else error.messages
        return exceptions.ValidationError(detail)
    return None


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every failure of a view in the one shape, an unexpected one logged and named
    500.
    """
    set_rollback()
    known = _translated(error)
    if known is None:
        log.exception("api_request_failed", exc_info=error)
        message = _("Something failed here. The log has it under this request id.")
        return Response(envelope("internal", message), status=500)
    headers = {}
    if challenge := getattr(known, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(known, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(known, exceptions.ValidationError):
        return Response(_invalid(known.detail), status=known.status_code, headers=headers)
    code = CODES.get(type(known)) or str(known.get_codes())
    if code == "not_allowed" and str(known.detail).startswith("CSRF"):
        code = "csrf_failed"
    return Response(envelope(code, str(known.detail)), status=known.status_code, headers=headers)


def missing(request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
    """An address below /api/ that is none."""
    return JsonResponse(envelope("not_found", _("There is nothing at this address.")), status=404)
