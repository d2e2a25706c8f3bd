"""Names of AWS that people type: accounts, regions, roles. One place for all forms, endpoints and verbs.

They are told by their form alone: whether a region or a role exists is what AWS answers.
"""

from __future__ import annotations

import re

# A column of the database holds a role; longer ones (a path may have 512 characters) do not fit.
MOST_ROLE = 200
ACCOUNT = re.compile(r"[0-9]{12}")
REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):role/[A-Za-z0-9_+=,.@/-]+")


def is_region(text: str) -> bool:
    """Whether a text has the form of a region's code.

    >>> is_region("us-gov-west-1"), is_region("us-east-1a"), is_region("EU")
    (True, False, False)
    """
    return REGION.fullmatch(text) is not None


def role_account(text: str) -> str:
    """The account of the role that an ARN names; "" for what is no ARN of a role."""
    found = _ROLE.fullmatch(text) if len(text) <= MOST_ROLE else None
    return found[1] if found else ""
