"""The largest load one replica of a plan carries within memory and targets, and its times under the lightest load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.codes import Reason
from estimator.engine.options import TARGETS, BandSide
from estimator.engine.sizing import Capacity, Constraint, largest_load
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import RATE_SIDE
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.sweep import Sweep
from estimator.estimates.throughput.figures import figures_at
from estimator.estimates.throughput.odds import HARDLY, LIKELY, SAFE, chances, targets_of
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import sweep_of
from estimator.estimates.throughput.targets import Floats, binding_targets, rate_with_chance, targets_met, times_of
from estimator.question.workload import ResolvedWorkload, Targets

Columns = dict[str, npt.NDArray[Any]]
GRID = 96
# So few arrivals that nobody waits.
_LIGHTEST_PER_S = 1e-6
# A queue at its limit never empties.
_STABLE_SHARE = 0.95
# Targets are looked for up to so many times those asked for, and halved so often between.
_MOST_TIMES, _HALVINGS = 1e6, 40
_CONSTRAINTS = {"ttft_s": Constraint.TTFT, "tpot_s": Constraint.TPOT, "e2e_s": Constraint.E2E}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How a replica is loaded: users with a think time, arrivals with a variation, or else requests in flight."""

    think_time_s: float | None = None
    arrivals_cv: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCapacity:
    """What one replica carries. Without `capacity` no load does, and `reason` says why.

    `best_s` are the times of the lightest load by target, None where they are not said; `max_sequences` what memory
    lets it run at once, `full_length_sequences` what the cache holds with whole answers. `chance` is that of meeting
    every target under the capacity, None without targets or where it is not known. `needed_s` are the targets, all of
    them longer by one factor, that the lightest load would meet with the chance asked for.
    """

    capacity: Capacity | None
    reason: str | None
    best_s: dict[str, float | None]
    max_sequences: int | None = None
    full_length_sequences: int | None = None
    chance: float | None = None
    needed_s: dict[str, float] | None = None


def replica_capacities(
    keys: Sequence[PreparedKey],
    workload: ResolvedWorkload,
    load: Load,
    slo: Targets,
    confidence: float | None = None,
) -> list[ReplicaCapacity]:
    """The largest load of a replica of each key, all of them searched in the same rows.

    Args:
        keys: The folded keys of their plans.
        workload: Lengths of a request.
        load: How requests come.
        slo: Targets; one that cannot bind is left out.
        confidence: Chance with which all targets are met at once; None holds each at the side of the band it asks for.
    """
    if not keys:
        return []
    slo = binding_targets(slo, workload)
    search = _Search(sweep=sweep_of(keys), workload=workload, slo=slo, confidence=confidence)
    every = np.arange(len(keys))
    places = search.sweep.places(rows_of(workload, np.ones(len(keys)), mode=WorkloadMode.CLOSED_LOOP, key=every))
    rooms, held = (_whole(places[name]) for name in ("max_sequences", "full_length_sequences"))
    ends = [
        Constraint.MAX_NUM_SEQS if room >= key.cache.engine_sequences else Constraint.MEMORY
        for key, room in zip(keys, rooms, strict=True)
    ]
    found = search.closed(every, [max(room, 1) for room in rooms], ends, load.think_time_s)
    carried = []
    for key, room, whole, closed in zip(keys, rooms, held, found, strict=True):
        if not room or closed.reason is Reason.MISSING_FIGURE:
            label = closed.reason.label if closed.reason is Reason.MISSING_FIGURE else Reason.DOES_NOT_FIT.label
            carried.append(ReplicaCapacity(capacity=None, reason=label, best_s={}, max_sequences=room or None))
            continue
        capacity, best_s = closed.capacity, closed.best_s
        if load.arrivals_cv is not None:
            alone = replace(search, sweep=sweep_of([key]))
            capacity = alone.open(capacity, load.arrivals_cv) if capacity is not None else None
            best_s = alone.nobody_waits(load.arrivals_cv)
        carried.append(
            ReplicaCapacity(
                capacity=capacity,
                reason="targets_not_met" if capacity is None else None,
                best_s=best_s,
                max_sequences=room,
                full_length_sequences=whole,
            )
        )
    return [search.with_needed(one, key) for key, one in enumerate(search.with_chances(carried, load.arrivals_cv))]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWithin:
    """The most requests in flight that keep every target with a chance; 0 where one alone has less.

    `low` keeps them safely (9 in 10), `mid` likely (even), `high` hardly (1 in 10). `binding` is what ends the middle:
    a target, the memory, or the sequences that the engine runs at once.
    """

    low: int
    mid: int
    high: int
    binding: Constraint | None


_CHANCES = {"low": SAFE, "mid": LIKELY, "high": HARDLY}


def load_within(
    sweep: Sweep, workload: ResolvedWorkload, slo: Targets, *, held: int, engine_sequences: int
) -> LoadWithin:
    """The most requests in flight that memory holds with their whole answers and that meet every target.

    Args:
        sweep: The folded key of the plan.
        workload: Lengths of a request.
        slo: Targets; one that cannot bind is left out.
        held: Sequences that the cache holds with their whole answers.
        engine_sequences: Sequences that the engine runs at once.
    """
    search = _Search(sweep=sweep, workload=workload, slo=binding_targets(slo, workload))
    most = min(held, engine_sequences)
    if most < 1:
        return LoadWithin(low=0, mid=0, high=0, binding=Constraint.MEMORY)
    end = Constraint.MAX_NUM_SEQS if engine_sequences < held else Constraint.MEMORY
    times = len(_CHANCES)
    closed = search.closed([0] * times, [most] * times, [end] * times, None, chances=tuple(_CHANCES.values()))
    found = {name: one.capacity for name, one in zip(_CHANCES, closed, strict=True)}
    loads = {name: 0 if capacity is None else capacity.concurrency for name, capacity in found.items()}
    middle = found["mid"]
    return LoadWithin(**loads, binding=None if middle is None else middle.binding)


def admitted(sweep: Sweep, workload: ResolvedWorkload) -> tuple[int, int, Reason]:
    """Sequences that the first key of a sweep runs at once and holds with their whole answers, 0 where none fits.

    Last, why figures of one alone are not said.
    """
    columns = sweep.evaluate(rows_of(workload, np.ones(1), mode=WorkloadMode.CLOSED_LOOP))
    room, held = (_whole(columns[name])[0] for name in ("max_sequences", "full_length_sequences"))
    return room, held, Reason(int(columns["reason"][0]))


def _whole(sequences: Floats) -> list[int]:
    """Sequences as counts, 0 where none is said."""
    return [int(value) if np.isfinite(value) else 0 for value in sequences]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closed:
    """The largest load of a key, and of one request in flight the times by target and why figures are not said."""

    capacity: Capacity | None
    reason: Reason
    best_s: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Rows of replicas under growing load, one replica a key of the sweep."""

    sweep: Sweep
    workload: ResolvedWorkload
    slo: Targets
    confidence: float | None = None

    @property
    def side(self) -> str:
        """The side of the band that is held against the targets."""
        return "high" if self.slo.band_side is BandSide.CONSERVATIVE else "mid"

    @property
    def percentile(self) -> int:
        """Share of an open loop's requests that meet the targets."""
        return self.slo.percentile_in(WorkloadMode.OPEN_LOOP)

    def closed(
        self,
        keys: Sequence[int] | npt.NDArray[np.intp],
        rooms: Sequence[int],
        ends: Sequence[Constraint],
        think_time_s: float | None,
        *,
        chances: Sequence[float | None] = (),
    ) -> list[_Closed]:
        """Largest concurrency of each key within room and targets, on a grid refined once around the miss.

        `chances` with which every target is met, one for each key; where none is given, the side of the band that the
        targets ask for is held against each of them.
        """
        chances = chances or (self.confidence,) * len(rooms)
        numbers = np.asarray(keys)
        spans = np.array([(1.0, float(room)) for room in rooms])
        found: list[_Closed] = []
        grid, columns = self._grid(numbers, spans)
        again = []
        for place, loads in enumerate(grid):
            rows = slice(place * GRID, (place + 1) * GRID)
            largest = self._largest(loads, columns, rows, chances[place], think_time_s, ends[place])
            reason = Reason(int(columns["reason"][rows.start]))
            found.append(_Closed(capacity=largest, reason=reason, best_s=self.times_at(columns, rows.start)))
            if largest is not None and (end := _next_load(loads, largest, ends[place])) is not None:
                spans[place] = largest.concurrency, end
                again.append(place)
        if again:
            grid, columns = self._grid(numbers[again], spans[again])
            for row, place in enumerate(again):
                rows = slice(row * GRID, (row + 1) * GRID)
                largest = self._largest(grid[row], columns, rows, chances[place], think_time_s, ends[place])
                found[place] = replace(found[place], capacity=largest or found[place].capacity)
        return found

    def _grid(self, keys: npt.NDArray[np.intp], spans: Floats) -> tuple[Floats, Columns]:
        """Whole loads of each key in equal ratios from end to end of its span (small ones more than once), evaluated.

        Loads have the shape (keys, GRID), columns that of all of them in a row.
        """
        loads = np.round(np.geomspace(spans[:, 0], spans[:, 1], GRID)).T
        each = rows_of(self.workload, loads.ravel(), mode=WorkloadMode.CLOSED_LOOP, key=np.repeat(keys, GRID))
        return loads, self.sweep.evaluate(each)

    def _largest(
        self,
        loads: Floats,
        columns: Columns,
        rows: slice,
        chance: float | None,
        think_time_s: float | None,
        end: Constraint,
    ) -> Capacity | None:
        """The largest load of one key; what it carries is of the slow end where more than even odds are asked for."""
        part = {name: column[rows] for name, column in columns.items()}
        if chance is None:
            side = self.side
            times = {
                _CONSTRAINTS[name]: (part[f"{name}_{side}"], target) for name, target in targets_of(self.slo).items()
            }
        else:
            side = "mid" if chance == LIKELY else "high" if chance > LIKELY else "low"
            times = self._by_chance(part, chance)
        rates = part[f"requests_per_s_{RATE_SIDE[side]}"]
        return largest_load(loads, rates, times, part[f"e2e_s_{side}"], think_time_s, end)

    def _by_chance(self, part: Columns, chance: float) -> dict[Constraint, tuple[Floats, float]]:
        """Chances as times: a load is within while all targets are met with the chance asked for.

        The target that is met least likely is the one that ends it.
        """
        asked = targets_of(self.slo)
        if not asked:
            return {}
        every, alone = chances(part, self.workload, self.slo)
        least = np.nanmin(np.stack([np.nan_to_num(value, nan=2.0) for value in alone.values()]), axis=0)
        missed, most = 1.0 - every, 1.0 - chance + 1e-12
        return {_CONSTRAINTS[name]: (np.where(alone[name] <= least, missed, 0.0 * missed), most) for name in asked}

    def open(self, closed: Capacity, arrivals_cv: float) -> Capacity | None:
        """Highest rate of arrivals within the targets, or a stable queue without targets."""
        workload = self._arriving(arrivals_cv)
        columns = self.sweep.evaluate(rows_of(workload, np.ones(1)))
        stable = float(columns["max_stable_requests_per_s"][0])
        if not np.isfinite(stable):
            return closed
        if all(getattr(self.slo, name) is None for name in TARGETS):
            return replace(closed, requests_per_s=_STABLE_SHARE * stable, binding=Constraint.RATE)
        if self.confidence is not None:
            best = rate_with_chance(self.sweep, workload, self.slo, self.confidence)
        else:
            result = targets_met(self.sweep, workload, self.slo, figures_at(columns, 0, 1.0))
            best = result.max_rate.low if self.slo.band_side is BandSide.CONSERVATIVE else result.max_rate.mid
        if not best:
            return None
        return replace(closed, requests_per_s=best, binding=self._missed_first(workload, stable))

    def with_chances(self, carried: list[ReplicaCapacity], arrivals_cv: float | None) -> list[ReplicaCapacity]:
        """The same with the chance that each replica meets every target under what it carries."""
        at = [place for place, one in enumerate(carried) if one.capacity is not None]
        if not at or not targets_of(self.slo):
            return carried
        loads = [one.capacity for one in carried if one.capacity is not None]
        keys, flights = np.array(at), np.array([float(load.concurrency) for load in loads])
        workload, rates = self.workload, None
        if arrivals_cv is not None:
            workload, rates = self._arriving(arrivals_cv), np.array([load.requests_per_s for load in loads])
        columns = self.sweep.evaluate(rows_of(workload, flights, mode=workload.mode, rate=rates, key=keys))
        said, _ = chances(columns, workload, self.slo)
        known = {place: float(chance) for place, chance in zip(at, said, strict=True) if np.isfinite(chance)}
        return [replace(one, chance=known.get(place)) for place, one in enumerate(carried)]

    def with_needed(self, one: ReplicaCapacity, key: int) -> ReplicaCapacity:
        """The same with the targets that its lightest load would meet, where it misses the chance asked for."""
        if self.confidence is None or one.reason != "targets_not_met":
            return one
        columns = self.sweep.evaluate(rows_of(self.workload, np.ones(1), key=np.array([key])))
        asked, low, high = targets_of(self.slo), 1.0, _MOST_TIMES
        for _ in range(_HALVINGS):
            times = (low * high) ** 0.5
            longer = self.slo.model_copy(update={name: target * times for name, target in asked.items()})
            met = chances(columns, self.workload, longer)[0][0] >= self.confidence
            low, high = (low, times) if met else (times, high)
        return replace(one, needed_s={name: target * high for name, target in asked.items()})

    def times_at(self, columns: Columns, row: int) -> dict[str, float | None]:
        """Times by target of a row of a closed loop."""
        return _known({name: float(columns[f"{name}_{self.side}"][row]) for name in TARGETS})

    def nobody_waits(self, arrivals_cv: float) -> dict[str, float | None]:
        """Times by target of an open loop in which nobody waits, of the first key."""
        workload = self._arriving(arrivals_cv)
        columns = self.sweep.evaluate(rows_of(workload, np.ones(1)))
        return _known({name: float(self._times(columns, name, workload)[0]) for name in TARGETS})

    def _missed_first(self, workload: ResolvedWorkload, stable: float) -> Constraint:
        """The target that growing arrivals miss first; the rate itself where the queue grows before."""
        rates = np.linspace(0.0, stable, GRID + 1)[1:-1]
        columns = self.sweep.evaluate(rows_of(workload, np.ones(len(rates)), rate=rates))
        first: dict[Constraint, int] = {}
        for name in TARGETS:
            target = getattr(self.slo, name)
            if target is None:
                continue
            missed = np.flatnonzero(~(self._times(columns, name, workload) <= target))
            if len(missed):
                first[_CONSTRAINTS[name]] = int(missed[0])
        return min(first, key=lambda name: first[name]) if first else Constraint.RATE

    def _times(self, columns: Columns, name: str, workload: ResolvedWorkload) -> Floats:
        return times_of(columns, name, self.side, self.percentile, workload)

    def _arriving(self, arrivals_cv: float) -> ResolvedWorkload:
        load = {"mode": WorkloadMode.OPEN_LOOP, "requests_per_s": _LIGHTEST_PER_S, "burstiness_cv": arrivals_cv}
        return self.workload.model_copy(update=load)


def _next_load(loads: Floats, largest: Capacity, end: Constraint) -> float | None:
    """The next load of a grid where loads lie between it and the largest, None where none does."""
    beyond = loads[loads > largest.concurrency]
    if largest.binding is end or not len(beyond) or beyond[0] - largest.concurrency <= 1:
        return None
    return float(beyond[0])


def _known(times: dict[str, float]) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in times.items()}
