"""`offpeak check FILE`: asks the server, prints the answer, ends with the verdict's exit code.

0 pass, 10 warn (with --strict), 20 deny, 30 cannot judge, 2 wrong usage or settings, 3 input refused, 1
anything else; never 0 when no verdict came. The server is OFFPEAK_URL, the key OFFPEAK_KEY: it goes in a
header, is not an argument (other users of a machine see those) and is never printed. `offpeak prices` exports
the file of `check --offline`; `offpeak comment` puts a Markdown file on the merge request.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from offpeak import __version__, device
from offpeak.errors import FAILED, REFUSED, USAGE, EndError
from offpeak.server import call

CODES = {0, 10, 20, 30}
MOST_BYTES = 8 * 1024 * 1024
FORMATS = ("text", "json", "markdown", "junit", "sarif")
FORGES = ("github", "gitlab", "azure", "bitbucket")
_TEXTS = ("project", "ref", "commit", "base_ref", "team", "key")


def main(words: list[str] | None = None) -> NoReturn:
    """The program."""
    options = _parser().parse_args(words)
    for stream in (sys.stdout, sys.stderr):
        # A console of few characters shows the others as \\u…: the exit code is the verdict's all the same.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        verbs = {"check": _check, "prices": _prices, "comment": _comment, "device": device.run}
        sys.exit(verbs[options.verb](options))
    except EndError as error:
        print(f"offpeak: {error}", file=sys.stderr)
        sys.exit(error.code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="offpeak")
    verbs = parser.add_subparsers(dest="verb", required=True)
    check = verbs.add_parser("check", help="price a plan")
    check.add_argument("file", metavar="FILE", help="the plan, - for standard input")
    check.add_argument("--kind", choices=("terraform", "kubernetes", "workload"), default="terraform")
    check.add_argument("--policy", metavar="FILE", help="policies beside the stored ones, JSON")
    check.add_argument("--usage", metavar="FILE", help="amounts a month that a plan cannot know, JSON")
    check.add_argument("--strict", action="store_true")
    check.add_argument(
        "--offline", metavar="PRICES", help="judge here, with a file that `offpeak prices` made"
    )
    for name in _TEXTS:
        check.add_argument(f"--{name.replace('_', '-')}", default="")
    check.add_argument("--format", choices=FORMATS, default="text")
    check.add_argument(
        "--output", metavar="FORMAT=FILE", action="append", default=[], help="a file beside what is printed"
    )
    check.add_argument("--forge", choices=FORGES, default="github", help="whose limit a comment keeps")
    check.add_argument("--link", default="", help="address of the report; default: the check on the server")
    device.add_parser(verbs)
    prices = verbs.add_parser("prices", help="export a price file for check --offline")
    prices.add_argument("--output", metavar="FILE", required=True)
    prices.add_argument("--regions", default="", help="with commas; default: all")
    prices.add_argument("--products", default="", help="with commas; default: Linux/UNIX")
    prices.add_argument("--spot-types", default="", help="with commas: types whose Spot prices are looked up")
    prices.add_argument("--team", default="", help="whose policies it holds")
    comment = verbs.add_parser("comment", help="put a Markdown file on the merge request, or update it")
    comment.add_argument("file", metavar="FILE")
    comment.add_argument("--forge", choices=("github", "gitlab"), required=True)
    return parser


def _check(options: argparse.Namespace) -> int:
    outputs = [_output(text) for text in options.output]
    if options.offline:
        from offpeak import offline

        document = offline.check(options, _content(options.file, REFUSED))
    else:
        document = ask(options)
    code = document.get("exit_code")
    if type(code) is not int or code not in CODES:
        raise EndError("the server's answer has no exit code", FAILED)
    for form, path in outputs:
        try:
            Path(path).write_text(_rendered(form, document, options), encoding="utf-8")
        except OSError as error:
            raise EndError(f"{path}: {error.strerror}", USAGE) from None
    print(_rendered(options.format, document, options), end="")
    return code


def _output(text: str) -> tuple[str, str]:
    form, _is, path = text.partition("=")
    if form not in FORMATS or not path:
        raise EndError(f"--output {text}: FORMAT=FILE, FORMAT one of {', '.join(FORMATS)}", USAGE)
    return form, path


def _rendered(form: str, document: dict[str, Any], options: argparse.Namespace) -> str:
    if form == "text":
        return shown(document)
    if form == "json":
        return json.dumps(document, ensure_ascii=False) + "\n"
    from offpeak import formats

    if form == "junit":
        return formats.junit(document)
    if form == "sarif":
        return json.dumps(formats.sarif(document, file=options.file, version=__version__), indent=1) + "\n"
    from offpeak import engine

    engine.use()
    from apps.costchecks.comment import comment_markdown

    link = options.link or str(document.get("link") or "")
    return comment_markdown(document, forge=options.forge, link=link)


def ask(options: argparse.Namespace) -> dict[str, Any]:
    """The server's document. Raises EndError."""
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
    return call("cost-checks", data=data)


def _prices(options: argparse.Namespace) -> int:
    names = ("regions", "products", "spot_types", "team")
    document = call(
        "price-file", query={name: getattr(options, name) for name in names if getattr(options, name)}
    )
    try:
        Path(options.output).write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise EndError(f"{options.output}: {error.strerror}", USAGE) from None
    return 0


def _comment(options: argparse.Namespace) -> int:
    from offpeak import forge

    print(forge.post(options.forge, _text(options.file, USAGE)))
    return 0


def _content(path: str, code: int) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise EndError(f"{path}: {error.strerror}", code) from None


def _text(path: str, code: int) -> str:
    try:
        return _content(path, code).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EndError(f"{path}: not UTF-8 text", code) from None


def _json(path: str) -> Any:
    try:
        # Numbers stay text, so that 0.1 is exact.
        return json.loads(_text(path, USAGE), parse_float=str, parse_constant=str)
    except RecursionError:
        raise EndError(f"{path}: nested too deep", USAGE) from None
    except ValueError as error:
        raise EndError(f"{path}: not JSON: {error}", USAGE) from None


def shown(document: dict[str, Any]) -> str:
    """The verdict, the policies, what has no price, cheaper ways."""
    lines = [str(document.get("sentence", document.get("verdict", "")))]
    for one in document.get("policies", []):
        lines.append(f"  {one['verdict']:<12}  {one['title']}: {one['reason']}")
    for one in document.get("unpriced", []):
        lines.append(f"  no price      {one['address']}: {one['reason']}")
    for one in document.get("alternatives", []):
        lines.append(
            f"  cheaper       {one['sentence']}: {one['saving']['expected']} {one['currency']} a month"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
