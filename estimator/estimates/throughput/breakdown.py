"""Where the expected time of one request goes: parts that add up to its end-to-end time."""

from estimator.engine.codes import Binding
from estimator.estimates.throughput.compute import Throughput
from estimator.estimates.throughput.parts import BreakdownPart


def breakdown(result: Throughput) -> BreakdownPart | None:
    """The parts of `e2e_s`, which is the client's mean whichever first token was asked for; None where it is not said.

    They are what is left of one another, so that they add up and none is negative.
    """
    figures = result.figures
    e2e, tpot = figures.expected["e2e_s"].mid, figures.expected["tpot_s"].mid
    parts = {b: figures.parts_s.get(b) or 0.0 for b in Binding}
    known = sum(parts.values())
    gaps = max(result.workload.output_tokens, 1) - 1
    if e2e is None or (tpot is None and gaps) or figures.prefill_s is None or not known:
        return None
    decoding = gaps * (tpot or 0.0)
    # A step is no longer than the time between its tokens, a prompt than its first one: but for the last digits.
    step = min(figures.step_s or known, tpot) if tpot is not None else known
    if result.prepared.ideal is not None:
        # The roofline's parts overlap; only the longer one is time that passes.
        longest = max(parts, key=lambda b: parts[b])
        parts = {b: (known if b is longest else 0.0) for b in Binding}
    first = max(e2e - decoding, 0.0)
    prefill = min(figures.prefill_s, first)
    stepping = gaps * step
    return BreakdownPart(
        waiting=first - prefill,
        prefill=prefill,
        decode_memory=stepping * parts[Binding.MEMORY_BANDWIDTH] / known,
        decode_compute=stepping * parts[Binding.COMPUTE] / known,
        decode_interconnect=stepping * parts[Binding.INTERCONNECT] / known,
        decode_overhead=stepping * parts[Binding.OVERHEAD] / known,
        prefill_interference=max(decoding - stepping, 0.0),
    )
