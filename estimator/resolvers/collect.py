"""Gathers the issues of all parts of a request before any is told, so that one answer names them all."""

from collections.abc import Iterator
from contextlib import contextmanager

from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, FaultCode, ResolutionError
from estimator.resolvers.facts import UnknownSlugError

_Path = tuple[str | int, ...]


class Collector:
    """Issues found so far."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def add(self, path: _Path, code: FaultCode, detail: str, near: tuple[str, ...] = ()) -> None:
        """Record one issue."""
        self.faults.append(Fault(path=path, code=code, detail=detail, near=near))

    @contextmanager
    def part(self) -> Iterator[None]:
        """Resolve one part: what it raises about the request is recorded, and the next part can go on.

        Missing figures and unknown architectures are no faults of a field; they pass through and become a 422.
        """
        try:
            yield
        except ResolutionError as error:
            self.faults.extend(error.faults)
        except InvalidInputError as error:
            path = tuple(error.field.split(".")) if error.field else ()
            self.faults.append(Fault(path=path, code="invalid", detail=str(error)))

    def raise_if_any(self) -> None:
        """Tell the issues found so far.

        Raises:
            ResolutionError: there are some.
        """
        if self.faults:
            raise ResolutionError(self.faults)


def unknown_slug(error: UnknownSlugError, path: _Path, near: tuple[str, ...]) -> ResolutionError:
    """A slug that the facts do not hold, as an issue at its place."""
    return ResolutionError([Fault(path=path, code="unknown_slug", detail=str(error), near=near)])
