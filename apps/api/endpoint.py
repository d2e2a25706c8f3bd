"""What every endpoint is made of: a view with one declaration a method.

    class Keys(ApiView):
        tag = "keys"
        endpoints = {"GET": Endpoint(summary="…", action=Action.MANAGE_KEYS, scope=None,
        answer=page_of(KeyAnswer), query=PageQuery)}

        def get(self, request): ...

The declaration gives the permission (the action for a person, the scope for a key), the strict query and
body, and the OpenAPI document. A method without one is refused, and a test fails.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication, get_authorization_header
from rest_framework.exceptions import MethodNotAllowed, NotFound, PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import check
from apps.accounts.actors import Actor
from apps.accounts.models import ApiKey, Membership, Organisation, User
from apps.accounts.roles import Action, Scope
from apps.api import idempotency
from apps.api.authentication import ApiKeyAuthentication, refuse_key_in_address
from apps.api.errors import Refused
from apps.api.models import IdempotentCall
from apps.api.parsers import StrictJsonParser
from apps.api.schema import EndpointSchema
from apps.api.strict import StrictQuery, StrictSerializer
from apps.api.throttles import ActorThrottle

AnySerializer = type[serializers.BaseSerializer[Any]]


@dataclass(frozen=True)
class Endpoint:
    """One method of one address.

    `action` is what the person's role must hold; `scope` is what a key must hold: None closes the endpoint
    to keys, "any" lets every key in. `query` and `body` are strict; without them any parameter or field is
    an error. `refusals` are statuses beyond those that every endpoint has. `secret`: the answer is shown once
    and never kept. `media`: the types of a file, where the answer is one; () for JSON.
    """

    summary: str
    action: Action
    scope: Scope | str | None
    answer: AnySerializer | OpenApiTypes | None
    query: type[StrictQuery] = StrictQuery
    body: type[StrictSerializer] | None = None
    status: int = 200
    description: str = ""
    refusals: tuple[int, ...] = ()
    secret: bool = False
    media: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operator:
    """The installation itself, calling an endpoint from the command line (`apps.api.operators`)."""

    organisation: Organisation
    pk: str
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True


class _RepeatedError(Exception):
    """This write was done before; its answer is kept."""


class EndpointPermission(BasePermission):
    """Reads the view's declaration; what is not declared is refused."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True, or an exception that says what is missing."""
        ours = cast(ApiView, view)
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            raise MethodNotAllowed(method)
        endpoint = ours.endpoints.get(method)
        if endpoint is None:
            return False
        key = request.auth
        if isinstance(key, Operator):
            return True
        if isinstance(key, ApiKey):
            if endpoint.scope is None:
                raise PermissionDenied(_("This needs a person who is signed in, not a key."))
            if endpoint.scope != "any" and endpoint.scope not in key.scopes:
                raise PermissionDenied(_("The key lacks the scope %(scope)s.") % {"scope": endpoint.scope})
            return True
        if not request.user or not request.user.is_authenticated:
            return False
        _check_person(request, endpoint.action)
        return True


def _check_person(request: Request, action: Action) -> None:
    """Raise what keeps a signed-in person from it: their role, or a second factor that is asked for."""
    if getattr(request._request, "second_factor_missing", False):
        told = _("Your organisation asks for a second factor: set it up under Settings first.")
        raise Refused(told, code="second_factor_needed", status=403)
    check(getattr(request._request, "membership", None), action)


class ApiView(APIView):
    """Base of every endpoint; see the module's text for how to declare one.

    In a handler: `self.organisation`, `self.actor` (for services), `self.membership` (None for a key),
    `self.key` (None for a person), `self.query` and `self.body` (validated).
    """

    endpoints: ClassVar[dict[str, Endpoint]] = {}
    tag: ClassVar[str] = ""

    authentication_classes = [ApiKeyAuthentication, SessionAuthentication]
    permission_classes = [EndpointPermission]
    throttle_classes = [ActorThrottle]
    parser_classes: Sequence[type[Any]] = [StrictJsonParser]
    metadata_class = None
    schema = EndpointSchema()
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    organisation: Organisation
    membership: Membership | None
    actor: Actor
    key: ApiKey | None
    query: dict[str, Any]
    body: dict[str, Any]
    _once: IdempotentCall | None = None

    @property
    def endpoint(self) -> Endpoint:
        """The declaration of the method in hand."""
        return self.endpoints["GET" if self.request.method == "HEAD" else str(self.request.method)]

    def max_body(self) -> int:
        """Bytes that a body may have; looked at before anything of it is read."""
        return int(settings.API_BODY_MAX_BYTES)

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view; answers to GET have an ETag, and one that the caller has is a 304 without a body."""
        return conditional_page(super().as_view(**initkwargs))

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """The answer with what is left of the caller's requests of this minute; a keyed write is settled."""
        made = super().finalize_response(request, response, *args, **kwargs)
        if self._once is not None:
            idempotency.settle(self._once, made, secret=self.endpoint.secret)
        rate = getattr(getattr(request, "_request", request), "rate", None)
        if rate is not None:
            limit, left, seconds = rate
            made["RateLimit-Limit"] = str(limit)
            made["RateLimit-Remaining"] = str(left)
            made["RateLimit-Reset"] = str(seconds)
        return made

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, permit, count, then validate query and body."""
        refuse_key_in_address(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) > self.max_body():
            raise RequestDataTooBig("the body is too large")
        self._check_role_before_the_body(request)
        super().initial(request, *args, **kwargs)
        self.key = request.auth if isinstance(request.auth, ApiKey) else None
        if self.key is not None:
            self.membership, self.organisation = None, self.key.organisation
            self.actor = Actor.of_key(self.key)
        elif isinstance(request.auth, Operator):
            self.membership, self.organisation = None, request.auth.organisation
            self.actor = Actor.system("command line")
        else:
            membership = cast(Membership, request._request.membership)  # type: ignore[attr-defined]
            self.membership, self.organisation = membership, membership.organisation
            self.actor = Actor.of_user(cast(User, request.user))
        self.query = self.endpoint.query.parse(request.query_params)
        self.body = self._body(request)
        self._once = idempotency.claim(request, organisation=self.organisation, actor=self.actor)
        if self._once is not None and self._once.status is not None:
            raise _RepeatedError

    def handle_exception(self, exc: Exception) -> Response:
        """The kept answer of a write that was sent before, else the error in its shape."""
        if isinstance(exc, _RepeatedError):
            call, self._once = self._once, None
            assert call is not None  # noqa: S101 - it is raised with a call only
            return Response(call.document, status=call.status, headers={"Idempotency-Replayed": "true"})
        return super().handle_exception(exc)

    def _check_role_before_the_body(self, request: Request) -> None:
        """Refuse a person without the role now: the CSRF check reads the form, where its token may be."""
        person = request._request.user
        endpoint = self.endpoints.get(str(request.method))
        if endpoint is not None and person.is_authenticated and not get_authorization_header(request):
            _check_person(request, endpoint.action)

    def _body(self, request: Request) -> dict[str, Any]:
        """The validated body, {} for a method that takes none."""
        if request.method not in {"POST", "PUT", "PATCH"}:
            return {}
        serializer = (self.endpoint.body or StrictSerializer)(
            data=request.data, context={"request": request, "view": self}
        )
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)

    def answer(self, value: Any, **extra: Any) -> Response:
        """The value through the declared serializer, with the declared status."""
        answer = self.endpoint.answer
        if answer is None:
            return Response(status=204)
        data = value if isinstance(answer, OpenApiTypes) else _shown(answer, value, extra)
        return Response(data, status=self.endpoint.status)

    def page(self, rows: QuerySet[Any] | Sequence[Any]) -> Response:
        """One page of the rows; the query must be a PageQuery and the answer a `page_of`. 404 past the last
        page.
        """
        number, size = self.query["page"], self.query["page_size"]
        count = rows.count() if isinstance(rows, QuerySet) else len(rows)
        start = (number - 1) * size
        if start >= count and number > 1:
            raise NotFound(_("There is no page %(number)d.") % {"number": number})
        more = start + size < count
        found = list(rows[start : start + size])
        return self.answer(
            {
                "count": count,
                "page": number,
                "page_size": size,
                "next": self._page_address(number + 1) if more else None,
                "results": found,
            }
        )

    def _page_address(self, number: int) -> str:
        """This address with another page number."""
        query = self.request.query_params.copy()
        query["page"] = str(number)
        return self.request.build_absolute_uri(f"{self.request.path}?{query.urlencode()}")


_made = threading.local()


def _shown(answer: AnySerializer, value: Any, extra: dict[str, Any]) -> Any:
    """The value through the serializer; one of each class is made a thread, as making its fields takes longer
    than filling them.
    """
    if extra or value is None or not issubclass(answer, serializers.Serializer):
        return answer(value, **extra).data
    kept: dict[AnySerializer, Any] = _made.__dict__.setdefault("kept", {})
    if answer not in kept:
        kept[answer] = answer()
    return kept[answer].to_representation(value)


class UploadView(ApiView):
    """An endpoint that takes files too."""

    parser_classes = [StrictJsonParser, MultiPartParser]

    def max_body(self) -> int:
        """One file of UPLOAD_MAX_BYTES with the form around it."""
        if str(self.request.content_type).startswith("multipart/form-data"):
            return int(settings.UPLOAD_MAX_BYTES) + int(settings.API_BODY_MAX_BYTES)
        return super().max_body()


def page_of(row: AnySerializer) -> type[serializers.Serializer[Any]]:
    """The answer serializer of a list of `row`s."""
    return type(
        f"{row.__name__.removesuffix('Answer')}Page",
        (serializers.Serializer,),
        {
            "__module__": row.__module__,
            "count": serializers.IntegerField(help_text="Rows in all."),
            "page": serializers.IntegerField(help_text="Page number, from 1."),
            "page_size": serializers.IntegerField(help_text="Rows a page."),
            "next": serializers.URLField(allow_null=True, help_text="Address of the next page."),
            "results": row(many=True),
        },
    )


def found_or_404(rows: QuerySet[Any], **lookup: Any) -> Any:
    """The one row. Raises NotFound: also for a row of another organisation, so that ids tell nothing."""
    row = rows.filter(**lookup).first()
    if row is None:
        raise NotFound(_("There is nothing at this address."))
    return row


__all__ = ["ApiView", "Endpoint", "Refused", "UploadView", "found_or_404", "page_of"]
