"""Monte Carlo: draw a front of a Transformer many times over and look at what comes out.

    m = varprop.measure(d_model=64, n_heads=4, replicates=500, seed=0)
    m.logits.variance             # Estimate(value=..., stderr=...)

Replicates come in blocks. A block's size depends on the spec only, its random numbers on the seed
and its index only, and blocks are merged in order, so the result is the same to the last bit
however many workers share the work. (The last bits of a matrix product are up to the BLAS library:
they may differ between machines, or if its own number of threads is changed.)
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from varprop.fields.named import Named
from varprop.fields.validation import refusal
from varprop.simulation.draws import Draws, Layout
from varprop.simulation.measurement import Measurement
from varprop.simulation.progress import Reporter
from varprop.simulation.statistics import Pilot, StageStatistics
from varprop.spec import TransformerSpec, resolve
from varprop.stages import OUTCOMES, STAGES

PLACE_BUDGET = 2**21
"""Numbers that depend on positions, per replicate; all positions are used if they fit in it."""

WEIGHT_BUDGET = 2**22
"""Weights per replicate; heads are alike, those that do not fit in it are left out."""

BLOCK_BUDGET = 2**19
"""Numbers per block if replicates are small, so that a block stays in the processor's cache."""

SUBSET = 128
"""Positions per replicate where not all fit: about where they cost as much as the weights."""

LARGEST_WEIGHT = 2**27
"""Entries of one head's projection, 1 GB, beyond which nothing is simulated."""

Pilots = dict[str, Pilot]
Statistics = dict[str, StageStatistics]


def measure(
    spec: TransformerSpec | None = None,
    /,
    *,
    replicates: int = 2000,
    seed: int = 0,
    progress: bool | None = None,
    workers: int | None = None,
    full: bool = False,
    **fields: Any,
) -> Measurement:
    """Simulate what `predict` predicts: the same stages and attributes, with standard errors.

    Args:
        spec: a `TransformerSpec`; None for the defaults.
        replicates: independent draws of token ids, tables, masks, weights and biases, at least 2.
        seed: a non-negative integer; the same seed gives the same numbers to the last bit.
        progress: False never shows a bar; otherwise one appears on stderr if that is a terminal
            and the work takes over a second.
        workers: threads, by default one for each processor; the result does not depend on their
            number. NumPy's own threads are switched off meanwhile: they would change last bits.
        full: True simulates the stages behind the logits at once, and lists them; otherwise that
            happens when one is read.
        **fields: changes to the spec; arrays are refused.

    Raises:
        ValueError, TypeError: an argument or field is wrong, before any work is done.
    """
    _require_integer("replicates", replicates, 2)
    _require_integer("seed", seed, 0)
    workers = (os.cpu_count() or 1) if workers is None else workers
    _require_integer("workers", workers, 1)
    if not (progress is None or isinstance(progress, bool)):
        raise TypeError(refusal("progress", "True, False or None", progress))
    if not isinstance(full, bool):
        raise TypeError(refusal("full", "True or False", full))
    resolved = resolve(spec, fields)
    _refuse_arrays(resolved)
    layout = choose_layout(resolved)
    return _run(resolved, layout, int(replicates), int(seed), progress, workers, full)


def choose_layout(spec: TransformerSpec, place_budget: int = PLACE_BUDGET) -> Layout:
    """Fit a replicate into memory: all places if possible, else a random subset of positions.

    Raises:
        ValueError: a single head's projection is too large to draw.
    """
    weight: int = spec.d_head * spec.d_model
    projections = (spec.query, spec.key)
    drawn = sum(weight for projection in projections if projection != "identity")
    if drawn and weight > LARGEST_WEIGHT:
        raise ValueError(
            f"d_model={spec.d_model}, d_head={spec.d_head}: one head's projection has {weight:.3g} "
            f"entries; measure draws at most {LARGEST_WEIGHT:.3g}"
        )
    few = min(spec.seq_len, 16)  # positions that must fit in beside all the heads drawn
    heads: int = min(
        1 if "identity" in projections else spec.n_heads,
        max(1, WEIGHT_BUDGET // max(drawn, 1)),
        max(1, place_budget // (few * 4 * (spec.d_head + few))),
    )

    def numbers(positions: int) -> int:
        # Token stages and their draws; queries, keys and temporaries; products, scores, logits.
        vectors: int = 7 * spec.d_model + 4 * heads * spec.d_head
        return positions * (vectors + 4 * heads * positions)

    positions: int = spec.seq_len
    if numbers(positions) > place_budget:
        positions = min(SUBSET, spec.seq_len)  # three at least, which row_variance needs
        while positions > 3 and numbers(positions) > place_budget:
            positions -= 1
    block = BLOCK_BUDGET // (numbers(positions) + heads * drawn)
    return Layout(
        positions=positions,
        heads=heads,
        block=min(max(block // 2 * 2, 2), 512),  # even, as replicates are paired
        all_places=positions == spec.seq_len,
    )


def _run(
    spec: TransformerSpec,
    layout: Layout,
    replicates: int,
    seed: int,
    progress: bool | None,
    workers: int,
    full: bool = False,
) -> Measurement:
    _keep_freed_memory()
    blocks = -(-replicates // layout.block)

    def size(index: int) -> int:
        return min(layout.block, replicates - index * layout.block)

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"), Reporter("measuring", replicates, progress) as reporter:
        total = _block(spec, layout, size(0), seed, 0, {}, full)
        pilots = {stage: statistics.pilot for stage, statistics in total.items()}
        reporter.advance(size(0))

        def work(index: int) -> Statistics:
            return _block(spec, layout, size(index), seed, index, pilots, full)

        for index, part in enumerate(_in_order(work, blocks, workers), start=1):
            total = {stage: statistics.merge(part[stage]) for stage, statistics in total.items()}
            reporter.advance(size(index))
    stages = {stage: statistics.moments() for stage, statistics in total.items()}
    return Measurement(spec, stages, replicates, seed, full)


def _in_order(work: Callable[[int], Statistics], blocks: int, workers: int) -> Iterator[Statistics]:
    """Results of work(1), work(2), ... in order, with only a few waiting at any time."""
    if workers == 1 or blocks < 3:
        yield from map(work, range(1, blocks))
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Statistics]] = deque()
        for index in range(1, blocks):
            waiting.append(pool.submit(work, index))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _block(
    spec: TransformerSpec,
    layout: Layout,
    replicates: int,
    seed: int,
    index: int,
    pilots: Pilots,
    full: bool = False,
) -> Statistics:
    """Statistics of every stage over one block; the first block finds the pilots."""
    source = np.random.SeedSequence(seed, spawn_key=(index,))
    draws = Draws(spec, layout, replicates, np.random.default_rng(source))
    result = {}
    # Overflow is refused by the pilot, with a reason, instead of warned about.
    with np.errstate(over="ignore", invalid="ignore"):
        for name, further in _measured(spec, layout, full).items():
            values = draws[name]
            pilot = pilots.get(name) or Pilot.of(name, values)
            own = further(draws) if further else {}
            result[name] = StageStatistics.of(name, values, pilot, not layout.all_places, own)
    return result


def _measured(spec: TransformerSpec, layout: Layout, full: bool) -> dict[str, Any]:
    """Stages that are simulated, in order, and what gives the further attributes of each."""
    front: dict[str, Any] = {name: None for name, stage in STAGES.items() if stage.present(spec)}
    return front | {
        name: outcome.further
        for name, outcome in OUTCOMES.items()
        if full and outcome.present(spec) and outcome.measured(spec, layout)
    }


def _keep_freed_memory() -> None:
    """Free 32 MB unused, after which glibc recycles arrays up to that size.

    Otherwise every block maps its memory afresh, and page faults cost more than the work.
    """
    np.empty(2**22 - 2**12)


def _refuse_arrays(spec: TransformerSpec) -> None:
    for field in spec.to_dict() if spec.has_arrays else ():
        value = getattr(spec, field)
        arrays = value.shapes() if isinstance(value, Named) else ()
        if isinstance(value, np.ndarray) or any(True for _ in arrays):
            raise ValueError(refusal(field, "a single number, measure takes no arrays", value))


def _require_integer(name: str, value: object, least: int) -> None:
    accepted = f"an integer >= {least}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(refusal(name, accepted, value))
    if value < least:
        raise ValueError(refusal(name, accepted, value))
