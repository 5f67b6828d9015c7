"""What the memory questions share: a card of any size, and parts of an answer."""

GIB = 2**30
KIB = 2**10
H100 = "h100-sxm5-80gb"


def card(gib):
    """A GPU of which only the memory matters."""
    return {
        "memory_bytes": int(gib * GIB), "memory_bandwidth_bytes_per_s": 1e12, "peak_flops_per_s": {"bf16": 1e14},
    }  # fmt: skip


def cache(answer):
    return answer["kv_cache"]


def changes(answer):
    return {one["change"]: one["value"] for one in answer["suggestions"]}
