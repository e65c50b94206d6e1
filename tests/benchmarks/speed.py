"""How fast it is, as ratios within one run: python tests/benchmarks/speed.py

Processor time, medians. A machine's speed cancels in ratios; the absolute numbers are for the eye.
Where PYTHONDONTWRITEBYTECODE is set, a checkout is compiled anew in every cold run.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count

import numpy as np

import varprop

RUNS = 9
_UNSEEN = count(1)


def seconds(action: Callable[[], object], repeats: int = 200) -> float:
    """Median processor time of one call in this process."""
    action()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times)


def child_seconds(*arguments: str) -> float:
    """Processor time, user and system, of one run of Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def unseen() -> object:
    """Predict with an embedding scale that nothing can have cached, and read one attribute."""
    return varprop.predict(embedding_scale=1 + next(_UNSEEN) / 1024)["logits"].variance


def million() -> object:
    """Predict for 10**6 embedding scales at once, and read one attribute."""
    return varprop.predict(embedding_scale=np.linspace(1, 2, 10**6))["logits"].variance


def main() -> None:
    """Print each time beside its limit, and the ratios."""
    one, many = seconds(unseen), seconds(million, 5)
    print(f"predict and one attribute, scale not seen before: {one * 1e6:8.1f} us    limit 200 us")
    print(
        f"10**6 scales in one call:                         {many * 1e3:8.1f} ms    limit 1000 ms"
    )
    print(f"  a scale in it beside a call of its own:         {many / 1e6 / one:8.5f}")
    commands = {
        "varprop predict --json": ("-m", "varprop", "predict", "--json"),
        "import varprop": ("-c", "import varprop"),
        "import click": ("-c", "import click"),
        "nothing": ("-c", ""),
    }
    runs: dict[str, list[float]] = {name: [] for name in ("import numpy", *commands)}
    for _ in range(RUNS):  # in turn, so that a change of the machine's speed meets all of them
        runs["import numpy"].append(child_seconds("-c", "import numpy"))
        for name, arguments in commands.items():
            runs[name].append(child_seconds(*arguments))
    print(f"import numpy, cold: {statistics.median(runs['import numpy']):.3f} s; beside it")
    for name in commands:
        ratios = [a / b for a, b in zip(runs[name], runs["import numpy"], strict=True)]
        limit = "    limit 2.5" if "--json" in name else ""
        print(f"  {name:30} {statistics.median(ratios):5.2f}{limit}")


if __name__ == "__main__":
    main()
