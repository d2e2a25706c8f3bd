"""The installation's own hand: an endpoint called from the command line instead of over HTTP."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.test import RequestFactory
from django.urls import Resolver404, resolve

from apps.accounts.models import Membership, Organisation
from apps.api.endpoint import ApiView, Operator

PREFIX = "/api/v1/"


class NoEndpointError(Exception):
    """The address is none of the API."""


@dataclass(frozen=True)
class Called:
    """What an endpoint answered: its status and document (None for an answer without one)."""

    status: int
    document: Any


def call(
    method: str,
    address: str,
    *,
    organisation: Organisation,
    membership: Membership | None = None,
    body: Any = None,
) -> Called:
    """The endpoint's answer, with its checks of query and body. `membership`: as this person and with their
    role; without one as the installation, which may do everything that needs no person.

    Raises NoEndpointError.
    """
    address = address if address.startswith(PREFIX) else PREFIX + address.lstrip("/")
    try:
        found = resolve(address.partition("?")[0])
    except Resolver404 as error:
        raise NoEndpointError(address) from error
    if not issubclass(getattr(found.func, "cls", object), ApiView):
        raise NoEndpointError(address)
    request = _request(method, address, body)
    if membership is not None:
        request.user = membership.user
        request.membership = membership  # type: ignore[attr-defined]
        request._force_auth_user = membership.user  # type: ignore[attr-defined]
    else:
        operator = Operator(organisation, f"operator-{os.getpid()}")
        request._force_auth_user = operator  # type: ignore[attr-defined]
        request._force_auth_token = operator  # type: ignore[attr-defined]
    response = found.func(request, *found.args, **found.kwargs)
    response.render()
    return Called(response.status_code, json.loads(response.content) if response.content else None)


def _request(method: str, address: str, body: Any) -> HttpRequest:
    content = b"" if body is None else json.dumps(body).encode()
    request = RequestFactory().generic(method, address, content, "application/json")
    request.user = AnonymousUser()
    request.membership = None  # type: ignore[attr-defined]
    return request
