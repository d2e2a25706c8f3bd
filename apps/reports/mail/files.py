"""Files that go with a mail by choice: the week's table as CSV, the mail as PDF."""

from __future__ import annotations

import base64
import logging
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
from django.utils.translation import gettext as _

from apps.reports.mail.letter import Letter
from apps.reports.mail.render import chart_id, html_of
from apps.reports.selectors.week import WeekSpend
from finops.text import display as fmt
from finops.text.csv_cells import Column, csv_lines

log = structlog.get_logger(__name__)

COLUMNS = (
    Column("week", "week"),
    Column("from", "from"),
    Column("to", "to (excluded)"),
    Column("service", "service"),
    Column("cost", "cost", "number"),
    Column("cost_before", "cost_before", "number"),
    Column("change", "change", "number"),
    Column("currency", "currency"),
    Column("basis", "basis"),
)
PRINT = """@page { size: A4; margin: 12mm } body, .ground { background: #fff !important }
.card { border: 0 !important } tr, img { page-break-inside: avoid } h2 { page-break-after: avoid }
.hidden { display: none !important }"""
# Dark mode and small screens mean nothing on paper.
_SCREEN_ONLY = re.compile(r"<style data-css-inline=\"keep\">.*?</style>", re.DOTALL)
_CJK_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", str(Path.home() / ".fonts"))


class NoPdfError(Exception):
    """This machine cannot write the PDF; the text says what is missing."""


def csv_of(spend: WeekSpend, basis: str) -> bytes:
    """Every service with its exact cost, not only those that the mail shows."""
    return "".join(csv_lines(COLUMNS, _rows(spend, basis))).encode()


def _rows(spend: WeekSpend, basis: str) -> Iterator[dict[str, Any]]:
    if spend.compared is None:
        return
    after = spend.compared.after
    for one in spend.currencies:
        for part in one.drivers:
            yield {
                "week": spend.week.label,
                "from": after.start.isoformat(),
                "to": after.end.isoformat(),
                "service": part.key[0] or "",
                "cost": part.change.after,
                "cost_before": part.change.before,
                "change": part.change.delta,
                "currency": one.currency,
                "basis": basis,
            }


def pdf_of(letter: Letter) -> bytes:
    """The mail on A4. Raises NoPdfError with what to install."""
    if fmt.is_zh(letter.language) and not has_chinese():
        raise NoPdfError(_("The PDF is left out: this server has no Chinese font (fonts-noto-cjk)."))
    try:
        import weasyprint
        from weasyprint.urls import URLFetcher
    except (ImportError, OSError) as error:  # Pango is a library of the system
        log.warning("pdf_not_made", error=str(error)[:200])
        raise NoPdfError(_("The PDF is left out: this server lacks Pango (libpango-1.0-0).")) from error
    for name in ("weasyprint", "weasyprint.progress"):
        logging.getLogger(name).setLevel(logging.ERROR)
    page = _SCREEN_ONLY.sub("", html_of(letter, personal=False))
    if letter.chart is not None and letter.chart.png:
        data = base64.b64encode(letter.chart.png).decode()
        page = page.replace(f"cid:{chart_id(letter)}", f"data:image/png;base64,{data}")
    # Nothing is fetched for a PDF but what the page carries.
    fetcher = URLFetcher(allowed_protocols=["data"], allow_redirects=False)
    found: bytes = weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf(
        stylesheets=[weasyprint.CSS(string=PRINT)]
    )
    return found


@lru_cache(maxsize=1)
def has_chinese() -> bool:
    """Whether a font of the machine writes Chinese."""
    tool = shutil.which("fc-list")
    if tool is not None:
        found = subprocess.run([tool, ":lang=zh-cn", "family"], capture_output=True, text=True, timeout=20)
        return bool(found.stdout.strip())
    names = ("CJK", "wqy", "NotoSansSC", "SourceHanSans")
    return any(
        any(name in path.name for name in names)
        for folder in _CJK_FOLDERS
        for path in Path(folder).rglob("*.?t?")
    )
