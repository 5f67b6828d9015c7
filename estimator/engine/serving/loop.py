"""A loop played through, request by request, closed or with arrivals: what the closed forms must meet.

One rank in plain Python. Decode steps in which nothing changes are taken at once: until one sequence ends, the mailbox
is read, or the next request comes.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import floor, inf

import numpy as np
import numpy.typing as npt

from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.operators import Folded, decode_linear_s, prefill_attention_s
from estimator.engine.serving.launch import Scheduler
from estimator.engine.serving.passes import prompt_pass
from estimator.engine.serving.steps import step_s

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Tokens of prompt and answer."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Seconds from sending to the first token and to the last of each request; `passes` with prompts there were."""

    first_s: Floats
    last_s: Floats
    passes: int

    def tpot_s(self, requests: Sequence[Request]) -> Floats:
        """Mean seconds between tokens of each request with a second token."""
        gaps = np.array([request.output_tokens - 1 for request in requests], dtype=np.float64)
        kept = gaps > 0
        return (self.last_s[kept] - self.first_s[kept]) / gaps[kept]


@dataclass(slots=True)
class _Clock:
    """Where the loop stands: seconds, decode steps done, start of the step before, tokens in the cache."""

    now: float = 0.0
    steps: int = 0
    before: float = -inf
    cached: float = 0.0
    looked_at: int = 0
    had_prompts: bool = True
    passes: int = 0


@dataclass(slots=True)
class _Line:
    """Requests on their way: sent, in the mailbox from a time on, waiting for a pass, decoding until a step."""

    sent: list[float]
    mailbox: list[float] = field(default_factory=list)
    taken: int = 0
    waiting: deque[int] = field(default_factory=deque)
    done: dict[int, int] = field(default_factory=dict)
    decoding: list[tuple[int, int]] = field(default_factory=list)
    door_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sequences that run at once at most, and rounds of the loop after which it is given up."""

    places: float = inf
    rounds: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """When requests are sent: the first ones at these seconds, then one for each that ends, `outside_s` beside each."""

    at_s: Sequence[float]
    outside_s: float


class _Loop:
    """Plays requests through one server, at most `places` of them inside at a time."""

    def __init__(
        self, folded: Folded, scheduler: Scheduler, requests: Sequence[Request], sending: Sending, limits: Limits
    ) -> None:
        self.folded, self.scheduler, self.requests = folded, scheduler, requests
        self.outside_s, self.limits = sending.outside_s, limits
        self.clock, self.line = _Clock(), _Line(sent=[0.0] * len(requests))
        self.first, self.last = np.zeros(len(requests)), np.zeros(len(requests))
        for number, at in enumerate(sending.at_s):
            self._send(number, at)

    def play(self) -> Played:
        """Until every request has ended.

        Raises:
            InvalidInputError: it takes more rounds than the limit.
        """
        left, rounds = len(self.requests), 0
        while left:
            rounds += 1
            if rounds > self.limits.rounds:
                detail = (
                    f"this load takes more than {self.limits.rounds:,.0f} passes and changes to play: ask for fewer"
                )
                raise InvalidInputError(detail, field="simulated_requests")
            self._wait_for_work()
            self._look()
            ready, tokens, attention = self._plan()
            if tokens:
                self._prompt_pass(ready, tokens, attention)
            else:
                self._steps()
            left -= self._end(ready)
        return Played(first_s=self.first, last_s=self.last, passes=self.clock.passes)

    def _send(self, number: int, at: float) -> None:
        """A request reaches the mailbox after client and tokenizer; tokenizing takes one at a time."""
        line = self.line
        line.sent[number] = at
        line.door_s = max(line.door_s, at) + float(self.scheduler.prompt_token_s) * self.requests[number].input_tokens
        line.mailbox.append(line.door_s + self.outside_s)

    def _wait_for_work(self) -> None:
        clock, line = self.clock, self.line
        if not line.decoding and not line.waiting:
            clock.now = max(clock.now, line.mailbox[line.taken])
            clock.before, clock.had_prompts = clock.now, True

    def _look(self) -> None:
        """Takes requests out of the mailbox. A step planned ahead knows those alone that came before the last began."""
        clock, line = self.clock, self.line
        # A step that is planned ahead was planned when the one before began; a share of one in between.
        known = clock.now - float(self.scheduler.planned_ahead) * (clock.now - max(clock.before, 0.0))
        if clock.had_prompts or clock.steps - clock.looked_at >= self.scheduler.poll_steps:
            clock.looked_at = clock.steps
            while line.taken < len(line.mailbox) and line.mailbox[line.taken] <= known + 1e-12:
                line.waiting.append(line.taken)
                line.taken += 1
        clock.before = clock.now

    def _plan(self) -> tuple[list[int], int, float]:
        """Prompts of the next pass: those that end in it, their tokens, and seconds of their attention."""
        line, tokens, attention = self.line, 0, 0.0
        ready: list[int] = []
        beside = 0 if self.scheduler.prompts_alone else len(line.decoding)
        left = floor(float(self.folded.batched_tokens)) - beside
        while line.waiting and left >= 1 and len(line.decoding) + len(ready) < self.limits.places:
            number = line.waiting[0]
            had = line.done.get(number, 0)
            rest = self.requests[number].input_tokens - had
            if self.scheduler.whole_prompts and rest > left and tokens:
                break
            took = rest if self.scheduler.whole_prompts else min(rest, left)
            attention += float(prefill_attention_s(self.folded, float(took), float(had)))
            line.done[number] = had + took
            tokens, left = tokens + took, left - took
            if took < rest:
                break
            ready.append(line.waiting.popleft())
        return ready, tokens, attention

    def _prompt_pass(self, ready: list[int], tokens: int, attention: float) -> None:
        clock, line = self.clock, self.line
        decoding = 0 if self.scheduler.prompts_alone else len(line.decoding)
        context = clock.cached / len(line.decoding) if line.decoding else 0.0
        whole = prompt_pass(
            self.folded,
            prompts=float(len(ready)),
            tokens=float(tokens),
            attention_s=0.0,
            decoding=float(decoding),
            linear_s=decode_linear_s(self.folded, context),
            ranks=1.0,
        )
        clock.now += float(whole.plus(attention).seconds(self.folded, self.scheduler, float(decoding)))
        clock.passes += 1
        if decoding:
            clock.steps += 1
            clock.cached += decoding
        clock.had_prompts = True

    def _steps(self) -> None:
        """As many decode steps as nothing changes in."""
        clock, line = self.clock, self.line
        count = len(line.decoding)
        context = clock.cached / count
        one = float(step_s(self.folded, float(count), decode_linear_s(self.folded, context)))
        longer = float(step_s(self.folded, float(count), decode_linear_s(self.folded, context + 1.0))) - one
        steps = line.decoding[0][0] - clock.steps
        if line.taken < len(line.mailbox):
            until = max(1, int((line.mailbox[line.taken] - clock.now) / one) + 1)
            if self.scheduler.poll_steps > 1.0:
                until = max(until, int(self.scheduler.poll_steps) - (clock.steps - clock.looked_at))
            steps = min(steps, until)
        clock.before = clock.now + (steps - 1) * one + longer * (steps - 1) * (steps - 2) / 2.0
        clock.now += steps * one + longer * steps * (steps - 1) / 2.0
        clock.steps += steps
        clock.cached += steps * count
        clock.had_prompts = False

    def _end(self, ready: list[int]) -> int:
        """Ends answers whose last step this was, and starts those whose prompts are through; how many ended."""
        clock, line = self.clock, self.line
        ended = []
        while line.decoding and line.decoding[0][0] <= clock.steps:
            number = heappop(line.decoding)[1]
            clock.cached -= self.requests[number].input_tokens + self.requests[number].output_tokens
            ended.append(number)
        for number in ready:
            self.first[number] = clock.now - line.sent[number]
            request = self.requests[number]
            if request.output_tokens <= 1:
                ended.append(number)
                continue
            heappush(line.decoding, (clock.steps + request.output_tokens - 1, number))
            clock.cached += request.input_tokens + 1
        for number in ended:
            self.last[number] = clock.now - line.sent[number]
            if len(line.mailbox) < len(self.requests):
                self._send(len(line.mailbox), clock.now)
        return len(ended)


_NO_LIMITS = Limits()


def play(
    folded: Folded,
    scheduler: Scheduler,
    requests: Sequence[Request],
    concurrency: int,
    *,
    client_s: float = 0.0,
    sending_gap_s: float = 0.0,
    limits: Limits = _NO_LIMITS,
) -> Played:
    """A benchmark's run: as many requests at once as are in flight, then one for each that ends.

    Args:
        folded: constants of one key with one rank.
        scheduler: settings of its server.
        requests: lengths, in the order in which they are sent.
        concurrency: requests in flight.
        client_s: the client's own time in each.
        sending_gap_s: between two that are sent together.
        limits: of the server and of the work.

    Raises:
        InvalidInputError: ranks, stages, or prompts that are held back: those are in the closed form alone; or more
            rounds than the limit.
    """
    _check(folded, scheduler)
    outside = client_s + float(scheduler.server_s) + float(scheduler.chunk_s) * concurrency
    first = [number * sending_gap_s for number in range(min(concurrency, len(requests)))]
    return _Loop(folded, scheduler, requests, Sending(at_s=first, outside_s=outside), limits).play()


def play_arrivals(
    folded: Folded,
    scheduler: Scheduler,
    requests: Sequence[Request],
    arrivals_s: Sequence[float],
    *,
    client_s: float = 0.0,
    limits: Limits = _NO_LIMITS,
) -> Played:
    """Requests that come by themselves, at these seconds, whoever has ended.

    Args:
        folded: constants of one key with one rank.
        scheduler: settings of its server.
        requests: lengths, in the order in which they come.
        arrivals_s: when each comes, ascending, one for each request.
        client_s: the client's own time in each.
        limits: of the server and of the work.

    Raises:
        InvalidInputError: ranks, stages, or prompts that are held back; or more rounds than the limit.
    """
    _check(folded, scheduler)
    sending = Sending(at_s=arrivals_s, outside_s=client_s + float(scheduler.server_s))
    return _Loop(folded, scheduler, requests, sending, limits).play()


def can_be_played(folded: Folded, scheduler: Scheduler) -> bool:
    """Whether a key is one that the loop plays: one attention-data rank and stage, no waits to batch."""
    return (
        float(folded.attention_dp * folded.pipeline) <= 1.0 and not scheduler.batch_steps and not scheduler.rank_steps
    )


def _check(folded: Folded, scheduler: Scheduler) -> None:
    if not can_be_played(folded, scheduler):
        raise InvalidInputError(
            "a simulation takes one attention-data rank and stage, and no waits to batch", field="workload.traffic"
        )
