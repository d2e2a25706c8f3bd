"""How allauth signs people in here: no open sign-up, SSO only from allowed domains, each sign-in in the
audit trail.
"""

from __future__ import annotations

from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role
from apps.accounts.selectors import membership_of
from apps.accounts.services import audit_record

log = structlog.get_logger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Local accounts: people come by invitation."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody signs up; an admin invites."""
        return False

    def get_login_stages(self) -> list[str]:
        """allauth's, then the code of the second factor."""
        return [*super().get_login_stages(), "apps.accounts.sign_in.SecondFactorStage"]

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Mail, as far as there is a mail server: what the person did holds without, and a failure must not
        show which addresses have an account.
        """
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as error:  # SMTPException is one too
            log.error("mail_not_sent", template=template_prefix, error=type(error).__name__)

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Record the sign-in."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        membership = membership_of(user)
        audit_record(
            organisation=membership.organisation if membership else None,
            actor=Actor.of_user(user),
            action="user.sign_in",
            target=user,
        )
        return response


def _verified_address(sociallogin: SocialLogin) -> str | None:
    """The first address that the provider vouches for and whose domain is allowed."""
    for address in sociallogin.email_addresses:
        if address.verified and address.email.rpartition("@")[2].lower() in settings.OIDC_ALLOWED_DOMAINS:
            return str(address.email).lower()
    return None


class SsoAdapter(DefaultSocialAccountAdapter):
    """The company's OpenID Connect provider."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse an address that is not verified or whose domain is not in OIDC_ALLOWED_DOMAINS."""
        if _verified_address(sociallogin) is None:
            why = _("Your sign-in service gave no verified address of an allowed domain. Ask an admin.")
            context = {"why": why}
            raise ImmediateHttpResponse(
                render(request, "socialaccount/authentication_error.html", context, status=403)
            )

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Whoever the company's provider vouches for gets an account."""
        return _verified_address(sociallogin) is not None

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> User:
        """Address and name of a new account."""
        user: User = super().populate_user(request, sociallogin, data)
        user.email = _verified_address(sociallogin) or user.email
        user.name = str(data.get("name") or "")[:150]
        return user

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Store a new account as a member of the default organisation with OIDC_DEFAULT_ROLE."""
        user: User = super().save_user(request, sociallogin, form)
        organisation = Organisation.default()
        role = Role(settings.OIDC_DEFAULT_ROLE)
        membership = Membership.objects.create(user=user, organisation=organisation, role=role)
        audit_record(
            organisation=organisation,
            actor=Actor.of_user(user),
            action="member.join_by_sso",
            target=membership,
            after={"email": user.email, "role": role},
        )
        return user
