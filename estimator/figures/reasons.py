"""Why a figure is not said, by the name that answers give it."""

REASONS = {
    "does_not_fit": "Weights and one sequence with its whole answer do not fit into the memory.",
    "missing-figure": "No measured kernels stand for this accelerator and engine: only the ceiling is known.",
    "kv_settings_assumed": (
        "More requests than fit: the wait for a place depends on the KV format and the memory share, which were not "
        "both given."
    ),
    "queue_grows": "Requests arrive faster than the replica serves them: the queue grows without end.",
    "no_queue": "Offline the queue never empties: a time to the first token is no property of it.",
    "one_step": "One decode step has neither a first token nor an end of a request.",
    "power_cap": (
        "The GPUs would draw more than their cap at this rate: reports of that time say nothing of its queues."
    ),
    "no_second_token": "An answer of one token has no time per output token.",
}
