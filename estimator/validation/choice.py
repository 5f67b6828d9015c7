"""Which of several measured settings the estimate would choose, and what that choice loses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.validation.components import Component
from estimator.validation.predictions import Prediction
from estimator.validation.rows import Metric

LEAST_SETTINGS = 4
_ASKED = {
    Metric.TPOT: "time per token",
    Metric.OFFLINE: "maximum tokens/s a GPU",
    Metric.STATIC: "tokens/s a GPU of a batch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Questions of one metric: how many, with how many settings, what the chosen one loses, how often it is the best.

    `loss` is the median of how much worse the chosen setting was measured than the best one, as a fraction of the best.
    """

    metric: Metric
    questions: int
    settings: int
    loss: float
    loss_p90: float
    best: float


def choices(predictions: Iterable[Prediction]) -> tuple[Choice, ...]:
    """The choice in every question with four settings and more, by metric.

    A question is one model under one load by one source: the settings differ in GPU, formats, split and engine.
    """
    questions: dict[tuple[object, ...], list[Prediction]] = {}
    for p in predictions:
        if p.row.metric in _ASKED:
            row = p.row
            key = (row.metric, row.model, row.source, row.input_tokens, row.output_tokens, row.concurrency)
            questions.setdefault(key, []).append(p)
    found = []
    for metric in _ASKED:
        groups = [g for key, g in questions.items() if key[0] is metric and len(g) >= LEAST_SETTINGS]
        if groups:
            losses = np.array([_loss(group) for group in groups])
            found.append(
                Choice(
                    metric=metric,
                    questions=len(groups),
                    settings=sum(map(len, groups)),
                    loss=float(np.median(losses)),
                    loss_p90=float(np.quantile(losses, 0.9)),
                    best=float(np.mean(losses <= 0.0)),
                )
            )
    return tuple(found)


def _loss(group: Sequence[Prediction]) -> float:
    """How much worse the setting with the best prediction was measured than the best setting."""
    said = np.array([_per_gpu(p, p.expected) for p in group])
    measured = np.array([_per_gpu(p, p.row.value) for p in group])
    chosen = measured[int(np.argmax(said))]
    return float(1.0 - chosen / measured.max())


def _per_gpu(prediction: Prediction, value: float) -> float:
    """A figure of which more is better: a rate by GPU, or tokens/s of one user."""
    row = prediction.row
    return value / row.parallelism.gpus if row.metric.is_rate else 1.0 / value


def choice_table(predictions: Iterable[Prediction]) -> Component:
    """The choices as a table of the accuracy page."""
    return Component(
        key="choice",
        title="Choice among measured settings",
        note=(
            "One model under one load by one source, measured in four settings and more (GPU, formats, split, engine): "
            "how much worse the setting with the best prediction was measured than the best one."
        ),
        headings=("asked for", "questions", "settings", "median loss %", "P90 loss %", "best one chosen %"),
        lines=tuple(
            (
                _ASKED[each.metric],
                str(each.questions),
                str(each.settings),
                f"{100 * each.loss:.1f}",
                f"{100 * each.loss_p90:.1f}",
                f"{100 * each.best:.0f}",
            )
            for each in choices(predictions)
        ),
    )
