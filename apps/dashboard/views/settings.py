"""Settings: the reader's own preferences; for admins keys, members and the audit trail."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.audit_chain import chain_all, chain_state
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import ApiKey, Membership, Theme
from apps.accounts.roles import SCOPE_WORDS, Action, Role, allowed
from apps.accounts.selectors import api_key_list, audit_list, member_list
from apps.accounts.services.keys import api_key_create, api_key_revoke
from apps.accounts.services.members import (
    member_invite,
    member_link,
    member_remove,
    member_role_change,
    user_preferences_update,
)
from apps.dashboard.context import THEME_COOKIE
from apps.dashboard.forms import InviteForm, KeyForm, ProfileForm
from apps.dashboard.views.home import YEAR
from apps.dashboard.words import joined, zone_names

AUDIT_A_PAGE = 50
WORDS: dict[str, Any] = {scope.value: word for scope, word in SCOPE_WORDS.items()}
SCOPES = [(scope.value, word) for scope, word in SCOPE_WORDS.items()]


def _asked(request: HttpRequest) -> SignedInRequest:
    return cast(SignedInRequest, request)


def _profile_form(request: HttpRequest, data: Any = None) -> ProfileForm:
    user = _asked(request).user
    initial = {"name": user.name, "language": user.language, "time_zone": user.time_zone, "theme": user.theme}
    return ProfileForm(
        data, initial=initial, languages=settings.LANGUAGES, zones=list(zone_names()), themes=Theme.choices
    )


@never_cache
@access(Action.VIEW)
def settings_page(request: HttpRequest) -> HttpResponse:
    """The page with what the reader's role may see."""
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **extra: Any) -> HttpResponse:
    member, organisation = _asked(request).membership, _asked(request).organisation
    context: dict[str, Any] = {
        "page": "settings",
        "profile_form": _profile_form(request),
        "may_keys": allowed(member, Action.MANAGE_KEYS),
        "may_members": allowed(member, Action.MANAGE_MEMBERS),
        "may_audit": allowed(member, Action.VIEW_AUDIT),
        "has_password": _asked(request).user.has_usable_password(),
        "now": datetime.now(UTC),
    }
    if organisation is not None and context["may_keys"]:
        now = context["now"]
        context["keys"] = [
            (key, key.state(now), [WORDS.get(s, s) for s in key.scopes]) for key in api_key_list(organisation)
        ]
        context["key_form"] = KeyForm(scopes=SCOPES)
    if organisation is not None and context["may_members"]:
        context["second_factor_required"] = organisation.second_factor_required
        context["members"] = list(member_list(organisation))
        context["roles"] = Role.choices
        admins = [m.pk for m in context["members"] if m.role == Role.ADMIN and m.user.is_active]
        context["last_admin"] = admins[0] if len(admins) == 1 else None
        context["invite_form"] = InviteForm(roles=Role.choices, initial={"role": Role.VIEWER})
    context["heading"] = _heading(context.get("keys", []), len(context.get("members", [])))
    context.update(extra)
    return render(request, "dashboard/settings.html", context, status=status)


def _heading(keys: list[tuple[Any, str, list[Any]]], people: int) -> str:
    """How many keys work and how many people have access; of people nothing where they may not be seen."""
    active = sum(state == "active" for _key, state, _words in keys)
    if active:
        first = ngettext("%(n)s API key is active.", "%(n)s API keys are active.", active) % {"n": active}
    else:
        first = _("No API key is active.")
    if not people:
        return first
    return joined(
        first, ngettext("%(m)s person has access.", "%(m)s people have access.", people) % {"m": people}
    )


def _put_errors(form: Form, error: ValidationError) -> None:
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, found in error.error_dict.items():
        form.add_error(name if name in form.fields else None, found)


@require_POST
@access(Action.VIEW)
def profile_save(request: HttpRequest) -> HttpResponse:
    """Keep the reader's preferences."""
    form = _profile_form(request, request.POST)
    if not form.is_valid():
        return _page(request, 422, profile_form=form)
    given = form.cleaned_data
    user_preferences_update(user=_asked(request).user, **given)
    if given["language"]:
        translation.activate(given["language"])
    messages.success(request, _("Your settings are saved."))
    response = redirect("dashboard:settings")
    response.set_cookie(
        THEME_COOKIE, given["theme"], max_age=YEAR, samesite="Lax", secure=request.is_secure()
    )
    if given["language"]:
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, given["language"], max_age=YEAR, samesite="Lax")
    return response


@never_cache
@require_POST
@access(Action.MANAGE_KEYS)
def key_create(request: HttpRequest) -> HttpResponse:
    """Make a key and show its token, this once."""
    form = KeyForm(request.POST, scopes=SCOPES)
    if not form.is_valid():
        return _page(request, 422, key_form=form)
    organisation = _asked(request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    try:
        key, token = api_key_create(
            organisation=organisation, actor=Actor.of_user(_asked(request).user), now=datetime.now(UTC),
            name=form.cleaned_data["name"], scopes=form.cleaned_data["scopes"],
            expires_days=form.cleaned_data["expires_days"],
        )  # fmt: skip
    except ValidationError as error:
        _put_errors(form, error)
        return _page(request, 422, key_form=form)
    return _page(request, new_key=key, new_token=token)


@require_POST
@access(Action.MANAGE_KEYS)
def key_revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """Stop a key for good."""
    key = get_object_or_404(ApiKey, pk=key_id, organisation=_asked(request).organisation)
    api_key_revoke(key=key, actor=Actor.of_user(_asked(request).user), now=datetime.now(UTC))
    messages.success(request, _("The key %(name)s is revoked.") % {"name": key.name})
    return redirect("dashboard:settings")


@never_cache
@require_POST
@access(Action.MANAGE_MEMBERS)
def member_add(request: HttpRequest) -> HttpResponse:
    """Add a person; a new account's link to set a password is shown once."""
    form = InviteForm(request.POST, roles=Role.choices)
    if not form.is_valid():
        return _page(request, 422, invite_form=form)
    organisation = _asked(request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    try:
        invitation = member_invite(
            organisation=organisation, actor=Actor.of_user(_asked(request).user),
            email=form.cleaned_data["email"], role=form.cleaned_data["role"],
        )  # fmt: skip
    except ValidationError as error:
        _put_errors(form, error)
        return _page(request, 422, invite_form=form)
    link = invitation.path
    absolute = request.build_absolute_uri(link) if link else ""
    return _page(request, invited=form.cleaned_data["email"], invite_link=absolute)


@never_cache
@require_POST
@access(Action.MANAGE_MEMBERS)
def member_new_link(request: HttpRequest, member_id: int) -> HttpResponse:
    """Show a new link to set a password, this once."""
    member = _member(request, member_id)
    try:
        link = member_link(membership=member, actor=Actor.of_user(_asked(request).user))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("dashboard:settings")
    absolute = request.build_absolute_uri(link)
    return _page(request, invited=member.user.email, invite_link=absolute, renewed=True)


def _member(request: HttpRequest, member_id: int) -> Membership:
    return get_object_or_404(
        Membership.objects.select_related("user", "organisation"),
        pk=member_id,
        organisation=_asked(request).organisation,
    )


@require_POST
@access(Action.MANAGE_MEMBERS)
def member_role(request: HttpRequest, member_id: int) -> HttpResponse:
    """Give a member another role."""
    member = _member(request, member_id)
    try:
        member_role_change(
            membership=member, role=request.POST.get("role", ""), actor=Actor.of_user(_asked(request).user)
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The role of %(who)s is changed.") % {"who": member.user.email})
    return redirect("dashboard:settings")


@require_POST
@access(Action.MANAGE_MEMBERS)
def member_drop(request: HttpRequest, member_id: int) -> HttpResponse:
    """End a membership."""
    member = _member(request, member_id)
    try:
        member_remove(membership=member, actor=Actor.of_user(_asked(request).user))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("%(who)s is no member any more.") % {"who": member.user.email})
    return redirect("dashboard:settings")


@access(Action.VIEW_AUDIT)
def audit_page(request: HttpRequest) -> HttpResponseBase:
    """Who did what, newest first; `format=jsonl`: all of it with its hash chain, oldest first."""
    organisation = _asked(request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    if request.GET.get("format") == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in chain_all(organisation))
        response = StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="audit-trail.jsonl"'
        return response
    entries = Paginator(audit_list(organisation), AUDIT_A_PAGE).get_page(request.GET.get("p"))
    context = {"page": "settings", "entries": entries, "chain": chain_state(organisation)}
    return render(request, "dashboard/audit.html", context)
