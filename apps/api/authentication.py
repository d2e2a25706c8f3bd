"""Who calls: a browser's session (with CSRF) or an API key in the Authorization header."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.key_cache import cached_key_of_token
from apps.accounts.models import ApiKey
from apps.accounts.services import api_key_used
from apps.api.errors import Refused

# Names under which people put a key into an address.
_KEY_NAMES = frozenset({"key", "api_key", "apikey", "api-key", "token", "access_token", "authorization"})


class KeyPrincipal:
    """Stands where a request has its user: a key is nobody's, so it has no id of a person."""

    is_authenticated = True
    is_anonymous = False
    is_active = True
    pk = None

    def __init__(self, key: ApiKey) -> None:
        self.key = key

    def __str__(self) -> str:
        return str(self.key)


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer opk_<prefix>_<secret>`."""

    def authenticate(self, request: Request) -> tuple[KeyPrincipal, ApiKey] | None:
        """The key's principal; None without the header. Raises AuthenticationFailed that says what to do."""
        header = get_authorization_header(request)
        if not header:
            return None
        scheme, _space, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationFailed(_("Send the key as: Authorization: Bearer opk_…"))
        now = timezone.now()
        key, state = cached_key_of_token(token.strip(), now=now)
        if key is None:
            raise AuthenticationFailed(_("This is no key of this installation."))
        if state != "active":
            words = {"expired": _("This key has expired."), "revoked": _("This key was revoked.")}
            raise AuthenticationFailed(words[state])
        api_key_used(key=key, now=now)
        return KeyPrincipal(key), key

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="offpeak"'


def refuse_key_in_address(request: Request) -> None:
    """Raise Refused when the address holds a key: it is in logs and histories by now."""
    for name, values in request.query_params.lists():
        if name.lower() in _KEY_NAMES or any(value.startswith("opk_") for value in values):
            raise Refused(
                _(
                    "A key in the address ends up in logs. Send it as a header, Authorization: Bearer opk_…, "
                    "and revoke the key that was sent here."
                ),
                code="key_in_address",
            )


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """The key in the OpenAPI document."""

    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "opk_<prefix>_<secret>"}
