"""`offpeak check FILE`: asks the server, prints the answer, ends with the verdict's exit code.

0 pass, 10 warn (with --strict), 20 deny, 30 cannot judge, 2 wrong usage or settings, 3 input refused, 1
anything else; never 0 when no verdict came. The server is OFFPEAK_URL, the key OFFPEAK_KEY: it goes in a
header, is not an argument (other users of a machine see those) and is never printed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

FAILED, USAGE, REFUSED = 1, 2, 3
CODES = {0, 10, 20, 30}
MOST_BYTES = 8 * 1024 * 1024
SECONDS = 120
_TEXTS = ("project", "ref", "commit", "base_ref", "team", "key")


class EndError(Exception):
    """The end of the program: what to say and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def main(words: list[str] | None = None) -> NoReturn:
    """The program."""
    options = _parser().parse_args(words)
    try:
        document = ask(options)
        code = document.get("exit_code")
        if type(code) is not int or code not in CODES:
            raise EndError("the server's answer has no exit code", FAILED)
    except EndError as error:
        print(f"offpeak: {error}", file=sys.stderr)
        sys.exit(error.code)
    if options.format == "json":
        print(json.dumps(document, ensure_ascii=False))
    else:
        show(document)
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="offpeak")
    check = parser.add_subparsers(dest="verb", required=True).add_parser("check", help="price a plan")
    check.add_argument("file", metavar="FILE", help="the plan, - for standard input")
    check.add_argument("--kind", choices=("terraform", "kubernetes", "workload"), default="terraform")
    check.add_argument("--policy", metavar="FILE", help="policies, JSON")
    check.add_argument("--usage", metavar="FILE", help="amounts a month that a plan cannot know, JSON")
    check.add_argument("--strict", action="store_true")
    for name in _TEXTS:
        check.add_argument(f"--{name.replace('_', '-')}", default="")
    check.add_argument("--format", choices=("text", "json"), default="text")
    return parser


def ask(options: argparse.Namespace) -> dict[str, Any]:
    """The server's document. Raises EndError."""
    url, key = _server()
    body: dict[str, Any] = {
        "kind": options.kind,
        "strict": options.strict,
        "input": _text(options.file, REFUSED),
    }
    for name, path in (("policies", options.policy), ("usage", options.usage)):
        if path:
            body[name] = _json(path)
    body.update({name: getattr(options, name) for name in _TEXTS if getattr(options, name)})
    data = json.dumps(body).encode()
    if len(data) > MOST_BYTES:
        raise EndError(f"the input is larger than {MOST_BYTES >> 20} MiB", REFUSED)
    request = urllib.request.Request(  # noqa: S310 (the scheme is checked in _server)
        f"{url}/api/v1/cost-checks",
        data=data,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (OSError, ValueError) as error:
        raise EndError(f"no answer from the server: {type(error).__name__}", FAILED) from None
    if not isinstance(found, dict):
        raise EndError("the server's answer is no document", FAILED)
    return found


def _server() -> tuple[str, str]:
    url, key = os.environ.get("OFFPEAK_URL", "").rstrip("/"), os.environ.get("OFFPEAK_KEY", "")
    parts = urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.netloc:
        raise EndError("set OFFPEAK_URL to the server's address", USAGE)
    if parts.query or parts.username or parts.password:
        raise EndError("OFFPEAK_URL must hold no key or password", USAGE)
    if not key or not key.isascii() or not key.isprintable():
        raise EndError("set OFFPEAK_KEY to an API key with the scope read:advice", USAGE)
    return url, key


def _text(path: str, code: int) -> str:
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise EndError(f"{path}: {error.strerror}", code) from None
    except UnicodeDecodeError:
        raise EndError(f"{path}: not UTF-8 text", code) from None


def _json(path: str) -> Any:
    try:
        return json.loads(_text(path, USAGE))
    except ValueError as error:
        raise EndError(f"{path}: not JSON: {error}", USAGE) from None


def _refusal(error: urllib.error.HTTPError) -> EndError:
    """What the server said; input that it refused is 3, a wrong setting 2, a failure 1."""
    try:
        told = json.loads(error.read())["error"]
        message, fields = str(told["message"]), [str(one["field"]) for one in told["fields"]]
    except (ValueError, KeyError, TypeError, OSError):
        message, fields = "no reason given", []
    if error.code == 413 or (error.code == 400 and fields == ["input"]):
        return EndError(message, REFUSED)
    code = USAGE if error.code in {400, 401, 403, 404, 409, 415} else FAILED
    return EndError(f"{error.code}: {message}", code)


def show(document: dict[str, Any]) -> None:
    """The verdict, the policies, what has no price, cheaper ways."""
    print(document.get("sentence", document.get("verdict", "")))
    for one in document.get("policies", []):
        print(f"  {one['verdict']:<12}  {one['title']}: {one['reason']}")
    for one in document.get("unpriced", []):
        print(f"  no price      {one['address']}: {one['reason']}")
    for one in document.get("alternatives", []):
        print(f"  cheaper       {one['sentence']}: {one['saving']['expected']} {one['currency']} a month")


if __name__ == "__main__":
    main()
