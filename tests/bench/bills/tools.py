"""Bills usages with each of the five tools; runs in an environment of its own that holds nothing else.

usage: python tools.py USAGES.json ANSWERS.json. An answer is a sum in USD as text, or the reason why a tool gives none.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

# litellm and tokencost load newer prices from the network unless they are told not to.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

Usage = dict[str, Any]
LITELLM_BEFORE = {
    "google": "gemini/", "deepseek": "deepseek/", "x-ai": "xai/", "moonshotai": "moonshot/", "mistral": "mistral/",
    "groq": "groq/", "zai": "zai/", "minimax": "minimax/", "openai": "", "anthropic": "",
}  # fmt: skip
LITELLM_SELLERS = {"google": "gemini", "x-ai": "xai", "moonshotai": "moonshot"}
OCC_SELLERS = {"google": "gemini"}
MODEL_PRICES_SELLERS = {"x-ai": "xai"}


def prompt_tokens(count: Usage) -> int:
    """Every token of the prompt."""
    return sum(count[name] for name in ("input", "cache_read", "cache_write", "cache_write_1h"))


def genai_prices(asked: Usage) -> Decimal:
    """The package's own calculator."""
    import genai_prices

    count = asked["count"]
    usage = genai_prices.Usage(
        input_tokens=prompt_tokens(count),
        output_tokens=count["output"] + count["reasoning"],
        cache_read_tokens=count["cache_read"],
        cache_write_tokens=count["cache_write"] + count["cache_write_1h"],
        cache_write_1h_tokens=count["cache_write_1h"],
    )
    channels = {
        "standard": None,
        "batch": {"processing": "batch"},
        "fast": {"service_tier": "fast", "speed": "fast"},
    }
    context = channels.get(asked["channel"], {"service_tier": asked["channel"]})
    price = genai_prices.calc_price(
        usage,
        asked["model"],
        provider_id=asked["seller"],
        genai_request_timestamp=datetime.fromisoformat(asked["at"]),
        price_context=context,
    )
    return price.total_price


def litellm(asked: Usage) -> float:
    """`cost_per_token`, or the calculator of batches."""
    import litellm as tool
    from litellm.cost_calculator import batch_cost_calculator, cost_per_token
    from litellm.types.utils import (
        CacheCreationTokenDetails,
        CompletionTokensDetailsWrapper,
        PromptTokensDetailsWrapper,
    )
    from litellm.types.utils import Usage as LitellmUsage

    count, seller = asked["count"], asked["seller"]
    if LITELLM_BEFORE[seller] + asked["model"] not in tool.model_cost:
        raise LookupError("its list does not have the model")  # it would bill 0
    written = count["cache_write"] + count["cache_write_1h"]
    lives = CacheCreationTokenDetails(
        ephemeral_5m_input_tokens=count["cache_write"], ephemeral_1h_input_tokens=count["cache_write_1h"]
    )
    details = PromptTokensDetailsWrapper(
        cached_tokens=count["cache_read"],
        cache_creation_tokens=written,
        cache_creation_token_details=lives if count["cache_write_1h"] else None,
    )
    usage = LitellmUsage(
        prompt_tokens=prompt_tokens(count),
        completion_tokens=count["output"] + count["reasoning"],
        total_tokens=prompt_tokens(count) + count["output"] + count["reasoning"],
        prompt_tokens_details=details,
        completion_tokens_details=CompletionTokensDetailsWrapper(reasoning_tokens=count["reasoning"]),
        cache_creation_input_tokens=written,
        cache_read_input_tokens=count["cache_read"],
        **({"speed": "fast"} if asked["channel"] == "fast" and seller == "anthropic" else {}),
    )
    model = LITELLM_BEFORE[seller] + asked["model"]
    provider = LITELLM_SELLERS.get(seller, seller)
    if asked["channel"] == "batch":
        return sum(batch_cost_calculator(usage, model, provider))
    tier = None if asked["channel"] == "standard" else asked["channel"]
    return sum(cost_per_token(model, custom_llm_provider=provider, usage_object=usage, service_tier=tier))


def openai_cost_calculator(asked: Usage) -> Decimal:
    """`calculate_cost` with its own disjoint usage."""
    import openai_cost_calculator as tool

    count = asked["count"]
    tool.set_offline_mode(True)
    usage = tool.Usage(
        input_tokens=count["input"],
        cached_input_tokens=count["cache_read"],
        cache_write_tokens=count["cache_write"],
        cache_write_1h_tokens=count["cache_write_1h"],
        output_tokens=count["output"],
        reasoning_tokens=count["reasoning"],
    )
    return tool.calculate_cost(
        OCC_SELLERS.get(asked["seller"], asked["seller"]),
        asked["model"],
        usage=usage,
        service_tier=asked["channel"],
        at=datetime.fromisoformat(asked["at"]),
    ).total


def model_prices(asked: Usage) -> float | None:
    """`cost` at the request's own moment."""
    import model_prices as tool

    count = asked["count"]
    return tool.cost(
        asked["model"],
        input_tokens=count["input"],
        output_tokens=count["output"] + count["reasoning"],
        cache_read_tokens=count["cache_read"],
        cache_write_tokens=count["cache_write"],
        cache_write_1h_tokens=count["cache_write_1h"],
        at=asked["at"],
        provider=MODEL_PRICES_SELLERS.get(asked["seller"], asked["seller"]),
        mode=None if asked["channel"] == "standard" else asked["channel"],
    )


def tokencost(asked: Usage) -> Decimal:
    """Sums of its kinds of tokens; it knows no channels, no writes and no lengths."""
    from tokencost.costs import calculate_cost_by_tokens

    count = asked["count"]
    if asked["channel"] != "standard":
        raise LookupError(f"it has no channel {asked['channel']}")
    if count["cache_write"] or count["cache_write_1h"]:
        raise LookupError("it has no cache writes")
    model = LITELLM_BEFORE[asked["seller"]] + asked["model"]
    parts = {"input": count["input"], "output": count["output"] + count["reasoning"], "cached": count["cache_read"]}
    return sum((calculate_cost_by_tokens(tokens, model, kind) for kind, tokens in parts.items() if tokens), Decimal(0))


TOOLS: dict[str, Callable[[Usage], Any]] = {
    "genai-prices": genai_prices,
    "litellm": litellm,
    "model-prices": model_prices,
    "openai-cost-calculator": openai_cost_calculator,
    "tokencost": tokencost,
}


def answer(tool: Callable[[Usage], Any], asked: Usage) -> dict[str, str]:
    """The tool's sum, or why it gives none; a tool may refuse by any error."""
    try:
        total = tool(asked)
    except Exception as refused:
        return {"refused": f"{type(refused).__name__}: {str(refused).splitlines()[0][:120] if str(refused) else ''}"}
    return {"refused": "no price"} if total is None else {"total": str(total)}


def main(usages: Path, answers: Path) -> None:
    """Bill every usage with every tool."""
    asked = json.loads(usages.read_text(encoding="utf-8"))
    found = [{name: answer(tool, each) for name, tool in TOOLS.items()} for each in asked]
    answers.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
