"""Static files that an installed package carries: plotly.js is served from its wheel, not copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PREFIX = "plotly"
FILES = ("plotly.min.js",)  # its first lines hold the MIT notice


class PlotlyFinder(BaseFinder):
    """`plotly/plotly.min.js` in the package data of the installed plotly."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.folder = Path(plotly.__file__).parent / "package_data"
        self.storage = FileSystemStorage(location=str(self.folder))
        # collectstatic writes a file below its storage's prefix.
        self.storage.prefix = PREFIX  # type: ignore[attr-defined]

    def check(self, **kwargs: Any) -> list[Any]:
        """Nothing to configure, so nothing to check."""
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """The file's place on disk; [] for anything that is not ours."""
        names = {f"{PREFIX}/{name}": self.folder / name for name in FILES}
        hit = names.get(path.replace("\\", "/"))
        if hit is None or not hit.is_file():
            return []
        return [str(hit)] if find_all else str(hit)

    def list(self, ignore_patterns: Any) -> Any:
        """Pairs of (name, storage) for collectstatic."""
        return [(name, self.storage) for name in FILES]
