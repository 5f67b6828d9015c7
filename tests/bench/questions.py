"""The questions that the benches of speed ask: they differ from call to call in their load, as those of people do."""

import copy
from typing import Any

import orjson

from estimator.estimates.endpoint import Endpoint

# The first worked example, or the plain question where that asks for many at once (batch sizes, targets, drafts).
PLAIN: dict[str, dict[str, Any]] = {
    "throughput": {
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm5-80gb",
        "engine": "vllm",
        "workload": {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 300, "concurrency": 32},
    }
}
MANY = PLAIN["throughput"] | {"workload": PLAIN["throughput"]["workload"] | {"batch_sizes": list(range(1, 65))}}
# The count of a question that differs from call to call.
VARIED = {"cost": ("api", "usage", "output_tokens"), "prompt-cache": ("prefix_tokens",)}


def bodies(body: dict[str, Any], path: tuple[str, ...] = ("workload", "input_tokens")) -> list[bytes]:
    """The question with 32 counts that follow one another; as it is where it has no such count."""
    found = []
    for more in range(32):
        changed = copy.deepcopy(body)
        part: Any = changed
        for name in path[:-1]:
            part = part.get(name, {})
        if path[-1] in part:
            part[path[-1]] += more
        found.append(orjson.dumps(changed))
    return found


def bodies_of(endpoint: Endpoint[Any, Any]) -> list[bytes]:
    """The plain question of an endpoint with 32 loads."""
    slug = endpoint.slug
    return bodies(PLAIN.get(slug, endpoint.examples[0].body), VARIED.get(slug, ("workload", "input_tokens")))
