"""`make bench`: run every bench of this folder in order, each in a process of its own.

A bench is a module that runs as a program and prints its lines. Those on real data read OFFPEAK_BENCH_DATA;
without it their line says "not run: no data". Names given as arguments choose some of them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RUNS = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)


def benches() -> list[str]:
    """Return the names of the modules that run as a program."""
    found = [
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in sorted(FOLDER.rglob("*.py"))
        if not path.name.startswith("_") and RUNS.search(path.read_text())
    ]
    return found


def main() -> int:
    """Run them all; the exit code is 1 when one failed."""
    chosen = sys.argv[1:]
    if not os.environ.get("OFFPEAK_BENCH_DATA"):
        print("OFFPEAK_BENCH_DATA is not set: benches on real data are not run.", flush=True)
    failed = []
    for name in benches():
        if chosen and name not in chosen:
            continue
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=FOLDER.parent, check=False).returncode:
            failed.append(name)
    if failed:
        print("failed: " + ", ".join(failed), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
