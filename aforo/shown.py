"""Answers of the API as tables for a terminal. Every figure is the answer's; nothing is computed here."""

from decimal import Decimal
from typing import Any

from aforo.tables import pairs, table
from estimator.figures import written

Answer = dict[str, Any]


def plan_line(answer: Answer) -> str:
    """The plan that was understood, in a line."""
    inputs = answer["inputs"]
    gpus = inputs["parallelism"]["gpus"]
    precision = inputs["precision"]
    return (
        f"{inputs['model']['name']} on {gpus} × {inputs['gpu']['name']}, {inputs['engine']['slug']}, "
        f"weights {precision['weights']}, cache {precision['kv_cache']}"
    )


def verdict(answer: Answer) -> list[str]:
    """The verdict, its parts and what would change it."""
    words = answer["verdict"]
    head = [words["sentence"], words["figures"] or "", f"{words['binds']} {words['advice']}"]
    rows = [
        [one["label"], one["state"].replace("_", " "), _within(one), written.milliseconds(one["tpot_s"]),
         _money(one["cost_per_mtok_output"]), _money(one["cost_per_month"])]
        for one in answer["changes"]
    ]  # fmt: skip
    names = ["one change", "answer", "safe–likely", "each token", "per Mtok output", "per month"]
    return [
        "\n".join(line for line in head if line),
        table(names, rows, right=(2, 3, 4, 5)) if rows else "",
        answer["launch"]["command"] or "",
    ]


def _within(one: Answer) -> str:
    users, rates = one["max_concurrency_within_slo"], one["max_requests_per_s_within_slo"]
    found = rates if users is None else users
    if found is None or one["state"] == "does_not_fit":
        return written.DASH
    write = written.two_digits if users is None else written.count
    return "–".join(dict.fromkeys(write(found[side]) for side in ("low", "mid")))


_CHANGES = {
    "context_tokens": "context, tokens", "sequences": "conversations", "precision.weights": "weights",
    "precision.kv_cache": "cache", "parallelism.tp": "tp (GPUs)", "gpu": "GPU",
}  # fmt: skip


def fit(answer: Answer) -> list[str]:
    """The ledger of the worst GPU and what fits."""
    ledger, cache = answer["per_gpu"], answer["kv_cache"]
    said = {"fits": "Fits", "tight": "Fits, tight", "does_not_fit": "Does not fit"}[answer["verdict"]]
    names = (
        ("weights", "weights_bytes"), ("runtime", "runtime_overhead_bytes"), ("activations", "activation_bytes"),
        ("graphs", "cuda_graph_bytes"), ("KV cache of the load", "kv_cache_bytes"), ("free", "slack_bytes"),
        ("left to the driver", "unmanaged_bytes"), ("memory of the GPU", "memory_bytes"),
    )  # fmt: skip
    rows = [[name, written.gib(ledger[key])] for name, key in names]
    most = cache["max_context_tokens"]
    counts = [
        ("conversations that fit", written.count(cache["max_sequences"])),
        ("longest context at this load", "any" if most is None else f"{written.count(most)} tokens"),
        ("cache of one token", f"{written.count(cache['bytes_per_token'])} bytes"),
        ("binds", (answer["binding_term"] or written.DASH).replace("_", " ")),
    ]
    changes = [
        [
            _CHANGES.get(one["change"], one["change"]),
            str(one["value"]),
            written.count(one["max_sequences"]),
            one["verdict"],
        ]
        for one in answer["suggestions"]
    ]
    fixes = table(["would fit with", "value", "conversations", "answer"], changes, right=(2,)) if changes else ""
    return [f"{said}. {plan_line(answer)}", table(["one GPU", "size"], rows, right=(1,)), pairs(counts), fixes]


def speed(answer: Answer) -> list[str]:
    """Times and rates with their bands, and a row for each batch size."""
    expected, ceiling = answer["expected"], answer["ceiling"]
    figures = (
        ("first token", "ttft_s", written.seconds), ("each further token", "tpot_s", written.milliseconds),
        ("whole answer", "e2e_s", written.seconds),
        ("tokens/s of one user", "tokens_per_s_per_user", written.two_digits),
        ("tokens/s of all", "tokens_per_s_total", written.two_digits),
        ("requests/s", "requests_per_s", written.two_digits),
    )  # fmt: skip
    rows = []
    for name, key, write in figures:
        band = expected[key] or {}
        rows.append(
            [name, write(band.get("mid")), write(band.get("low")), write(band.get("high")), write(ceiling[key])]
        )
    head = f"{plan_line(answer)}\nbasis {expected['basis']}"
    if answer["binding_term"]:
        head += f", binds {answer['binding_term'].replace('_', ' ')}"
    if not answer["feasible"]:
        head += "\nThe load does not fit at once."
    if expected["reason_detail"]:
        head += f"\n{expected['reason_detail']}"
    met = answer["meets_slo"]
    if met is not None:
        within = {True: "met", False: "missed", None: "not known"}[met["all"]]
        head += f"\ntargets {within} at the {met['band_side']} side of the band"
    batches = [
        [written.count(row["batch_size"]), written.seconds(_mid(row["ttft_s"])),
         written.milliseconds(_mid(row["tpot_s"])), written.two_digits(_mid(row["tokens_per_s_total"])),
         "waits" if row["saturated"] else (row["reason"] or "")]
        for row in answer["rows"]
    ]  # fmt: skip
    names = ["batch", "first token", "each token", "tokens/s of all", ""]
    return [
        head,
        table(["", "middle", "low", "high", "ceiling"], rows, right=(1, 2, 3, 4)),
        table(names, batches, right=(0, 1, 2, 3)) if batches else "",
    ]


def _mid(band: Answer | None) -> float | None:
    return None if band is None else band["mid"]


def _money(value: str | None) -> str:
    return written.money(None if value is None else Decimal(value))


def cost(answer: Answer) -> list[str]:
    """One's own GPUs and the API's bill, as far as they were asked for."""
    blocks = []
    hosted, api = answer["self_hosted"], answer["api"]
    if hosted is not None:
        currency = hosted["currency"]
        names = (
            ("per million output tokens", "cost_per_mtok_output"), ("  at the fast end", "cost_per_mtok_output_low"),
            ("  at the slow end", "cost_per_mtok_output_high"),
            ("per million tokens, blended", "cost_per_mtok_blended"),
            ("per request", "cost_per_request"), ("per hour", "cost_per_hour"), ("per month", "cost_per_month"),
        )  # fmt: skip
        rows = [[name, _money(hosted[key]), hosted["reasons"].get(key, "")] for name, key in names]
        said = f"{hosted['gpus']} × GPU at {_money(hosted['price_per_gpu_hour'])} {currency} per hour"
        if not hosted["feasible"]:
            said += "\nThe load does not fit at once."
        blocks += [said, table(["own GPUs", currency, ""], rows, right=(1,))]
    if api is not None:
        rows = [
            [line["meter"], f"{line['quantity']:,}", _exact(line["unit_price"]), _exact(line["amount"]),
             line["reason"] or ""]
            for line in api["lines"]
        ]  # fmt: skip
        rows.append(["total", "", "", _exact(api["total"]), api["reason"] or ""])
        head = f"{api['price'] or 'stated prices'}, {api['channel']}, tier {api['tier']}, {api['requests']:,} requests"
        blocks += [head, table(["meter", "count", "per unit", api["currency"], ""], rows, right=(1, 2, 3))]
    return blocks


def _exact(value: str | None) -> str:
    return written.DASH if value is None else value


def cache(answer: Answer) -> list[str]:
    """What prompt caching saves and the cheapest way to use it."""
    currency = answer["currency"]
    saving = answer["saving_fraction"]
    head = [
        ("without a cache", f"{_money(answer['cost_without'])} {currency} per {answer['per']}"),
        ("with it", f"{_money(answer['cost_with'])} {currency}"),
        ("saves", written.DASH if saving is None else f"{saving * 100:.0f} %"),
        ("found in the cache", written.DASH if (hit := answer["hit_probability"]) is None else f"{hit * 100:.0f} %"),
    ]
    pays = answer["break_even"]
    if pays["requests_per_hour"] is not None:
        head.append(("pays from", f"{written.two_digits(pays['requests_per_hour'])} requests per hour"))
    best = (answer["advice"]["use"], answer["advice"]["ttl_s"])
    rows = [
        [one["use"].replace("_", " "), "" if one["ttl_s"] is None else f"{one['ttl_s']:,} s", _money(one["cost"]),
         one["reason"] or ("cheapest" if (one["use"], one["ttl_s"]) == best else "")]
        for one in answer["advice"]["options"]
    ]  # fmt: skip
    return [pairs(head), table(["use", "lifetime", currency, ""], rows, right=(1, 2)), "\n".join(answer["suggestions"])]


def size(answer: Answer) -> list[str]:
    """GPUs for a demand, best first."""
    rows = [
        [one["gpu"], one["precision"], str(one["tp"]), str(one["replicas"]), str(one["gpus"]),
         one["binding_constraint"], _money(one["cost_per_month"]), one["currency"] or ""]
        for one in answer["options"]
    ]  # fmt: skip
    names = ["gpu", "weights", "tp", "replicas", "gpus", "bound by", "per month", ""]
    said = f"Nothing serves this demand: {answer['binding_constraint']}."
    if answer["feasible"] and answer["options"]:
        first = answer["options"][0]
        said = f"{first['gpus']} × {first['gpu']} serve it best: {first['replicas']} of tp {first['tp']}."
    rejected = [[one["gpu"], one["precision"], str(one["tp"]), one["reason"]] for one in answer["rejected"]]
    return [
        said,
        table(names, rows, right=(2, 3, 4, 6)) if rows else "",
        table(["left out", "weights", "tp", "why"], rejected, right=(2,)) if rejected else "",
        _nearest(answer["nearest"]),
    ]


def _nearest(nearest: Answer | None) -> str:
    if nearest is None:
        return ""
    given = {name: value for name, value in nearest.items() if value is not None}
    return "nearest: " + ", ".join(f"{name} {value}" for name, value in given.items())


def inspect(answer: Answer) -> list[str]:
    """What a config.json says."""
    counts, kv = answer["parameters"], answer["kv_cache"]
    groups = [
        [str(group["layers"]), (group["attention"] or {}).get("kind", "none"),
         str((group["attention"] or {}).get("kv_heads", "")), str((group["feed_forward"] or {}).get("experts", 0)),
         written.count(group["cache_bytes_per_token"])]
        for group in answer["layer_groups"]
    ]  # fmt: skip
    window = answer["context_window_tokens"]
    head = [
        ("name", answer["name"]), ("family", answer["family"]), ("parameters", written.count(counts["total"])),
        ("active", written.count(counts["active"])),
        ("context window", written.DASH if window is None else f"{window:,} tokens"),
        ("weights", f"{answer['weights_format']}, {written.gib(answer['weights_bytes'])}"),
        ("cache of one token", f"{kv['bytes_per_token']:,} bytes"),
    ]  # fmt: skip
    return [
        pairs(head),
        table(["layers", "attention", "kv heads", "experts", "cache bytes/token"], groups, right=(0, 2, 3, 4)),
    ]
