"""The replay of recorded fits in `benchmarks/tunnel`: real sessions on a fake clock, without models or data."""

import sys
from importlib import import_module
from pathlib import Path

# The benchmarks are scripts, not a package: each imports from its own folder.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tunnel"))
adversaries, forecast, nights, recording, replay, runner, table = map(
    import_module, ("adversaries", "forecast", "nights", "recording", "replay", "runner", "table")
)
