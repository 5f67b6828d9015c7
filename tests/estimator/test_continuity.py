"""Between neighbours of one question nothing jumps that no hardware would show; real steps are said and left out.

Real steps: a sequence more than there are places (cache or engine), a pass that no captured graph holds, a whole prompt
more or less in a pass of an engine that cuts none. Data-parallel ranks are left out: docs/speed.md says why.
"""

import json
from random import Random

import numpy as np
import pytest

from estimator.engine.codes import MODE_CODES
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.sweep import Rows
from estimator.estimates.throughput.answer import ThroughputRequest
from estimator.estimates.throughput.setting import setting_of
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped
from tests.estimator.random_plans import GPUS, MODELS

ENGINES = ("vllm-0.19", "vllm-0.11", "sglang-0.5", "tensorrt-llm-1")
FIGURES = ("tpot_s_mid", "e2e_s_mid", "requests_per_s_mid")
SETTINGS = 10
# Most that a figure may move beyond what it moved from the neighbour before, in ln.
ONE_USER, ONE_TOKEN = 0.06, 0.05


def settings(seed):
    """Sweeps of plans at random without data-parallel ranks."""
    random, found = Random(seed), []
    while len(found) < SETTINGS:
        tp = random.choice((1, 2, 4, 8))
        body = {
            "model": random.choice(MODELS),
            "gpu": random.choice(GPUS),
            "engine": random.choice(ENGINES),
            "parallelism": random.choice(({"tp": tp}, {"tp": tp, "ep": tp})),
            "precision": {"kv_cache": "bf16"},
            "memory": {"utilization": 0.9},
            "workload": {"input_tokens": 1000, "output_tokens": 300, "concurrency": 4},
        }
        try:
            asked = ThroughputRequest.model_validate_json(json.dumps(body))
            setting = setting_of(resolve_plan(asked, shipped.facts()))
        except (ResolutionError, EngineError):
            continue
        if setting.speed.serving is not None:
            found.append((body, setting))
    return found


def figures(setting, inputs, outputs, concurrency):
    """Columns of neighbours, NaN where places end or are about to."""
    loads = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in (inputs, outputs, concurrency)))
    rows = Rows(
        key=np.zeros(len(loads[0]), dtype=np.intp),
        mode=MODE_CODES[WorkloadMode.CLOSED_LOOP],
        input_tokens=loads[0].copy(),
        output_tokens=loads[1].copy(),
        concurrency=loads[2].copy(),
    )
    columns = setting.sweep.evaluate(rows)
    crowded = columns["max_sequences"] < 1.05 * loads[2] + 1
    return {name: np.where(crowded, np.nan, columns[name]) for name in FIGURES}


def worst_jump(columns):
    """The largest change of the change from neighbour to neighbour, in ln, and where it is."""
    found = [(0.0, "", 0)]
    for name, values in columns.items():
        bend = np.abs(np.diff(np.diff(np.log(values))))
        if np.isfinite(bend).any():
            place = int(np.nanargmax(bend))
            found.append((float(bend[place]), name, place))
    return max(found)


@pytest.mark.parametrize("lengths", [(1000, 300), (7000, 1000), (128, 128)], ids=str)
def test_one_user_more_moves_no_figure_by_a_jump(lengths):
    users = np.arange(4, 200)
    for body, setting in settings(seed=21):
        jump, name, place = worst_jump(figures(setting, *lengths, users))
        assert jump <= ONE_USER, (body, name, users[place], jump)


def test_sixteen_and_seventeen_users_are_neighbours():
    for body, setting in settings(seed=22):
        found = figures(setting, 1000, 300, [15, 16, 17, 18])
        assert worst_jump(found)[0] <= 0.02, body


@pytest.mark.parametrize("concurrency", [1, 16, 64])
def test_one_token_more_of_an_answer_moves_no_rate_by_a_jump(concurrency):
    tokens = np.arange(24, 400)
    for body, setting in settings(seed=23):
        jump, name, place = worst_jump(figures(setting, 1000, tokens, concurrency))
        assert jump <= ONE_TOKEN, (body, name, tokens[place], jump)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_one_token_more_of_a_prompt_moves_no_rate_by_a_jump_where_a_prompt_is_cut(concurrency):
    # Around the tokens of a pass, where a prompt needs one more.
    tokens = np.arange(7900, 8300)
    for body, setting in settings(seed=24):
        if body["engine"].startswith("tensorrt"):
            continue
        jump, name, place = worst_jump(figures(setting, tokens, 200, concurrency))
        assert jump <= ONE_TOKEN, (body, name, tokens[place], jump)
