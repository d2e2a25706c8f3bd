"""What AWS says when it refuses, turned into one plain sentence that says what to do and whether to try
again.

Error codes as documented for EC2 and STS ("Common client errors"). A code without a row is
permanent: repeating a call that nobody understands helps nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from finops.providers.base import PermanentError, TransientError
from finops.redact import redact

DRY_RUN_ALLOWED = frozenset({"DryRunOperation"})
THROTTLED = frozenset(
    {
        "EC2ThrottledException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
UNAVAILABLE = frozenset(
    {"InternalError", "InternalFailure", "RequestTimeout", "ServiceUnavailable", "Unavailable"}
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
WRONG_CREDENTIALS = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


class CredentialsError(PermanentError):
    """AWS does not accept who we say we are; trying again with the same credentials cannot help."""


class ExpiredCredentialsError(CredentialsError):
    """The credentials were good and are no longer."""


class DeniedError(PermanentError):
    """AWS knows who we are and does not allow the call."""


def error_code(error: ClientError) -> str:
    """The code in the answer, such as `AuthFailure`."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Runs a call; `doing` completes "while …" in the sentence of what goes wrong.

    Raises TransientError where trying again can help, else PermanentError or one of its kinds above.
    """
    try:
        yield
    except ClientError as error:
        raise from_client_error(error, doing) from error
    except (
        NoCredentialsError,
        PartialCredentialsError,
        CredentialRetrievalError,
        TokenRetrievalError,
    ) as error:
        raise CredentialsError(
            f"No usable AWS credentials while {doing}. Give the service a role (instance profile, task role, "
            "environment) or name a role in the feed, then run check_permissions."
        ) from error
    except (
        BotoConnectionError,
        HTTPClientError,
        ConnectionClosedError,
        IncompleteReadError,
        ResponseParserError,
    ) as error:
        raise TransientError(
            f"AWS could not be reached or its answer was cut short while {doing}: {_text(error)}."
        ) from error
    except BotoCoreError as error:
        raise PermanentError(f"The call cannot be made while {doing}: {_text(error)}.") from error


def from_client_error(error: ClientError, doing: str) -> TransientError | PermanentError:
    """The error in our words; the provider's own message stays as evidence, without credentials."""
    code = error_code(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    said = redact(str(error.response.get("Error", {}).get("Message", ""))).rstrip(". ")
    told = f" AWS says {code}: {said}." if said else f" AWS says {code}."
    if code in THROTTLED or status == 429:
        return TransientError(f"AWS limits the rate of calls while {doing}.{told}")
    if code in EXPIRED:
        return ExpiredCredentialsError(
            f"The AWS credentials expired while {doing}. Renew them (or let the service use a role), and "
            f"look at the machine's clock if they are new.{told}"
        )
    if code in WRONG_CREDENTIALS:
        return CredentialsError(
            f"AWS does not accept the credentials while {doing}. Check which credentials the service finds, "
            f"and that the region is enabled for the account.{told}"
        )
    if code in DENIED:
        return DeniedError(
            f"AWS does not allow this while {doing}. Attach the policy that "
            f"`check_permissions --print-policy` prints.{told}"
        )
    if code in UNAVAILABLE or status >= 500:
        return TransientError(f"AWS is not available while {doing}.{told}")
    return PermanentError(f"AWS refused the call while {doing}.{told}")


def _text(error: Exception) -> str:
    return redact(str(error)).rstrip(". ")
