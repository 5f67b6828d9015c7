"""Power of servers that somebody measured, where the rows are at hand: they are not shipped, only constants are.

The power of a GPU is scored at the speed that was measured (shares of bandwidth and peak in use follow from it; what a
server took longer than is said, its GPUs did not work), and joules of a token at the speed that is said too. Constants
are fitted anew without each model and without each GPU.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from estimator.constants.power import POWER
from estimator.engine.calibration.least_squares import robust_fit
from estimator.engine.errors import EngineError
from estimator.engine.forward_pass.roofline import floor_prefill_compute_s, step_floor
from estimator.engine.specs import Parallelism, Precision, WorkloadMode
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.sweep import Sweep
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import prepared_key
from estimator.question.workload import ResolvedWorkload
from estimator.validation import shipped
from estimator.validation.accuracy import Errors, errors_of
from estimator.validation.rows import DATA_DIR

Floats = npt.NDArray[np.float64]
AT_HAND = Path(__file__).resolve().parents[2].parent / "shared" / "truth" / "energy.csv"
_GPUS = {"H100": "h100-sxm5-80gb", "B200": "b200-sxm-180gb"}
_FORMATS = {"bfloat16": "bf16", "fp8": "fp8", "mxfp4": "mxfp4"}
_ENGINE = "vllm-0.11"
# The source states no prompts: of questions and chats a few hundred tokens; of code completion nobody knows.
_PROMPT_TOKENS = {"gpqa": 250.0, "lm-arena-chat": 250.0}
# Models of one architecture are left out together.
_SAME = {"llama-3.3-70b-instruct": "llama-3.1-70b-instruct"}
_SIGMA, _SCALE = 1.0, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow:
    """A run: watts of a GPU as measured and as said, and tokens per second measured over said.

    `shares` are busy time, bandwidth and peak in use at the measured speed, `shares_said` at the said one.
    """

    model: str
    gpu: str
    cell: tuple[str, str, int]
    watts: float
    tdp_w: float
    shares: tuple[float, float, float]
    shares_said: tuple[float, float, float]
    speed_ratio: float


def read_power_rows(path: Path = AT_HAND) -> tuple[PowerRow, ...]:
    """The runs that the service answers; none where the file is not there."""
    if not path.is_file():
        return ()
    with (DATA_DIR / "energy_models.csv").open(encoding="utf-8", newline="") as stream:
        slugs = {row["model"]: row["slug"] for row in csv.DictReader(stream)}
    with path.open(encoding="utf-8", newline="") as stream:
        found = (_row(row, slugs[row["model"]]) for row in csv.DictReader(stream) if _is_known(row, slugs))
        return tuple(row for row in found if row is not None)


def _is_known(row: dict[str, str], slugs: dict[str, str]) -> bool:
    return row["model"] in slugs and row["task"] in _PROMPT_TOKENS


def _row(row: dict[str, str], slug: str) -> PowerRow | None:
    gpus, experts = int(row["num_gpus"]), int(row["expert_parallel"])
    split = Parallelism(tp=gpus, ep=experts if experts > 1 else 1)
    batch, output = float(row["avg_batch_size"]), float(row["avg_output_len"])
    prompt = _PROMPT_TOKENS[row["task"]]
    load = ResolvedWorkload(
        mode=WorkloadMode.CLOSED_LOOP, input_tokens=prompt, output_tokens=output, concurrency=max(round(batch), 1)
    )
    gpu = _GPUS[row["gpu_model"]]
    try:
        plan = shipped.plan(slug, gpu, _ENGINE, Precision(weights=_FORMATS[row["precision"]]), split)
        key = prepared_key(replace(plan, workload=load, engine_settings={"max_num_seqs": int(row["max_num_seqs"])}))
    except EngineError:
        return None
    columns = Sweep([key]).evaluate(rows_of(load, np.array([max(batch, 1.0)])))
    said, decoding = (float(columns[name][0]) for name in ("tokens_per_s_total_mid", "decoding_sequences"))
    measured, tdp = float(row["output_throughput_tokens_per_sec"]), key.key.gpu.tdp_w
    if not np.isfinite(said) or tdp is None:
        return None
    return PowerRow(
        model=_SAME.get(slug, slug),
        gpu=gpu,
        cell=(slug, gpu, gpus),
        watts=float(row["avg_power_watts"]) / gpus,
        tdp_w=tdp,
        shares=(min(measured / said, 1.0), *_in_use(key, measured, batch, prompt, output)),
        shares_said=(1.0, *_in_use(key, said, decoding, prompt, output)),
        speed_ratio=measured / said,
    )


def _in_use(key: PreparedKey, rate: float, decoding: float, prompt: float, output: float) -> tuple[float, float]:
    """Shares of bandwidth and peak in use at a rate."""
    step = step_floor(key.ceiling, decoding, prompt + output / 2.0)
    prompts = rate / output * float(floor_prefill_compute_s(key.ceiling, prompt))
    steps = rate / decoding
    return min(steps * float(step.memory_s), 1.0), min(steps * float(step.compute_s) + prompts, 1.0)


def summarise_power(rows: Sequence[PowerRow]) -> tuple[Errors, ...]:
    """Errors of watts and joules: by the shipped constants, and by those fitted without the row's model and GPU."""
    if not rows:
        return ()
    kept = np.array([POWER.active, POWER.compute])
    ways = {
        "shipped constants": np.tile(kept, (len(rows), 1)),
        "model left out": _left_out(rows, lambda row: row.model),
        "GPU left out": _left_out(rows, lambda row: row.gpu),
    }
    watts = np.array([row.watts for row in rows])
    ratio = np.array([row.speed_ratio for row in rows])
    found = []
    for name, constants in ways.items():
        at_measured = said_watts(rows, constants, measured=True) / watts - 1.0
        at_said = said_watts(rows, constants, measured=False) / watts * ratio - 1.0
        found += [
            errors_of(f"J/token at the measured speed, {name}", at_measured),
            errors_of(f"J/token at the said speed, {name}", at_said),
        ]
    return tuple(found)


def said_watts(rows: Sequence[PowerRow], constants: Floats, *, measured: bool) -> Floats:
    """Watts of a GPU of each row, by active and compute weights of shape (rows, 2) or (2,)."""
    idle, most = POWER.idle_share, POWER.most_share
    shares = np.array([row.shares if measured else row.shares_said for row in rows])
    tdp = np.array([row.tdp_w for row in rows])
    work = constants[..., 0] * shares[:, 0] + POWER.memory * shares[:, 1] + constants[..., 1] * shares[:, 2]
    found: Floats = tdp * (idle - (most - idle) * np.expm1(-work))
    return found


def _left_out(rows: Sequence[PowerRow], name: Callable[[PowerRow], str]) -> Floats:
    """Constants for each row, fitted to the rows of every other group."""
    groups = np.array([name(row) for row in rows])
    found = np.empty((len(rows), 2))
    for group in np.unique(groups):
        found[groups == group] = fit_power([row for row, own in zip(rows, groups, strict=True) if own != group])
    return found


def fit_power(rows: Sequence[PowerRow]) -> Floats:
    """Weights of busy time and of the peak in use that the rows ask for; each setting has one vote."""
    start = np.array([POWER.active, POWER.compute])
    watts = np.log([row.watts for row in rows])
    cells = [row.cell for row in rows]
    weights = np.array([1.0 / cells.count(cell) for cell in cells])

    def residuals(shifts: Floats) -> Floats:
        found: Floats = np.log(said_watts(rows, start * np.exp(shifts), measured=True)) - watts
        return found

    fit = robust_fit(residuals, sigmas=np.full(2, _SIGMA), weights=weights, scale=_SCALE, rounds=30)
    moved: Floats = start * np.exp(fit.shifts)
    return moved
