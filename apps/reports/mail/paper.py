"""A letter on A4: drawn from its parts by a library that needs nothing of the system, fonts neither.

Latin text is set in the Vera fonts that ReportLab brings; Chinese, in either language's report, in the
reader's own Song face, which the PDF names and does not carry.
"""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import reportlab
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import CondPageBreak, Flowable, Image, Paragraph, SimpleDocTemplate, Spacer, Table

from apps.reports.mail.chart import HEIGHT, WIDTH
from apps.reports.mail.letter import Letter
from apps.reports.sections import Block, Cell

INK, GREY, ACCENT, RULE, WARN = "#1B1D22", "#5B5F68", "#3A48B8", "#D8D8D2", "#9A5B00"
MARGIN = 16 * mm
WIDE = A4[0] - 2 * MARGIN
LATIN, BOLD, CHINESE = "Vera", "VeraBd", "STSong-Light"
_CHINESE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f]+")
# What no font draws: control characters, which the XML of a paragraph refuses as well.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@cache
def _fonts() -> None:
    folder = Path(reportlab.__file__).parent / "fonts"
    pdfmetrics.registerFont(TTFont(LATIN, folder / "Vera.ttf"))
    pdfmetrics.registerFont(TTFont(BOLD, folder / "VeraBd.ttf"))
    pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))


def _style(
    name: str, size: float, colour: str = INK, *, bold: bool = False, right: bool = False
) -> ParagraphStyle:
    return ParagraphStyle(
        name,
        fontName=BOLD if bold else LATIN,
        fontSize=size,
        leading=size * 1.35,
        textColor=HexColor(colour),
        alignment=TA_RIGHT if right else 0,
        wordWrap="CJK",
        spaceAfter=size * 0.35,
    )


TITLE, TEXT, SMALL = _style("title", 15, bold=True), _style("text", 9), _style("small", 7.5, GREY)
HEAD, VALUE = _style("head", 10.5, bold=True), _style("value", 13, bold=True)
LEFT, RIGHT = _style("left", 8.5), _style("right", 8.5, right=True)
TOP, TOP_RIGHT = _style("top", 7.5, GREY), _style("top right", 7.5, GREY, right=True)
SUM, SUM_RIGHT = _style("sum", 8.5, bold=True), _style("sum right", 8.5, bold=True, right=True)
SAID = _style("said", 8.5, WARN)


def pdf_of(letter: Letter) -> bytes:
    """The letter as PDF, without links of one reader; the same letter gives the same bytes."""
    _fonts()
    out = io.BytesIO()
    paper = SimpleDocTemplate(
        out, pagesize=A4, leftMargin=MARGIN, rightMargin=MARGIN, topMargin=MARGIN, bottomMargin=MARGIN,
        title=letter.subject, author="Offpeak", invariant=1,
    )  # fmt: skip
    paper.build(_story(letter))
    return out.getvalue()


def _story(letter: Letter) -> list[Flowable]:
    story: list[Flowable] = [_line(f"Offpeak · {letter.edition}", SMALL), _line(letter.title, TITLE)]
    story += [_line(letter.lead, TEXT)] if letter.lead else []
    story += [Spacer(0, 6), _figures(letter), Spacer(0, 8)] if letter.figures else []
    if letter.chart is not None:
        story += [_line(letter.chart.finding, HEAD), _line(letter.chart.measure, SMALL)]
        if letter.chart.png:
            story.append(Image(io.BytesIO(letter.chart.png), WIDE, WIDE * HEIGHT / WIDTH))
    blocks = sorted((block for _name, block in letter.sections), key=lambda block: block.warn)
    for block in blocks:
        story += _block(block)
    story += [Spacer(0, 10), _line(" · ".join(letter.source), SMALL), _line(letter.schedule, SMALL)]
    return story


def _figures(letter: Letter) -> Table:
    cells = [
        [_line(one.label, SMALL), _line(one.value, VALUE), _line(one.note, SMALL)] for one in letter.figures
    ]
    return Table(
        [cells],
        colWidths=[WIDE / len(cells)] * len(cells),
        style=[("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, -1), 0)],
    )


def _block(block: Block) -> list[Flowable]:
    found: list[Flowable] = [CondPageBreak(40 * mm), Spacer(0, 8), _line(block.title, HEAD)]
    found += [_line(block.measure, SMALL)] if block.measure else []
    if block.rows:
        found.append(_table(block))
    return found + [_line(note, SAID if block.warn else SMALL) for note in block.notes]


def _table(block: Block) -> Table:
    count = len(block.columns)
    rows = [[_line(c.title, TOP if i == 0 else TOP_RIGHT) for i, c in enumerate(block.columns)]]
    rows += [_cells(row, LEFT, RIGHT) for row in block.rows]
    rows += [_cells(block.total, SUM, SUM_RIGHT)] if block.total else []
    first = WIDE * (0.46 if count > 2 else 0.6)
    style = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (0, -1), 0),
        ("RIGHTPADDING", (-1, 0), (-1, -1), 0),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, HexColor(RULE)),
        ("TOPPADDING", (0, 0), (-1, -1), 3),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1),
    ]
    others = (WIDE - first) / max(1, count - 1)
    return Table(rows, colWidths=[first, *[others] * (count - 1)], style=style, repeatRows=1)


def _cells(row: tuple[Cell, ...], left: ParagraphStyle, right: ParagraphStyle) -> list[list[Flowable]]:
    return [
        [
            _line(cell.text, left if place == 0 else right),
            *([_line(cell.sub, TOP if place == 0 else TOP_RIGHT)] if cell.sub else []),
        ]
        for place, cell in enumerate(row)
    ]


def _line(text: str, style: ParagraphStyle) -> Paragraph:
    """A paragraph of plain text: nothing in it is markup, and each character has a font that draws it."""
    safe = escape(_UNSEEN.sub("", text))
    return Paragraph(_CHINESE.sub(lambda run: f'<font name="{CHINESE}">{run[0]}</font>', safe), style)
