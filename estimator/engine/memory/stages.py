"""Which layers a pipeline stage holds."""


def stage_span(layers: int, pp: int, stage: int, *, head_is_layer: bool = False) -> slice:
    """The layers of one stage: equal parts, what is left over on the stages before the last.

    Source: vLLM `get_pp_indices` (the last stage also holds the head); llama.cpp's layer split over GPUs, which counts
    the head as one layer (`head_is_layer`).
    """
    base, rest = divmod(layers, pp)
    sizes = [base] * pp
    for extra in range(rest):
        sizes[-(extra + 2) % pp] += 1
    if head_is_layer:
        ends = [min(-(-(layers + 1) * (part + 1) // pp), layers) for part in range(pp)]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    start = sum(sizes[:stage])
    return slice(start, start + sizes[stage])
