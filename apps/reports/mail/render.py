"""A letter as HTML with its styles inside each element, and as plain text that says the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import css_inline
from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from apps.reports.mail.letter import UNSUBSCRIBE, Letter
from apps.reports.sections import Block, Cell
from finops.text import display as fmt

CHART = "days"
WIDTH = 76
# Keeps mail programs from showing the first words of the mail behind the preheader.
FILLER = range(60)
_SPACE = re.compile(r">\s+<")


def chart_id(letter: Letter) -> str:
    """The Content-ID of the chart inside its message."""
    return f"{CHART}@offpeak" if letter.chart and letter.chart.png else ""


def html_of(letter: Letter) -> str:
    """The mail's HTML."""
    page = render_to_string(
        "reports/mail.html",
        {
            "letter": letter,
            "heading": accent(letter.heading),
            "cid": chart_id(letter),
            "filler": FILLER,
            "unsubscribe": UNSUBSCRIBE,
        },
    )
    inlined = css_inline.CSSInliner(load_remote_stylesheets=False).inline(page)
    return _SPACE.sub(">\n<", inlined)


def accent(sentence: str) -> SafeString:
    """The heading with its figure in accent; everything is escaped."""
    safe = str(conditional_escape(sentence))
    return mark_safe(re.sub(r"\[\[(.+?)\]\]", r'<span class="key">\1</span>', safe))  # noqa: S308 - escaped above


def text_of(letter: Letter) -> str:
    """The mail as plain text: the same sentences and figures, in columns."""
    lines = [letter.edition, "", *_wrapped(letter.title), ""]
    lines += [*_wrapped(letter.lead), ""] if letter.lead else []
    width = max(_cells(one.label) for one in letter.figures)
    for one in letter.figures:
        note = f" ({one.note})" if one.note else ""
        lines += _wrapped(f"{_left(one.label, width)}  {one.value}{note}", indent=width + 2)
    if letter.chart is not None:
        lines += ["", *_wrapped(letter.chart.finding), *_wrapped(letter.chart.measure)]
    for _name, block in letter.sections:
        lines += ["", *_block(block)]
    lines += ["", f"{letter.button[0]}: {letter.button[1]}"] if letter.button[1] else []
    lines += ["", "-- ", *_wrapped(" · ".join(letter.source)), *_wrapped(letter.schedule)]
    if letter.open_link:
        lines.append(f"{_('Open this report')}: {letter.open_link}")
    lines.append(f"{_('Change')}: {letter.change_link}")
    lines.append(f"{_('Unsubscribe')}: {UNSUBSCRIBE}")
    return "\n".join(line.rstrip() if line != "-- " else line for line in lines) + "\n"


def _block(block: Block) -> list[str]:
    mark = "! " if block.warn else ""
    lines = [mark + block.title, "-" * (_cells(block.title) + len(mark))]
    lines += _wrapped(block.measure) if block.measure else []
    if block.rows:
        lines += _table(block)
    for note in block.notes:
        lines += _wrapped(note)
    return lines


def _table(block: Block) -> list[str]:
    """Numbers right, under each other; second lines and links below their row."""
    every = [tuple(Cell(column.title) for column in block.columns), *block.rows]
    every += [block.total] if block.total else []
    count = len(block.columns)
    widths = [max(_cells(row[i].text) for row in every if i < len(row)) for i in range(count)]
    first = min(widths[0], max(20, WIDTH - sum(widths[1:]) - 2 * (count - 1)))
    lines: list[str] = []
    for row in every:
        if row is block.total and block.total:
            lines.append("-" * min(WIDTH, first + sum(widths[1:]) + 2 * (count - 1)))
        name = _wrapped(row[0].text, width=first)
        numbers = "".join("  " + _right(cell.text, widths[i]) for i, cell in enumerate(row[1:], start=1))
        lines.append(_left(name[-1], first) + numbers) if len(name) == 1 else lines.extend(
            [*name[:-1], _left(name[-1], first) + numbers]
        )
        subs = [cell.sub for cell in row[:1] if cell.sub]
        for column, cell in zip(block.columns[1:], row[1:], strict=False):
            # A bare figure says which column it is of; a sentence speaks for itself.
            figure = cell.sub[:1].isdigit() or cell.sub.startswith(fmt.MINUS)
            subs += [f"{column.title} {cell.sub}" if figure else cell.sub] if cell.sub else []
        lines += _wrapped("  " + " · ".join(subs), indent=2) if subs else []
        lines += [f"  {cell.link}" for cell in row[:1] if cell.link]
    return lines


def _cells(text: str) -> int:
    """How many columns a text takes: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _left(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _right(text: str, width: int) -> str:
    return " " * (width - _cells(text)) + text


def _wrapped(text: str, *, width: int = WIDTH, indent: int = 0) -> list[str]:
    """Lines of at most `width` columns, broken at blanks, in Chinese also between characters."""
    lines: list[str] = []
    line = ""
    for word in _words(text):
        if line.strip() and _cells(line + word.rstrip()) > width:
            lines.append(line.rstrip())
            line, word = " " * indent, word.lstrip()
        line += word
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _words(text: str) -> Sequence[str]:
    """Pieces after which a line may break."""
    return re.findall(
        r"[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]*\s+|[^\s\u2e80-\u9fff\uff00-\uffef]+",
        text,
    )
