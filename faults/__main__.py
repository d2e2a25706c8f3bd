"""`make faults [ARGS="--launches 500 --kills 50"]`: exit code 0 only where nothing was lost or done twice."""

from __future__ import annotations

import argparse
import json
import sys

from faults.launches import Script, run


def main() -> int:
    """Play the script and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    defaults = Script()
    parser.add_argument("--launches", type=int, default=defaults.launches)
    parser.add_argument("--workers", type=int, default=defaults.workers)
    parser.add_argument("--beats", type=int, default=defaults.beats)
    parser.add_argument("--kills", type=int, default=defaults.kills)
    parser.add_argument("--spread", type=float, default=defaults.spread, help="seconds")
    parser.add_argument("--lose", type=float, default=defaults.lose, help="share of answers that are lost")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    given = parser.parse_args()
    figures = run(Script(**vars(given)), say=lambda text: print(text, file=sys.stderr))
    print(json.dumps(figures, indent=2))
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
