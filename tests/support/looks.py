"""What is asked of every page in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SHOTS = Path(__file__).resolve().parents[2] / "var" / "screenshots"
NARROWEST = 320
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def look_at(
    visit: Callable[..., Page], address: str, *, name: str, width: int, theme: str, language: str
) -> None:
    """The page has a heading, never scrolls sideways, has no serious finding of axe, and leaves a picture."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = visit(address, width=width, theme=theme, language=language)
    assert page.locator("h1").inner_text().strip()
    assert page.evaluate(OVERFLOW) == 0, (name, width)
    page.screenshot(path=SHOTS / f"{name}-{width}-{theme}-{language}.png", full_page=True)
    found = Axe().run(page).response["violations"]
    serious = [
        (v["id"], [node["html"][:160] for node in v["nodes"]][:3]) for v in found
        if v["impact"] in ("serious", "critical")
    ]  # fmt: skip
    assert serious == [], (name, width, theme, serious)
    page.set_viewport_size({"width": NARROWEST, "height": 900})
    for _moment in range(50):  # charts follow the window a moment later
        if page.evaluate(OVERFLOW) == 0:
            break
        page.wait_for_timeout(100)
    assert page.evaluate(OVERFLOW) == 0, (name, NARROWEST)
    page.context.close()
