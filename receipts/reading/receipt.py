"""What a file says, in one form: base units, each figure with the place in the file it is from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = str | float | bool


class ReadError(ValueError):
    """The text cannot be read as what it seems to be; `field` names the place in it ("" for the whole)."""

    def __init__(self, detail: str, field: str = "", code: str = "unreadable") -> None:
        super().__init__(detail)
        self.detail, self.field, self.code = detail, field, code


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: `name` as Aforo spells it, `statistic` (mean, median, p90 …), value in `unit`, place in the file.

    `low` and `high` are the borders between which a percentile of a histogram lies; None for an exact figure.
    """

    name: str
    statistic: str
    value: float
    unit: str
    field: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What was sent: tokens, requests, requests/s, seconds; None where the file does not say.

    `input_tokens` and `output_tokens` are achieved means of a request, `…_asked` what the client was told to send.
    `concurrency_asked` is the most in flight that the client allows, `concurrency_mean` what it reached.
    `requests_per_s_asked` is None where all requests were sent at once or one after another. `depth_tokens` stood in
    the cache before (llama-bench).
    """

    input_tokens: float | None = None
    output_tokens: float | None = None
    input_tokens_asked: float | None = None
    output_tokens_asked: float | None = None
    total_input_tokens: float | None = None
    total_output_tokens: float | None = None
    concurrency_asked: float | None = None
    concurrency_mean: float | None = None
    requests_per_s_asked: float | None = None
    requests_asked: float | None = None
    requests: float | None = None
    failed: float | None = None
    duration_s: float | None = None
    depth_tokens: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One load and its figures; `place` is the path of the run in the file, "" where the file is one run."""

    load: Load
    figures: tuple[Figure, ...]
    place: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    def figure(self, name: str, *statistics: str) -> Figure | None:
        """The figure of the first statistic that the run has."""
        for statistic in statistics or ("mean", "median", "value"):
            for one in self.figures:
                if one.name == name and one.statistic == statistic:
                    return one
        return None

    def field_of(self, name: str) -> str:
        """Place in the file of a value of the load."""
        return self.fields.get(name, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """How the replica was split; None where the file does not say."""

    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A file as read: its format and version, model, engine, GPU and settings as it names them, and its runs.

    `not_read` are the places of what was left: names of the file, never its texts.
    """

    format: str
    format_version: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    degrees: Degrees = Degrees()
    weights: str | None = None
    kv_cache: str | None = None
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    date: str | None = None
    runs: tuple[Run, ...] = ()
    not_read: tuple[str, ...] = ()
