"""The kinds of bills there are, and which one a header is."""

from __future__ import annotations

from collections.abc import Sequence

from finops.providers.alibaba import bills as alibaba
from finops.providers.aws import bills as aws
from finops.providers.aws.bills_cost_explorer import CostExplorerTotals
from finops.providers.azure import bills as azure
from finops.providers.bills import BillKind, Recognition
from finops.providers.files import UnreadableError
from finops.providers.focus.bills import Focus
from finops.providers.focus.demo import DemoBill
from finops.providers.gcp import bills as gcp
from finops.providers.tencent import bills as tencent

KINDS: tuple[BillKind, ...] = (
    *aws.KINDS,
    *azure.KINDS,
    *gcp.KINDS,
    *alibaba.KINDS,
    *tencent.KINDS,
    Focus(),
    CostExplorerTotals(),
)
DEMO = DemoBill()
BY_NAME = {kind.name: kind for kind in (*KINDS, DEMO)}
GIVE_WAY = tuple(kind.name for kind in BY_NAME.values() if kind.gives_way)
AUTO = "auto"
NAMES = (AUTO, *(kind.name for kind in KINDS))


def recognise(headers: Sequence[str], wanted: str = AUTO) -> BillKind:
    """The kind whose header this is. Raises UnreadableError naming the nearest one and what it lacks,
    or needed columns that are there twice: nothing tells which of them counts.
    """
    kinds = KINDS if wanted == AUTO else (BY_NAME[wanted],)
    found = [kind.recognise(headers) for kind in kinds]
    fitting = [f for f in found if f.fits]
    if fitting:
        best = max(fitting, key=lambda f: f.score)
        if best.ambiguous:
            raise UnreadableError(f"columns of one meaning: {', '.join(best.ambiguous)}")
        return best.kind
    raise UnreadableError(_refusal(found))


def _refusal(found: Sequence[Recognition]) -> str:
    nearest = max(found, key=lambda f: (f.score, -len(f.missing)))
    lacks = ", ".join(nearest.missing)
    word = "column" if len(nearest.missing) == 1 else "columns"
    if nearest.score == 0:
        names = ", ".join(kind.title for kind in KINDS)
        return f"no kind of bill has such columns; known: {names}"
    return f"not a bill that is known; nearest: {nearest.kind.title}, without its {word} {lacks}"
