"""Regions and roles are told by one rule wherever somebody types them."""

from __future__ import annotations

import pytest

from finops.providers.aws.locations import region_code
from finops.providers.aws.names import MOST_ROLE, is_region, role_account

ROLE = "arn:aws:iam::111122223333:role/"


@pytest.mark.parametrize(
    "text", ["us-east-1", "eu-west-1", "us-gov-west-1", "ap-southeast-10", "cn-north-1", "us-iso-east-1"]
)
def test_regions(text: str) -> None:
    assert is_region(text)
    assert region_code(text) == text


@pytest.mark.parametrize(
    "text", ["", "us-east-1a", "us-east", "EU", "us-east-1\n", "us-east-\u0661", "../us-east-1", "US-EAST-1"]
)
def test_what_is_no_region(text: str) -> None:
    assert not is_region(text)


@pytest.mark.parametrize(
    ("text", "account"),
    [
        (f"{ROLE}reader", "111122223333"),
        ("arn:aws-cn:iam::111122223333:role/team/finance/reader_1", "111122223333"),
        (ROLE, ""),
        (f"{ROLE}r\u00e9ader", ""),
        (f"{ROLE}reader\n", ""),
        (f"{ROLE}{'x' * MOST_ROLE}", ""),
        ("arn:aws:iam::111122223333:user/reader", ""),
        ("arn:aws:iam::11112222333:role/reader", ""),
        ("", ""),
    ],
)
def test_roles_name_their_account(text: str, account: str) -> None:
    assert role_account(text) == account
