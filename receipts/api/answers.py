"""What the receipts endpoints answer."""

from typing import Any

from pydantic import Field

from estimator.estimates.answers import Page, ResponsePart


class FigureRead(ResponsePart):
    """A figure as the file says it, in base units."""

    name: str = Field(description="Its name, spelled as in Aforo.")
    statistic: str = Field(description="mean, median, p75 to p99, min, max or value.")
    value: float = Field(description="Its value, in unit.")
    unit: str = Field(description="Base unit.")
    field: str = Field(description="Place in the file.")
    low: float | None = Field(description="Lower border where a percentile lies in a bucket of a histogram, in unit.")
    high: float | None = Field(description="Upper border, in unit.")


class RunRead(ResponsePart):
    """One run of a file."""

    place: str = Field(description="Place in the file; empty where the file is one run.")
    load: dict[str, float] = Field(description="Load by name: tokens, requests, requests/s and seconds.")
    figures: list[FigureRead] = Field(description="Its figures.")


class ReceiptRead(ResponsePart):
    """The file as read."""

    format: str = Field(description="Which of the formats it is.")
    format_version: str | None = Field(description="Version or form of it, as the file says or shows.")
    engine: str | None = Field(description="Engine that the file names; null where it names none.")
    engine_version: str | None = Field(description="Its version.")
    model: str | None = Field(description="Model as the file names it.")
    gpu: str | None = Field(description="GPU as the file names it.")
    gpus: int | None = Field(description="GPUs of the replica, count.")
    parallelism: dict[str, int | None] = Field(description="Degrees tp, pp, ep and dp; null where the file is silent.")
    weights: str | None = Field(description="Format of the weights as the file names it.")
    kv_cache: str | None = Field(description="Format of the KV cache as the file names it.")
    settings: dict[str, str | float | bool] = Field(description="Launch settings that the file holds.")
    date: str | None = Field(description="Day of the run, ISO 8601.")
    runs: list[RunRead] = Field(description="Its runs.")
    not_read: list[str] = Field(description="Places that were not read, by name.")


class FigureBeside(ResponsePart):
    """A measured figure beside what is said of it."""

    name: str = Field(description="Its name.")
    statistic: str = Field(description="Statistic that was measured.")
    measured: float = Field(description="What was measured, in unit.")
    unit: str = Field(description="Unit of measured, said, low, high and ceiling.")
    said: float | None = Field(description="Middle of the estimate; null where it says nothing.")
    low: float | None = Field(description="Low end of the band.")
    high: float | None = Field(description="High end of the band.")
    ceiling: float | None = Field(description="Physical bound.")
    ratio: float | None = Field(description="Measured over said.")
    inside_band: bool | None = Field(description="Whether measured lies in the band; null without one.")


class WherePart(ResponsePart):
    """A part in which measured and said differ."""

    part: str = Field(description="prefill, step, wait or cache.")
    seconds: float = Field(description="Measured less said of one request, seconds; 0 for memory.")
    share: float = Field(description="Share of the whole difference, 0 to 1.")
    text: str = Field(description="What the part is.")


class PredictedFigure(ResponsePart):
    """A measured figure beside what was predicted before."""

    name: str = Field(description="Its name.")
    predicted: float = Field(description="What was predicted, base unit.")
    low: float | None = Field(description="Low end of its band.")
    high: float | None = Field(description="High end of its band.")
    measured: float = Field(description="What was measured.")
    ratio: float = Field(description="Measured over predicted.")
    inside_band: bool | None = Field(description="Whether measured lies in the band.")


class RunBeside(ResponsePart):
    """A run beside the estimate."""

    place: str = Field(description="Place in the file.")
    workload: dict[str, Any] | None = Field(
        description="The load as an estimate takes it; null where the file is silent."
    )
    figures: list[FigureBeside] = Field(description="Figures that the estimate says too.")
    where: list[WherePart] = Field(description="Where the difference sits, the largest part first.")
    unsaid: str | None = Field(description="Why nothing is said; null otherwise.")
    can_calibrate: bool = Field(
        description="Whether a calibration may be made of it: closed loop, three rounds and more."
    )
    predicted: list[PredictedFigure] = Field(description="Beside the prediction; empty without one of this load.")


class _Formulas(ResponsePart):
    estimator_version: str = Field(description="Version of our formulas when it was made.")
    constants_revision: str = Field(description="Name of the constants when it was made.")


class _Said(_Formulas):
    catalog_revision: int = Field(description="Revision of the catalog.")


class _Kept(ResponsePart):
    id: str = Field(description="Its id.")
    name: str = Field(description="What it is called.")
    owner: str = Field(description="Whose it is.")
    created_at: str = Field(description="When it was made, ISO 8601.")


class CheckAnswer(_Said):
    """A file read and held against the estimate."""

    read: ReceiptRead
    setting: dict[str, Any] = Field(description="The setting as the body of an estimate.")
    runs: list[RunBeside] = Field(description="Each run beside what is said of it.")
    assumptions: list[str] = Field(description="What was assumed, calibrations that were used among it.")


class MeasurementAnswer(_Kept, _Said):
    """A kept measurement."""

    public: bool = Field(description="Whether it stands on the page of truth.")
    model: str = Field(description="Model of the setting.")
    gpu: str = Field(description="GPU of the setting.")
    engine: str = Field(description="Engine profile of the setting.")
    model_class: str = Field(description="Class of errors: dense, moe, attention_dp or mxfp4.")
    prediction: str | None = Field(description="Id of the prediction that it answers.")
    predicted_before: bool | None = Field(description="Whether that was kept before; null without one.")
    text_sha256: str = Field(description="sha256 of the text, which is not kept.")
    read: ReceiptRead
    runs: list[RunBeside] = Field(description="Each run beside what was said of it.")


class PredictionAnswer(_Kept, _Said):
    """A kept prediction."""

    kind: str = Field(description="The estimate, or report_row.")
    public: bool = Field(description="Whether everybody may read it.")
    inputs: dict[str, Any] = Field(description="The question.")
    answer: dict[str, Any] = Field(description="The answer as it was.")
    figures: dict[str, Any] = Field(description="Speed that it says: low, mid and high by figure.")
    sha256: str = Field(description="sha256 of all of this and of the time.")
    measurements: list[str] = Field(description="Ids of measurements that answer it and that the caller may read.")


class GainPart(ResponsePart):
    """What a calibration does to runs that it was not made of."""

    runs: int = Field(description="Runs left out, count.")
    before: float = Field(description="Mean error without it, a fraction.")
    after: float = Field(description="Mean error with it, a fraction.")
    better: bool = Field(description="Whether it is applied to the figure.")


class CalibrationAnswer(_Kept, _Formulas):
    """A calibration."""

    scope: dict[str, Any] = Field(description="The setting that it belongs to; in any other nothing of it is used.")
    metrics: list[str] = Field(description="Figures that it corrects.")
    gains: dict[str, GainPart] = Field(description="Error of runs left out, by figure.")
    runs: int = Field(description="Runs that it is made of, count.")
    measurements: list[str] = Field(description="Ids of its measurements.")
    enabled: bool = Field(description="The one switch.")
    shared: bool = Field(description="Whether it is everybody's.")
    invalid: str | None = Field(description="Why it serves no question any more; null where it does.")


class PredictionPage(Page):
    """Predictions."""

    results: list[PredictionAnswer] = Field(description="Entries of this page.")


class MeasurementPage(Page):
    """Measurements."""

    results: list[MeasurementAnswer] = Field(description="Entries of this page.")


class CalibrationPage(Page):
    """Calibrations."""

    results: list[CalibrationAnswer] = Field(description="Entries of this page.")
