"""One comment on a merge request, updated in place: found by the hidden marker in its first line.

GitHub: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN and the number of the pull request, from GITHUB_REF
(`refs/pull/7/merge`). GitLab: CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID and OFFPEAK_GITLAB_TOKEN (a
project token with the scope api). Tokens go in headers and are never printed. Only a comment of the same
author is updated: anybody may write a comment with our marker, and would then own ours. The author is the
token's (GitLab) or OFFPEAK_COMMENT_AUTHOR, else `github-actions[bot]` (GitHub tells such a token no name).
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from offpeak.errors import FAILED, USAGE, EndError
from offpeak.server import SECONDS, opener

A_PAGE, MOST_PAGES = 100, 30


def post(forge: str, text: str) -> str:
    """Make or update the comment; "created" or "updated". Raises EndError."""
    mark = text.splitlines()[0] if text else ""
    if not mark.startswith("<!-- offpeak "):
        raise EndError("the comment has no marker in its first line", USAGE)
    base, headers, author, update = _github() if forge == "github" else _gitlab()
    for row in _comments(base, headers):
        who = row.get("user") or row.get("author") or {}
        name = who.get("login") or who.get("username")
        if name == author and str(row.get("body", "")).startswith(mark):
            verb, address = update(row["id"])
            _call(verb, address, headers, {"body": text})
            return "updated"
    _call("POST", base, headers, {"body": text})
    return "created"


def _setting(name: str) -> str:
    found = os.environ.get(name, "").strip()
    if not found:
        raise EndError(f"set {name}", USAGE)
    return found


def _github() -> tuple[str, dict[str, str], str, Any]:
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    repository = _setting("GITHUB_REPOSITORY")
    found = re.fullmatch(r"refs/pull/(\d+)/.*", os.environ.get("GITHUB_REF", ""))
    if not found:
        raise EndError("GITHUB_REF names no pull request", USAGE)
    headers = {"Authorization": f"Bearer {_setting('GITHUB_TOKEN')}", "Accept": "application/vnd.github+json"}
    base = f"{api}/repos/{repository}/issues"
    author = os.environ.get("OFFPEAK_COMMENT_AUTHOR") or "github-actions[bot]"
    comments = f"{base}/{found[1]}/comments"
    return comments, headers, author, lambda number: ("PATCH", f"{base}/comments/{number}")


def _gitlab() -> tuple[str, dict[str, str], str, Any]:
    api, project = _setting("CI_API_V4_URL").rstrip("/"), _setting("CI_PROJECT_ID")
    base = f"{api}/projects/{project}/merge_requests/{_setting('CI_MERGE_REQUEST_IID')}/notes"
    headers = {"PRIVATE-TOKEN": _setting("OFFPEAK_GITLAB_TOKEN")}
    author = str((_call("GET", f"{api}/user", headers, None) or {}).get("username"))
    return base, headers, author, lambda number: ("PUT", f"{base}/{number}")


def _comments(base: str, headers: dict[str, str]) -> Iterator[dict[str, Any]]:
    for page in range(1, MOST_PAGES + 1):
        rows = _call("GET", f"{base}?per_page={A_PAGE}&page={page}", headers, None)
        if not isinstance(rows, list):
            raise EndError("the forge's answer is no list of comments", FAILED)
        yield from (row for row in rows if isinstance(row, dict) and "id" in row)
        if len(rows) < A_PAGE:
            return


def _call(verb: str, address: str, headers: dict[str, str], body: Any) -> Any:
    data = None if body is None else json.dumps(body).encode()
    told = {**headers, "Content-Type": "application/json", "User-Agent": "offpeak"}
    if not address.startswith(("https://", "http://")):
        raise EndError("the forge's address is neither http nor https", USAGE)
    request = urllib.request.Request(address, data=data, headers=told, method=verb)  # noqa: S310 (checked)
    try:
        with opener().open(request, timeout=SECONDS) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise EndError(f"the forge answered {error.code} to {verb}", FAILED) from error
    except (OSError, ValueError) as error:
        raise EndError(f"no answer from the forge: {type(error).__name__}", FAILED) from None
