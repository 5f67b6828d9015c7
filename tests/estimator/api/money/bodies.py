"""Parts of questions of money: the day asked about, prices by name, a bill, a cached prompt."""

DAY = "2026-11-29"
OPUS, HAIKU, GPT = "anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5", "openai/gpt-5"
SOL, FLASH, PRO = "openai/gpt-6.1-sol", "google/gemini-2.5-flash", "google/gemini-2.5-pro"
DEEPSEEK, GROK = "deepseek/deepseek-v4-pro", "x-ai/grok-4.7"
FLAT = {"currency": "USD", "meters": {"input": "3", "output": "15"}}
EVERY_MINUTE = {"kind": "regular", "requests_per_hour": 60}
LENGTHS = {"prefix_tokens": 20_000, "suffix_tokens": 1000, "output_tokens": 500}
STATED = {"currency": "USD", "meters": {"input": "4", "output": "20", "cache_read": "0.2", "cache_write_5m": "5"}}
_TOKENS = {
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write_1800s", "cache_write_43200s",
    "reasoning", "input_audio", "output_audio", "cache_read_audio", "input_image",
}  # fmt: skip


def bill(price, usage, **more):
    """An `api` part; counts by their short names."""
    keys = {f"{name}_tokens" if name in _TOKENS else name: count for name, count in usage.items()}
    when = {} if "at" in more or "on" in more else {"on": DAY}
    return {"api": {"price": price, "usage": keys} | when | more}


def cached(price, arrivals, lengths=LENGTHS, on=DAY, channel="standard", **more):
    part = {"price": price, "channel": channel} | ({"on": on} if isinstance(price, str) else {})
    return {"api": part, "arrivals": arrivals, **lengths, **more}


def lengths(prefix, suffix=0, output=0):
    return {"prefix_tokens": prefix, "suffix_tokens": suffix, "output_tokens": output}
