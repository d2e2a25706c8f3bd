"""Which role a page needs: one decorator a view, one exception that says who can help."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

from apps.accounts.models import Membership, Organisation
from apps.accounts.roles import Action, allowed, who_may
from apps.accounts.selectors import admin_emails

View = Callable[..., HttpResponseBase]


class NotAllowed(PermissionDenied):
    """The role does not hold the action; the text names the roles that do and whom to ask."""


def refusal(action: Action, organisation: Organisation | None) -> str:
    """The sentence for somebody who may not: which role it takes and whom to ask."""
    if organisation is None:
        return _("Your account belongs to no organisation yet. Ask an admin to add you.")
    roles = _(" or ").join(str(role.label).lower() for role in who_may(action))
    admins = _(" or ").join(admin_emails(organisation))
    if not admins:
        return _("This needs the role %(roles)s.") % {"roles": roles}
    return _("This needs the role %(roles)s. Ask %(admins)s.") % {"roles": roles, "admins": admins}


def check(membership: Membership | None, action: Action) -> None:
    """Raise NotAllowed unless the member may do `action`."""
    if not allowed(membership, action):
        raise NotAllowed(refusal(action, membership.organisation if membership else None))


def access(action: Action) -> Callable[[View], View]:
    """Decorate a page with the action it needs; the page answers 403 (template 403.html) to everybody else.

    >>> @access(Action.LOAD_DATA)
    ... def upload(request): ...
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            check(getattr(request, "membership", None), action)
            return view(request, *args, **kwargs)

        guarded.required_action = action  # type: ignore[attr-defined]
        return guarded

    return decorate
