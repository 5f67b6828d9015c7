"""What an engine allocates for the caches of sequences on a rank: how many blocks of which size each sequence takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import ceil, floor, gcd, inf
from typing import Any

import numpy as np

UNLIMITED_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class KvAllocation:
    """Cache of sequences on one rank as the engine allocates it; bytes and blocks, numbers or arrays of many keys.

    Every one of N sequences of t tokens takes of a kind of layers g
    block_bytes_g · min(⌈t / block_tokens_g⌉, resident_g + chunk_g / N),
    and fixed_bytes besides (states, blocks that are always held). `resident_blocks` is what a windowed kind keeps
    while it decodes, infinite where it keeps everything. `chunk_blocks` is what one pass adds beside it: a pass has so
    many tokens for all sequences together, since blocks that have left the window are freed before a pass takes new
    ones. Windows ascend. The engine has whole units of `unit_bytes` (0: bytes) to give.

    `pooled` (1 or 0): each kind has a fixed share of the cache, so that the fullest share binds in place of the sum;
    the bytes of a kind are then stated as those of a whole cache in which its share is just full.
    """

    block_bytes: tuple[Any, ...]
    block_tokens: tuple[Any, ...]
    resident_blocks: tuple[Any, ...]
    chunk_blocks: tuple[Any, ...]
    fixed_bytes: Any = 0.0
    unit_bytes: Any = 0.0
    pooled: Any = 0.0

    @property
    def growing_bytes_per_token(self) -> Any:
        """Bytes that a further token adds to a long sequence, blocks as their mean."""
        return self._per_token(growing_alone=True)

    @property
    def short_bytes_per_token(self) -> Any:
        """Bytes of a token of a sequence inside every window, blocks as their mean."""
        return self._per_token(growing_alone=False)

    def _per_token(self, *, growing_alone: bool) -> Any:
        each = [
            size / tokens * ((resident == inf) if growing_alone else 1.0)
            for size, tokens, resident in zip(self.block_bytes, self.block_tokens, self.resident_blocks, strict=True)
        ]
        return _both(self.pooled, sum(each, 0.0), reduce(most, each, 0.0))

    @property
    def grows(self) -> bool:
        """Whether a long sequence takes more with each token."""
        return any(
            resident == inf and size > 0 for size, resident in zip(self.block_bytes, self.resident_blocks, strict=True)
        )

    @property
    def is_plain(self) -> bool:
        """Whether every token takes the same, whatever the length: no windows, states or shares."""
        return len(self.block_bytes) == 1 and self.grows and not self.fixed_bytes

    @property
    def shares_chunks(self) -> bool:
        """Whether the tokens of a pass are kept beside windows."""
        return any(_any(chunk) for chunk in self.chunk_blocks)

    @property
    def windowed_tokens(self) -> float | None:
        """Most tokens that a windowed kind keeps of one sequence alone; None where no kind is windowed."""
        kept = [
            (resident + chunk) * tokens
            for tokens, resident, chunk in zip(self.block_tokens, self.resident_blocks, self.chunk_blocks, strict=True)
            if resident != inf
        ]
        return float(max(kept)) if kept else None

    @property
    def main_block_tokens(self) -> int:
        """Tokens of the largest block that grows (of all blocks where none does; 1 where only states are kept)."""
        kinds = list(zip(self.block_tokens, self.resident_blocks, strict=True))
        growing = [int(tokens) for tokens, resident in kinds if resident == inf]
        return max(growing or [int(tokens) for tokens, _ in kinds], default=1)

    def sequence_bytes(self, tokens: Any) -> Any:
        """Bytes the engine allocates for one sequence of `tokens` tokens alone."""
        return self.load_bytes(1, tokens)

    def load_bytes(self, sequences: Any, tokens: Any) -> Any:
        """Bytes of `sequences` (1 or more) sequences of `tokens` tokens each."""
        parts = [
            size * least(up(tokens / block), resident + chunk / sequences)
            for size, block, resident, chunk in zip(
                self.block_bytes, self.block_tokens, self.resident_blocks, self.chunk_blocks, strict=True
            )
        ]
        return sequences * self._together(parts)

    def _together(self, parts: list[Any]) -> Any:
        added = sum(parts, self.fixed_bytes)
        if not _any(self.pooled):
            return added
        return _both(self.pooled, added, reduce(most, parts, self.fixed_bytes))

    def usable(self, budget_bytes: Any) -> Any:
        """The whole units in a budget of bytes; 0 for a negative one."""
        held = most(budget_bytes, 0.0)
        if isinstance(self.unit_bytes, np.ndarray):
            unit = np.where(self.unit_bytes > 0, self.unit_bytes, 1.0)
            return np.where(self.unit_bytes > 0, np.floor(held / unit) * unit, held)
        return down(held / self.unit_bytes) * self.unit_bytes if self.unit_bytes else held

    def sequences_within(self, budget_bytes: Any, tokens: Any) -> Any:
        """Most whole sequences that fit into `budget_bytes` when each has `tokens` tokens; 0 where not one does.

        The one count of sequences a cache holds: memory fit, speed, sizing and sweeps all take it.
        """
        found = down(self.mean_sequences_within(budget_bytes, tokens) * (1 + 1e-12))
        if not self.shares_chunks:
            return found
        # Blocks round the chunks of windows apart: the count may fall one short.
        return found + (self.load_bytes(found + 1, tokens) <= self.usable(budget_bytes))

    def mean_sequences_within(self, budget_bytes: Any, tokens: Any) -> Any:
        """Sequences that fill `budget_bytes` when they have `tokens` tokens in the mean, some fewer and some more.

        Not rounded; rounded down it is `sequences_within`. The load takes the least of what it would take with a chunk
        of its own beside every window for each sequence, with one chunk of the smallest window shared by all, of the
        next, and so on: the most of what fits by each.
        """
        budget = self.usable(budget_bytes)
        kinds = list(zip(self.block_bytes, self.block_tokens, self.resident_blocks, self.chunk_blocks, strict=True))
        added = self._mean_added(budget, tokens, kinds)
        if not _any(self.pooled):
            return added
        shares = [budget / most(self.fixed_bytes, 1e-9)]
        for size, block, resident, chunk in kinds:
            blocks = up(tokens / block)
            alone = budget / most(size * least(blocks, resident + chunk), 1e-9)
            shared = (budget - size * chunk) / most(size * least(blocks, resident), 1e-9)
            shares.append(most(alone, shared))
        return _both(self.pooled, added, reduce(least, shares))

    def _mean_added(self, budget: Any, tokens: Any, kinds: list[tuple[Any, ...]]) -> Any:
        each = most(self._sum_alone(tokens, kinds), 1.0)
        found = budget / each
        shared = 0.0
        for size, block, resident, chunk in kinds:
            if not _any(chunk):
                continue
            blocks = up(tokens / block)
            each = most(each - size * (least(blocks, resident + chunk) - least(blocks, resident)), 1.0)
            shared = shared + size * chunk
            found = most(found, (budget - shared) / each)
        return found

    def _sum_alone(self, tokens: Any, kinds: list[tuple[Any, ...]]) -> Any:
        return sum(
            (size * least(up(tokens / block), resident + chunk) for size, block, resident, chunk in kinds),
            self.fixed_bytes,
        )

    def longest_tokens(self, budget_bytes: float, sequences: int = 1) -> int:
        """The longest length at which so many sequences fit; at most 2^40 tokens, 0 when none does."""
        budget = self.usable(budget_bytes)

        def fits(tokens: int) -> bool:
            return bool(self.load_bytes(sequences, tokens) <= budget * (1 + 1e-12))

        if not self.grows:
            return self._longest(fits, 0, UNLIMITED_TOKENS)
        if self.is_plain:
            block = int(self.block_tokens[0])
            blocks = int(budget / sequences / float(self.block_bytes[0]) + 1e-9)
            return min(blocks * block, UNLIMITED_TOKENS)
        slope = float(self.growing_bytes_per_token)
        most_tokens = min(int(budget / sequences / slope) + self.main_block_tokens, UNLIMITED_TOKENS)
        kinds = zip(self.block_bytes, self.resident_blocks, self.chunk_blocks, strict=True)
        kept = sum(size * (resident + chunk / sequences) for size, resident, chunk in kinds if resident != inf)
        return self._longest(fits, int((budget / sequences - self.fixed_bytes - kept) / slope), most_tokens)

    def _longest(self, fits: Callable[[int], bool], guess: int, high: int) -> int:
        """The largest length up to `high` that fits (0 always does).

        Between the ends of blocks a load takes the same: only whole multiples of what all blocks have in common are
        tried, from the guess on in growing steps, and then by halves.
        """
        if fits(high):
            return high
        whole = all(float(tokens).is_integer() for tokens in self.block_tokens)
        unit = gcd(*(int(tokens) for tokens in self.block_tokens)) if whole and self.block_tokens else 1
        low, top = 0, high // unit
        step = max(self.main_block_tokens // unit, 1)
        place = min(max(guess // unit, 0), top)
        if place == 0 or fits(place * unit):
            low = place
            while low + step <= top and fits((low + step) * unit):
                low, step = low + step, step * 2
            top = min(top, low + step - 1)
        else:
            top = place - 1
            while top - step > 0 and not fits((top - step) * unit):
                top, step = top - step - 1, step * 2
            low = max(top - step, 0)
        while low < top:
            middle = (low + top + 1) // 2
            low, top = (middle, top) if fits(middle * unit) else (low, middle - 1)
        return low * unit


def least(one: Any, other: Any) -> Any:
    """The smaller of two numbers or arrays; numpy costs ten times as much for two numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.minimum(one, other)
    return min(one, other)


def up(value: Any) -> Any:
    """A number or array rounded up."""
    return np.ceil(value) if isinstance(value, np.ndarray) else ceil(value)


def down(value: Any) -> Any:
    """A number or array rounded down."""
    return np.floor(value) if isinstance(value, np.ndarray) else floor(value)


def most(one: Any, other: Any) -> Any:
    """The larger of two numbers or arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.maximum(one, other)
    return max(one, other)


def _both(pooled: Any, added: Any, fullest: Any) -> Any:
    """The sum of the kinds, or the fullest share where the cache is divided in advance."""
    if isinstance(pooled, np.ndarray):
        return np.where(pooled > 0, fullest, added)
    return fullest if pooled else added


def _any(value: Any) -> bool:
    """Whether a number, or any of an array, is not 0."""
    return bool(value.any()) if isinstance(value, np.ndarray) else bool(value)
