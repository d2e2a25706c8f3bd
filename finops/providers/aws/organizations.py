"""Accounts of an AWS organisation with their names: `organizations:ListAccounts`.

Quirks: pages of at most 20 accounts, the end is an empty NextToken (a page may be empty and not the last);
the call is answered only for the management account or a delegated administrator; the service lives in
us-east-1 whatever the caller's region; closed accounts stay in the list for 90 days as SUSPENDED. The answer
holds e-mail addresses: they are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import boto3
from tenacity.wait import wait_base

from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.session import Access, client, open_session
from finops.providers.base import PermanentError

REGION = "us-east-1"
LIST_ACCOUNTS = "organizations:ListAccounts"


@dataclass(frozen=True, slots=True)
class Account:
    """One account; `status` is AWS's word (ACTIVE, SUSPENDED, PENDING_CLOSURE)."""

    account_id: str
    name: str
    status: str


def accounts(
    access: Access, *, base: boto3.Session | None = None, back_off: wait_base = BACK_OFF
) -> Iterator[Account]:
    """Every account with a name. Raises TransientError or PermanentError (DeniedError: the permission)."""
    session = open_session(access, region=REGION, base=base)
    organizations = client(session, access, "organizations", region=REGION)
    token, seen = "", set[str]()
    while True:
        answer = patiently(
            partial(organizations.list_accounts, **({"NextToken": token} if token else {})),
            doing=f"reading the names of the organisation's accounts ({LIST_ACCOUNTS})",
            back_off=back_off,
        )
        for account in answer.get("Accounts", []):
            if account.get("Name"):
                yield Account(str(account["Id"]), str(account["Name"]), str(account.get("Status", "")))
        token = answer.get("NextToken") or ""
        if not token:
            return
        if token in seen:
            raise PermanentError("AWS repeats a page token of the organisation's accounts: stopped.")
        seen.add(token)
