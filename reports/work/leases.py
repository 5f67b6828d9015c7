"""One lease for every kind of work: who has it (a token), until when, and how often it was begun.

A claim never waits for another: PostgreSQL skips rows that somebody else is claiming, SQLite has one writer at a time.
Every guard stands in the outer WHERE of the UPDATE that takes the row and names columns of its own table only. A
condition inside a subquery is not checked again after waiting for a row lock (READ COMMITTED), and a filter that joins
becomes such a subquery.
"""

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.db import connection, models, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from reports import clock, conf
from reports.choices import State

ModelT = TypeVar("ModelT", bound=models.Model)
_CANDIDATES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Work that is ours until the lease ends: primary key and lease token."""

    pk: int
    token: str


def new_token() -> str:
    """A lease token: 128 random bits."""
    return uuid.uuid4().hex


class Lease(ABC, Generic[ModelT]):
    """How the rows of one table are leased; a subclass says which rows are work and what else a change means."""

    model: type[ModelT]
    token: ClassVar[str] = "lease_token"  # noqa: S105  name of a column
    until: ClassVar[str] = "lease_until"
    attempts: ClassVar[str] = "attempts"

    @abstractmethod
    def free(self) -> Q:
        """What a row must meet to be taken, by columns of its own table alone: the guard of the UPDATE."""

    @abstractmethod
    def wanted(self) -> QuerySet[ModelT]:
        """The rows to take, best first; it may join, for it only proposes."""

    def begun(self) -> dict[str, Any]:
        """What else a claim sets."""
        return {}

    def ended(self) -> dict[str, Any]:
        """What else the end of a lease sets."""
        return {}

    def waiting(self, most: int) -> int:
        """How many rows could be taken now, counted up to `most`."""
        return len(self.wanted().values_list("pk")[:most])

    def claim(self) -> Claim | None:
        """Take the best row that nobody has; None when there is none."""
        return self.claim_of(self.wanted())

    def claim_of(self, wanted: QuerySet[ModelT]) -> Claim | None:
        """Take the first of the given rows that nobody has; None when there is none."""
        while taken := self._take(wanted):
            row, claim = taken
            if self.taken(row):
                return claim
        return None

    def taken(self, row: ModelT) -> bool:
        """What follows once a claim is recorded; False: the claim is void."""
        return True

    def _take(self, wanted: QuerySet[ModelT]) -> tuple[ModelT, Claim] | None:
        if connection.features.has_select_for_update_skip_locked:
            with transaction.atomic():
                row = wanted.select_for_update(skip_locked=True, of=("self",)).first()
                claim = None if row is None else self.claim_row(row.pk)
            return (row, claim) if row is not None and claim is not None else None
        while rows := list(wanted[:_CANDIDATES]):
            for row in rows:
                if claim := self.claim_row(row.pk):
                    return row, claim
        return None

    def claim_row(self, pk: int) -> Claim | None:
        """Take this row by one guarded UPDATE; None: somebody else has it, or it is no work any more."""
        token = new_token()
        changed = self._rows(self.free(), pk=pk).update(**self.taking(token))
        return Claim(pk=pk, token=token) if changed else None

    def taking(self, token: str) -> dict[str, Any]:
        """The columns that a claim sets."""
        lease = {self.token: token, self.until: clock.after(conf.lease_s()), self.attempts: F(self.attempts) + 1}
        return lease | self.begun()

    def held(self, claim: Claim) -> QuerySet[ModelT]:
        """The claimed row, as long as its lease is ours."""
        return self._rows(pk=claim.pk, state=State.RUNNING, **{self.token: claim.token})

    def heartbeat(self, claim: Claim, **progress: Any) -> bool:
        """Lengthen the lease and write progress; False: lost or cancelled."""
        return bool(self.held(claim).update(**{self.until: clock.after(conf.lease_s())}, **progress))

    def release(self, claim: Claim, *, give_attempt_back: bool = False, **why: Any) -> bool:
        """Let go so that it can be claimed again; the attempt is given back when nothing went wrong."""
        attempts = F(self.attempts) - 1 if give_attempt_back else F(self.attempts)
        return bool(self.held(claim).update(**{self.until: None, self.attempts: attempts}, **(self.ended() | why)))

    def expire(self) -> int:
        """Let go of every lease that has ended; how many."""
        over = self._rows(state=State.RUNNING, **{f"{self.until}__lt": Now()})
        waits = {self.until: None} | self.ended()
        # One by one: an UPDATE of many rows could wait for a cancel that waits for one of them.
        return sum(over.filter(pk=pk).update(**waits) for pk in list(over.values_list("pk", flat=True)))

    def _rows(self, *guards: Q, **values: Any) -> QuerySet[ModelT]:
        return self.model._default_manager.filter(*guards, **values)


class QueuedLease(Lease[ModelT]):
    """A lease of rows that wait as queued and are running while somebody has them."""

    def free(self) -> Q:
        """Queued, or running with a lease that has ended; and not tried too often."""
        expired = Q(state=State.QUEUED) | Q(state=State.RUNNING, lease_until__lt=Now())
        return expired & Q(attempts__lt=conf.MAX_ATTEMPTS)

    def begun(self) -> dict[str, Any]:
        """It is running."""
        return {"state": State.RUNNING}

    def ended(self) -> dict[str, Any]:
        """It waits again."""
        return {"state": State.QUEUED}
