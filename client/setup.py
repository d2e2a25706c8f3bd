"""Build step: the wheel takes along the modules of the server that price a plan (see offpeak/engine.py)."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

REPOSITORY = Path(__file__).resolve().parent.parent
# Modules and data that `offpeak check --offline` and its comment import; a test holds this list complete.
ENGINE = (
    "apps/__init__.py",
    "apps/costchecks/__init__.py",
    "apps/costchecks/comment.py",
    "apps/costchecks/document.py",
    "apps/costchecks/wording.py",
    "finops/__init__.py",
    "finops/redact.py",
    "finops/words.py",
    "finops/engine/__init__.py",
    "finops/engine/commitments/__init__.py",
    "finops/engine/commitments/cost.py",
    "finops/engine/spend.py",
    "finops/engine/storage/__init__.py",
    "finops/engine/storage/bill.py",
    "finops/engine/checks",
    "finops/frames/__init__.py",
    "finops/frames/check_words.py",
    "finops/frames/cost_items.py",
    "finops/frames/list_prices.py",
    "finops/frames/money.py",
    "finops/frames/region_carbon.py",
    "finops/frames/resource_prices.py",
    "finops/frames/state_document.py",
    "finops/frames/storage_classes.py",
    "finops/frames/usage_file.py",
    "finops/frames/data/currencies.txt",
    "finops/frames/data/region_carbon.csv",
    "finops/frames/data/resource_prices.csv",
    "finops/frames/data/storage_classes.csv",
    "finops/frames/data/storage_first_bands.csv",
    "finops/frames/data/storage_moves.csv",
    "finops/frames/data/storage_price_bands.csv",
    "finops/frames/data/storage_retrievals.csv",
    "finops/frames/data/storage_tiers.csv",
    "finops/providers/__init__.py",
    "finops/providers/kubernetes/__init__.py",
    "finops/providers/kubernetes/manifests.py",
    "finops/providers/terraform",
    "finops/providers/workload",
    "finops/text/__init__.py",
    "finops/text/addresses.py",
    "finops/text/numbers.py",
)


class BuildWithEngine(build_py):
    """The package with the engine in `offpeak/_engine`."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not (REPOSITORY / "finops" / "engine" / "checks").is_dir():
            raise SystemExit("the engine is not there: install the client from the repository")
        target = Path(self.build_lib) / "offpeak" / "_engine"
        for name in ENGINE:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(
                    source, target / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target / name)


setup(cmdclass={"build_py": BuildWithEngine})
