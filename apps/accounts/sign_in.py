"""The step between password and sign-in: the code of the person's second factor."""

from __future__ import annotations

from typing import Any

from allauth.account.stages import LoginStage, LoginStageController
from allauth.core.internal import ratelimit
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.selectors import has_second_factor

KEY = "second_factor"


class SecondFactorStage(LoginStage):
    """Entered after the password of who has one; the company's sign-in service asks itself."""

    key = KEY
    urlname = "account_second_factor"

    def handle(self) -> tuple[Any, bool]:
        """(the way to the page of the code or None, True)."""
        by_service = "sociallogin" in (self.login.signal_kwargs or {})
        if self.login.user is None or by_service or not has_second_factor(self.login.user):
            return None, True
        return HttpResponseRedirect(reverse(self.urlname)), True


def stage_of(request: HttpRequest) -> SecondFactorStage | None:
    """The sign-in of this browser that waits for a code; None without one, and five minutes after it."""
    stage: SecondFactorStage | None = LoginStageController.enter(request, KEY)
    return stage


class Guesses:
    """Counts wrong codes of a person under the limits of wrong passwords (ACCOUNT_RATE_LIMITS, login_failed).

    A right password does not give them back: they have a counter of their own.
    """

    def __init__(self, request: HttpRequest, user: User) -> None:
        """Raises ValidationError once there were too many."""
        self._usage = ratelimit.consume(
            request, app="allauth.account", action="login_failed", key=f"second-factor:{user.pk}", user=user
        )
        if not self._usage:
            raise ValidationError({"code": _("Too many wrong codes. Try again later.")})

    def right(self) -> None:
        """This one was right: it does not count."""
        if hasattr(self._usage, "rollback"):
            self._usage.rollback()
