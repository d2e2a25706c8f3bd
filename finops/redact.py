"""Takes secrets out of text before it reaches a log, an exception's text, a page or a CI comment.

One room for all of it: `redact` for text, `redact_value` for nested data, `processor` for structlog,
`RedactingFormatter` for the standard library's handlers (it redacts after formatting, so arguments and
tracebacks are covered). Names decide, not values: a parameter, header or key that holds a credential loses
its value, everything else stays readable.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

MASK = "[redacted]"

# Parameter, header and key names whose value is a credential, compared without case, "-" and "_".
_SECRET_NAMES = frozenset(
    [
        "key",
        "apikey",
        "xapikey",
        "accesskey",
        "secretkey",
        "token",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "sessiontoken",
        "securitytoken",
        "authtoken",
        "signature",
        "sig",
        "secret",
        "clientsecret",
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "authorization",
        "proxyauthorization",
        "cookie",
        "setcookie",
        "xamzsignature",
        "xamzsecuritytoken",
        "xamzcredential",
        "awsaccesskeyid",
        "awssecretaccesskey",
        "awssessiontoken",
        "accesskeyid",
        "secretaccesskey",
        "csrftoken",
        "csrfmiddlewaretoken",
        "sessionid",
        "xgoogsignature",
        "xgoogcredential",
        "sharedaccesssignature",
        "sharedaccesskey",
        "accountkey",
        "connectionstring",
        "accesskeysecret",
        "ossaccesskeyid",
        "xosssignature",
        "xosscredential",
        "xosssecuritytoken",
        "qsignature",
        "xcossecuritytoken",
        "secretid",
        "privatekey",
        "privatetoken",
        "jobtoken",
        "xgitlabtoken",
        "xvaulttoken",
        "subscriptionkey",
        "ocpapimsubscriptionkey",
    ]
)


def _any_of(names: frozenset[str]) -> str:
    """A pattern for the names, with or without "-" and "_" between their letters, longest first."""
    spelled = ("[-_]?".join(name) for name in sorted(names, key=lambda n: (-len(n), n)))
    return rf"(?<![A-Za-z0-9_\-])(?P<name>{'|'.join(spelled)})"


# Header-like words that are credentials only as parameters: "the key: zone, type, product" is prose.
_HEADER_NAMES = _SECRET_NAMES - {"key", "sig", "signature", "token", "secret"}
# name=value in addresses, form bodies and key=value logs
_PARAMETER = re.compile(
    rf"{_any_of(_SECRET_NAMES)}(?P<sign>=|%3D)(?!\[redacted\])[^\s&;,'\"<>)\]}}]+", re.IGNORECASE
)
# name = value in settings files and source lines; words that are prose too are left out
_ASSIGNED = re.compile(
    rf"{_any_of(_HEADER_NAMES)}(?P<sign>[ \t]+=[ \t]*|=[ \t]+)(?!\[redacted\]|[\s=])[^\r\n'\"]+",
    re.IGNORECASE,
)
# "name": "value" in JSON and in Python's repr, also as a pair in a tuple
_QUOTED = re.compile(
    rf"{_any_of(_SECRET_NAMES)}(?P<sign>[\"']\s*[:=,]\s*b?)(?P<quote>[\"'])(?:\\.|(?!(?P=quote)).)*(?P=quote)",
    re.IGNORECASE,
)
# Name: value up to the end of the line, as headers are printed and signed (without the space)
_HEADER = re.compile(rf"{_any_of(_HEADER_NAMES)}(?P<sign>:[ \t]*)[^\r\n'\"]+", re.IGNORECASE)
_XML = re.compile(rf"(?<=<){_any_of(_SECRET_NAMES)}>[^<]+</", re.IGNORECASE)
_SCHEME = re.compile(r"\b(?P<scheme>Bearer|AWS4-HMAC-SHA256)[ ]+(?:[^\s'\",]+(?:, ?)?)+")
# From "://" on: a scheme sought from each letter took minutes on 100 kB of "a.a.a."
_USERINFO = re.compile(r"(?P<head>://[^\s/@:'\"]*):[^\s/@'\"]+@")
# Links that sign somebody in: set-password and confirmation links, the code and state of an SSO callback.
_LINK = re.compile(r"(?P<head>/(?:reset/key|confirm-email|unsubscribe)/)(?!done\b)[^\s/?\"']+")
_SSO = re.compile(r"(?P<head>[?&](?:code|state)=)[^\s&\"']+")
_OUR_KEY = re.compile(r"\b(?P<head>opk_[a-z0-9]{4,20}_)[0-9a-f]{16,}")
# Addresses of chat channels: who knows one writes to the channel.
_HOOK = re.compile(
    r"(?P<head>https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
    r"|[a-z0-9.-]{0,60}webhook\.office\.com/webhookb2|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook"
    r"|api\.telegram\.org)/)[^\s?\"'<>)]+",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|\Z)", re.DOTALL
)
# Known by their form: key ids of AWS, Alibaba and Tencent, tokens of GitHub, GitLab and Slack.
_BY_FORM = re.compile(
    r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{28,40}|gh[opsur]_[A-Za-z0-9]{20,255}"
    r"|github_pat_\w{20,255}|glpat-[\w-]{15,255}|xox[abeprs]-[A-Za-z0-9-]{10,255})\b"
)


def is_secret_name(name: str) -> bool:
    """Whether a parameter, header or key of this name holds a credential."""
    return name.replace("-", "").replace("_", "").lower() in _SECRET_NAMES


def redact(text: str) -> str:
    """The text with the values of credentials replaced by `[redacted]`; other parameters stay visible."""
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _USERINFO.sub(rf"\g<head>:{MASK}@", text)
    text = _QUOTED.sub(rf"\g<name>\g<sign>\g<quote>{MASK}\g<quote>", text)
    text = _HEADER.sub(rf"\g<name>\g<sign>{MASK}", text)
    text = _SCHEME.sub(rf"\g<scheme> {MASK}", text)
    text = _ASSIGNED.sub(rf"\g<name>\g<sign>{MASK}", text)
    text = _PARAMETER.sub(rf"\g<name>\g<sign>{MASK}", text)
    text = _XML.sub(rf"\g<name>>{MASK}</", text)
    for pattern in (_LINK, _SSO, _OUR_KEY, _HOOK):
        text = pattern.sub(rf"\g<head>{MASK}", text)
    return _BY_FORM.sub(MASK, text)


def redact_value(value: Any, name: str = "") -> Any:
    """Nested data with the same treatment; a value under a secret name is masked whole."""
    if name and is_secret_name(name) and value not in (None, ""):
        return MASK
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact(value.decode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return {key: redact_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact_value(item) for item in value]
    if isinstance(value, BaseException):
        return redact(f"{type(value).__name__}: {value}")
    return value


def processor(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: place it after `format_exc_info`, before the renderer."""
    for key in list(event):
        event[key] = redact_value(event[key], str(key))
    return event


class RedactingFormatter(logging.Formatter):
    """Formats as `logging.Formatter` does and redacts the finished text, traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """The formatted and redacted line."""
        return redact(super().format(record))
