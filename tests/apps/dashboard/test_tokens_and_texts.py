"""The two dark blocks are alike; every text has its Chinese one; the compiled catalogue is the source's."""

import ast
import gettext
import re
from pathlib import Path

from apps.dashboard.words import ENGINE_MESSAGES

ROOT = Path(__file__).resolve().parents[3]
TOKENS = (ROOT / "static/css/tokens.css").read_text()
PO = ROOT / "locale/zh_Hans/LC_MESSAGES/django.po"


def declared(block: str) -> dict[str, str]:
    return dict(re.findall(r"(--[a-z0-9-]+):\s*([^;]+);", block))


def test_dark_by_choice_and_dark_by_device_are_one_palette() -> None:
    chosen, device = TOKENS.split('[data-theme="dark"] {')[1].split("@media (prefers-color-scheme: dark)")
    assert declared(chosen) == declared(device)
    assert len(declared(chosen)) == 44


def test_the_colours_are_those_of_the_language() -> None:
    light = declared(TOKENS.split('[data-theme="dark"]')[0])
    assert (light["--paper"], light["--accent"], light["--c2"], light["--d3"]) == (
        "#f7f7f4", "#3a48b8", "#c96a0a", "#9a4a06",
    )  # fmt: skip


def test_nothing_is_fetched_from_elsewhere() -> None:
    for path in [
        *ROOT.glob("static/**/*.css"),
        *ROOT.glob("static/**/*.js"),
        *ROOT.glob("templates/**/*.html"),
    ]:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//cdn", text), path
        assert not re.search(r"<script(?![^>]*(src=|application/json))|\son[a-z]+=", text), path


def entries() -> list[tuple[str, str]]:
    found = []
    for block in PO.read_text().split("\n\n")[1:]:
        source = re.search(r'^msgid ((?:".*"\n?)+)', block, re.M)
        target = re.search(r'^msgstr(?:\[0\])? ((?:".*"\n?)+)', block, re.M)
        assert source is not None
        assert target is not None
        context = re.search(r'^msgctxt "(.*)"', block, re.M)
        within = f"{context[1]}\x04" if context is not None else ""
        found.append((within + joined(source[1]), joined(target[1])))
    return found


def joined(quoted: str) -> str:
    text = "".join(re.findall(r'"(.*)"', quoted))
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def test_every_text_has_a_chinese_one_with_the_same_places() -> None:
    for source, target in entries():
        assert target.strip(), source
        assert set(re.findall(r"%\((\w+)\)", source)) == set(re.findall(r"%\((\w+)\)", target)), source


def test_the_compiled_catalogue_is_that_of_the_source() -> None:
    with PO.with_suffix(".mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    compiled = {(key[0] if isinstance(key, tuple) else key): text for key, text in catalogue.items() if key}
    assert compiled == dict(entries())


def test_the_sentences_of_the_engine_are_listed_for_translation() -> None:
    found = set()
    for name in ("quality", "profile", "claim"):
        tree = ast.parse((ROOT / f"finops/engine/{name}.py").read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found |= {
            node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in docs and re.fullmatch(r"\S+ .*\.", node.value)
        }  # fmt: skip
    assert found == set(ENGINE_MESSAGES)
    assert found <= {source for source, _target in entries()}
