"""Every reason that the code of imports can store has its Chinese sentence, also one made of others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.utils import translation

from finops.reasons import SENTENCES, reason_text, sentence_of

ROOT = Path(__file__).resolve().parents[2]
PROVIDERS = "finops/providers/"
# Where reasons are made: readers of files and of AWS, staging and merging, the rules of a workload.
SOURCES = [
    PROVIDERS + "spot_rows.py",
    *(PROVIDERS + f"files/{n}.py" for n in (
        "archives", "columns", "json_rows", "json_columns", "quotes", "source", "table_rows", "text",
    )),
    *(PROVIDERS + f"aws/{n}.py" for n in (
        "files", "reading", "offers", "price_tables", "instance_types", "interruption", "errors", "client",
        "bill_bucket", "cost_explorer", "organizations", "fetching", "session",
    )),
    *(f"apps/ingest/{n}.py" for n in ("staging", "merge", "reference")),
    *(f"apps/ingest/services/{n}.py" for n in ("imports", "upkeep", "live")),
    "finops/engine/workload.py",
    "finops/lake/errors.py",
    # Why a launch cannot be carried out, what is wrong with a target's settings.
    PROVIDERS + "aws/launching_call.py", PROVIDERS + "simulated/kept.py", PROVIDERS + "kubernetes/jobs.py",
    *(f"apps/launches/services/{n}.py" for n in ("executors", "own_machines")),
]  # fmt: skip
# Texts of these modules that reach no page as a reason.
OTHER = {
    "{text!r} is a price", "tenacity ends by returning or raising", "unknown format {}; known: {}",
    # Names of columns, parameters and products that are looked for.
    "1 hour", "per hour", "Region Code", "Instance Type", "License Model", "Operating System",
    "Pre Installed S/W", "Compute Instance", "Publication Date", "Product Family", "on demand",
    "instance type", "a price per hour",
    "x7 on arn:aws:s3:::x7",
    # Parts of sentences and of names: the sentences are tried below.
    "gzip data", "xz data", "zstd data", "bzip2 data", "tar member", "zip member", "end of data",
    "its first file", "unexpected end of data", "unexpected content after document",
    "JSON cut short", "no price data: no list of prices in the JSON", "not valid JSON",
    # What was left aside, counted by kind, is a part of one sentence.
    "record without a term", "preinstalled software", "usage that is not BoxUsage",
    "term other than on-demand", "demo: p2 and p3 Spot prices, 2019-12 to 2020-03",
    "x7 or x7.", "broken (x7)", "no on-demand price of an instance hour in itx7x7",
}  # fmt: skip
OTHER_STARTS = (
    "SELECT", "CREATE", "WITH ", "INSERT", "COPY", "DELETE", "UPDATE", "DROP", "ALTER", "FROM ", "JOIN ",
    "x7 is a price", "unknown format", "x7: x7", "x7, x7, x7", "x7 (", "x7 x7", "x7: AWS Spot prices",
    "DescribeSpotPriceHistory x7", "term x7", "product family x7", "tenancy x7", "capacity status x7",
    "; x7 is near", "; or say it of the whole file",
)  # fmt: skip


def sample(node: ast.AST) -> str | None:
    """A text as it would be made: each value stands as x7."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "x7" for v in node.values)
    return None


def messages(path: str) -> list[str]:
    """The texts of a module with a blank in them, without its docstrings."""
    tree = ast.parse((ROOT / path).read_text())
    within: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            within |= {id(inner) for inner in ast.walk(node) if inner is not node}
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            within |= {id(inner) for inner in ast.walk(node.body[0])}
    found = (sample(node) for node in ast.walk(tree) if id(node) not in within)
    return [text for text in found if text and " " in text.strip()]


@pytest.mark.parametrize("path", SOURCES)
def test_each_message_of_the_code_is_a_sentence_of_the_list(path: str) -> None:
    unknown = [
        text
        for text in messages(path)
        if text not in OTHER
        and not text.strip().startswith(OTHER_STARTS)
        and not all(part.isidentifier() for part in text.replace(",", " ").split())
        and not any(sign in text for sign in ("\\d", "[A-Z", '"at"', "make_timestamp"))
        and sentence_of(text) is None
    ]
    assert unknown == []


COMPOSED = {
    "AWS does not allow this while reading bills/m.json: the role needs s3:GetObject on arn:aws:s3:::b/*. "
    "AWS says AccessDenied: no.": (
        "读取 bills/m.json时 AWS 不允许：该角色需要 s3:GetObject on arn:aws:s3:::b/*。"
        "AWS 的说明 AccessDenied：no。"
    ),
    "The object is gone while listing s3://b/p: the delivery is being replaced.\n"
    "No usable AWS credentials while reading daily costs (ce:GetCostAndUsage). Give the service a role "
    "(instance profile, task role, environment) or name a role in the feed, then run check_permissions.": (
        "列出 s3://b/p时对象已不存在：交付正在被替换。\n"
        "读取每日费用（ce:GetCostAndUsage）时没有可用的 AWS 凭证。"
        "请给服务一个角色（实例配置文件、任务角色、环境变量），"
        "或在数据源中指定角色，然后运行 check_permissions。"
    ),
    "invalid price: 'a,5' has a decimal comma": "价格无效：'a,5' 用了逗号作小数点",
    "invalid price: 0.000000 is not above zero": "价格无效：0.000000 不大于零",
    "JSON cut short: unexpected end of data": "JSON 被截断：unexpected end of data",
    "JSON cut short (after byte 77)": "JSON 被截断（第 77 字节之后）",
    "no price data: no list of prices in the JSON (after byte 7)": (
        "不是价格数据：JSON 中没有价格列表（第 7 字节之后）"
    ),
    "not valid JSON: bad value": "不是有效的 JSON：bad value",
    "not valid JSON in line 3: bad value counted from byte 90": (
        "第 3 行不是有效的 JSON：bad value（从第 90 字节算起）"
    ),
    "archive broken at a/b.json: gzip data cut short after 12 bytes": (
        "归档在 a/b.json 处损坏：gzip data在 12 字节后被截断"
    ),
    "archive broken at its first file: packed more than 3 times over": (
        "归档在第一个文件处损坏：重复打包超过 3 层"
    ),
    "gzip data broken (bad crc) after 5 bytes": "gzip data在 5 字节后损坏（bad crc）",
    "cut short at character 13062 (line 13061)": "被截断，在第 13062 个字符（第 13061 行）",
    "no on-demand price of an instance hour in it: term Reserved (2)": (
        "其中没有按需实例小时价格：term Reserved (2)"
    ),
    "no on-demand price of an instance hour in it": "其中没有按需实例小时价格",
    "not a name of a region: 'x y'": "不是区域的名称：'x y'",
    "two columns for the time: 'a' and 'b'": "时间有两列：'a' 和 'b'",
    "AWS limits the rate of calls while reading Spot prices of r-1, page 2. AWS says Throttling: slow.": (
        "读取 r-1 的竞价价格第 2 页时 AWS 限制了调用频率。AWS 的说明 Throttling：slow。"
    ),
    "AWS refused the call while launching in eu-west-1. AWS says Odd: no.": (
        "在 eu-west-1 启动机器时 AWS 拒绝了调用。AWS 的说明 Odd：no。"
    ),
    "The cluster refused looking for Jobs: Forbidden: no": "查找 Job时集群拒绝了调用：Forbidden：no",
    "cloud: this cluster is not allowed for the organisation.": "cloud：该集群未获准供本组织使用。",
    "The discount must be at least 0 % and below 100 %.": "折扣必须不小于 0% 且小于 100%。",
}


@pytest.mark.parametrize(("text", "chinese"), COMPOSED.items())
def test_sentences_of_sentences(text: str, chinese: str) -> None:
    with translation.override("zh-hans"):
        assert reason_text(text) == chinese
    with translation.override("en"):
        assert reason_text(text) == text


def test_no_sentence_hides_another() -> None:
    """Each sentence, filled in, is found as itself."""
    for one in SENTENCES:
        filled = one.replace("%%", "%")
        filled = re.sub(r"%\(\w+\)s", "x7", filled)
        assert "%(" not in filled
        found = sentence_of(filled)
        assert found is not None
        assert found[0] == one


def test_what_is_not_known_stays_as_it_is() -> None:
    with translation.override("zh-hans"):
        assert (
            reason_text("ValueError: something nobody thought of")
            == "ValueError: something nobody thought of"
        )
        assert reason_text("") == ""
