"""One error shape: problem details (RFC 9457, application/problem+json) with our stable code.

`{"type": "urn:offpeak:problem:<code>", "title", "status", "detail", "instance": <path>, "errors": [{"field",
"pointer", "code", "detail"}], "request_id", "error": {...}}`. `error` says the same under the names that
answers had before (`code`, `message`, `fields`, `request_id`); pipelines read it. `code` is for programs,
`title` and `detail` are for people and translated. docs/api.md lists the codes.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import structlog
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from finops.redact import redact

log = structlog.get_logger(__name__)
PROBLEM = "application/problem+json"


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


def problem(
    code: str, message: str, *, status: int, path: str, fields: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The body of an error answer."""
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    told = [{name: _sent(text) for name, text in one.items()} for one in fields or []]
    before = [{name: one[name] for name in ("field", "code", "message")} for one in told]
    return {
        "type": f"urn:offpeak:problem:{code}",
        "title": title(status),
        "status": status,
        "detail": _sent(message),
        "instance": quote(redact(_sent(path)), safe="/"),
        "errors": [
            {"field": one["field"], "pointer": one["pointer"], "code": one["code"], "detail": one["message"]}
            for one in told
        ],
        "request_id": request_id,
        "error": {"code": code, "message": _sent(message), "fields": before, "request_id": request_id},
    }


def title(status: int) -> str:
    """What a status means, in few words: the same for every problem of that status."""
    known = {
        400: _("The request is not right"),
        401: _("Not signed in"),
        403: _("Not allowed"),
        404: _("Not found"),
        405: _("Method not allowed"),
        406: _("No answer in that form"),
        409: _("Not in this state"),
        413: _("Too large"),
        415: _("No such kind of body"),
        429: _("Too many requests"),
        502: _("The provider failed"),
    }
    return known.get(status) or (_("Failed here") if status >= 500 else _("Refused"))


def _sent(text: Any) -> Any:
    """A text that UTF-8 can hold: half a pair that a body had would break the answer that quotes it."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def _fields(detail: Any, path: str = "", pointer: str = "#") -> list[dict[str, Any]]:
    """Flatten nested error details: `workload.hours`, `regions[1]`; an error of the whole has field ''.

    `pointer` says the same as a JSON pointer into the body (RFC 6901, as a fragment).
    """
    if isinstance(detail, dict):
        found = []
        for name, inner in detail.items():
            if name in {"non_field_errors", NON_FIELD_ERRORS}:
                found += _fields(inner, path, pointer)
                continue
            where = f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}" if path else str(name)
            found += _fields(inner, where, f"{pointer}/{_step(name)}")
        return found
    if isinstance(detail, list):
        found = []
        for index, inner in enumerate(detail):
            part = isinstance(inner, dict) and inner
            found += _fields(
                inner, f"{path}[{index}]" if part else path, f"{pointer}/{index}" if part else pointer
            )
        return found
    code = getattr(detail, "code", "invalid")
    return [{"field": path, "pointer": pointer, "code": code, "message": redact(str(detail))}]


def _step(name: object) -> str:
    """One step of a JSON pointer in a fragment."""
    return quote(_sent(str(name)).replace("~", "~0").replace("/", "~1"), safe="~")


def _invalid(detail: Any, *, path: str, body: bool) -> dict[str, Any]:
    """Body of a 400 about fields: a single error is the message, several are counted.

    `body`: the fields are the body's; those of an address have no pointer.
    """
    fields = _fields(detail)
    if not body:
        fields = [{**one, "pointer": None} for one in fields]
    if len(fields) == 1:
        name = fields[0]["field"]
        message = f"{name}: {fields[0]['message']}" if name else fields[0]["message"]
    else:
        words = ngettext("%(n)d value is not right.", "%(n)d values are not right.", len(fields))
        message = words % {"n": len(fields)}
    return problem("invalid", message, status=400, path=path, fields=fields)


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
    view, path = context.get("view"), context["request"].path
    known = _translated(error)
    if known is None:
        log.exception("api_request_failed", exc_info=error)
        return _answer(problem("internal", _failed(), status=500, path=path), {})
    headers = {}
    if challenge := getattr(known, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(known, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(known, exceptions.ValidationError):
        body = context["request"].method in {"POST", "PUT", "PATCH"} and hasattr(view, "query")
        return _answer(_invalid(known.detail, path=path, body=body), headers)
    code = CODES.get(type(known)) or str(known.get_codes())
    if code == "not_allowed" and str(known.detail).startswith("CSRF"):
        code = "csrf_failed"
    return _answer(problem(code, str(known.detail), status=known.status_code, path=path), headers)


def _failed() -> str:
    return _("Something failed here. The log has it under this request id.")


def _answer(document: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(document, status=document["status"], headers=headers, content_type=PROBLEM)


def _plain(code: str, message: str, *, status: int, request: HttpRequest) -> JsonResponse:
    document = problem(code, message, status=status, path=request.path)
    return JsonResponse(document, status=status, content_type=PROBLEM)


def missing(request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
    """An address below /api/ that is none."""
    return _plain("not_found", _("There is nothing at this address."), status=404, request=request)


def _of_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: what Django refuses before any view (a host that is none of ours, a broken cookie)."""
    if _of_api(request):
        return _plain("bad_request", _("The server cannot take this request."), status=400, request=request)
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    return missing(request) if _of_api(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500: a failure outside of the views, say in a middleware."""
    if _of_api(request):
        return _plain("internal", _failed(), status=500, request=request)
    return defaults.server_error(request)
