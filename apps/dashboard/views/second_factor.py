"""The reader's own second factor, and for admins who must have one."""

from __future__ import annotations

from typing import Any, cast

import segno
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from apps.accounts.access import View, access
from apps.accounts.actors import Actor
from apps.accounts.forms import CodeForm
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Membership, RecoveryCode, SecondFactor
from apps.accounts.roles import Action
from apps.accounts.sealing import SealBrokenError, seal, unseal
from apps.accounts.services.second_factor import (
    PURPOSE,
    address_of_secret,
    member_second_factor_reset,
    new_secret,
    recovery_codes_renew,
    second_factor_enrol,
    second_factor_remove,
    second_factor_require,
)
from apps.accounts.sign_in import Guesses

# The secret that is being set up waits in the session, encrypted.
PENDING = "second_factor_pending"


def _before(view: View) -> View:
    """Open to somebody whose organisation asks for a second factor that they do not have yet."""
    view.before_second_factor = True  # type: ignore[attr-defined]
    return view


def _asked(request: HttpRequest) -> SignedInRequest:
    return cast(SignedInRequest, request)


def _pending(request: HttpRequest) -> str:
    """The secret that the page shows: the same until it is used."""
    try:
        return unseal(request.session[PENDING], purpose=PURPOSE)
    except (KeyError, SealBrokenError):
        secret = new_secret()
        request.session[PENDING] = seal(secret, purpose=PURPOSE)
        return secret


def _page(request: HttpRequest, status: int = 200, **extra: Any) -> HttpResponse:
    asked = _asked(request)
    factor = SecondFactor.objects.filter(user=asked.user).first()
    context: dict[str, Any] = {
        "page": "settings",
        "factor": factor,
        "form": extra.pop("form", None) or CodeForm(),
        "missing": asked.second_factor_missing and factor is None,
        "has_password": asked.user.has_usable_password(),
    }
    if factor is None and context["has_password"]:
        # There are no recovery codes yet.
        context["form"].fields["code"].help_text = _("Six digits from the app.")
        secret = _pending(request)
        code = segno.make(address_of_secret(asked.user, secret), error="m")
        picture = code.svg_inline(scale=5, border=3, dark="#000", light="#fff", omitsize=True)
        context["qr"] = mark_safe(picture)  # noqa: S308 - drawn by segno, it holds no text
        context["secret"] = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    elif factor is not None:
        context["left"] = RecoveryCode.objects.filter(user=asked.user, used_at=None).count()
    return render(request, "dashboard/second_factor.html", {**context, **extra}, status=status)


@never_cache
@_before
@access(Action.VIEW)
def second_factor_page(request: HttpRequest) -> HttpResponse:
    """How sign-in is guarded now, and the QR code to set it up."""
    return _page(request)


def _try(request: HttpRequest, work: Any) -> tuple[Any, HttpResponse | None]:
    """(what the work gave, None), or (None, the page with what was wrong); wrong codes are counted."""
    form = CodeForm(request.POST)
    if not form.is_valid():
        return None, _page(request, 422, form=form)
    try:
        guesses = Guesses(request, _asked(request).user)
        found = work(form.cleaned_data["code"])
        guesses.right()
    except ValidationError as error:
        form.add_error("code", " ".join(error.messages))
        return None, _page(request, 422, form=form)
    return found, None


@never_cache
@require_POST
@_before
@access(Action.VIEW)
def second_factor_set(request: HttpRequest) -> HttpResponse:
    """Keep it once the app's code is right; recovery codes are shown this once."""
    user, secret = _asked(request).user, _pending(request)
    codes, refused = _try(
        request, lambda code: second_factor_enrol(user=user, secret=secret, code=code, now=timezone.now())
    )
    if refused is not None:
        return refused
    del request.session[PENDING]
    return _page(request, codes=codes, missing=False)


@never_cache
@require_POST
@access(Action.VIEW)
def second_factor_codes(request: HttpRequest) -> HttpResponse:
    """New recovery codes, shown this once."""
    user = _asked(request).user
    codes, refused = _try(
        request, lambda code: recovery_codes_renew(user=user, code=code, now=timezone.now())
    )
    return refused or _page(request, codes=codes)


@never_cache
@require_POST
@access(Action.VIEW)
def second_factor_off(request: HttpRequest) -> HttpResponse:
    """Sign in with the password alone again."""
    user = _asked(request).user
    _nothing, refused = _try(
        request, lambda code: second_factor_remove(user=user, code=code, now=timezone.now())
    )
    if refused is not None:
        return refused
    messages.success(request, _("Your second factor is off."))
    return redirect("dashboard:settings")


@require_POST
@access(Action.MANAGE_MEMBERS)
def second_factor_demand(request: HttpRequest) -> HttpResponse:
    """Ask everybody of the organisation for one, or no longer."""
    organisation = _asked(request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    required = request.POST.get("required") == "1"
    second_factor_require(
        organisation=organisation, required=required, actor=Actor.of_user(_asked(request).user)
    )
    told = _("Everybody who signs in with a password needs a second factor now.")
    messages.success(request, told if required else _("A second factor is everybody's own choice now."))
    return redirect("dashboard:settings")


@require_POST
@access(Action.MANAGE_MEMBERS)
def member_second_factor(request: HttpRequest, member_id: int) -> HttpResponse:
    """Take a member's second factor away."""
    member = get_object_or_404(
        Membership.objects.select_related("user", "organisation"),
        pk=member_id,
        organisation=_asked(request).organisation,
    )
    try:
        member_second_factor_reset(membership=member, actor=Actor.of_user(_asked(request).user))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("%(who)s has no second factor any more.") % {"who": member.user.email})
    return redirect("dashboard:settings")
