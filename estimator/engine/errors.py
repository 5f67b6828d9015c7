"""Errors of the engine: bad input, missing data and unknown architectures are told apart; infeasible is no error."""


class EngineError(ValueError):
    """Base of all errors the engine raises on purpose; `field` names the input that caused it."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidInputError(EngineError):
    """An input is out of range or contradicts another."""


class MissingFigureError(EngineError):
    """A figure that the answer needs is not known, and is not guessed."""


class UnknownArchitectureError(EngineError):
    """The model_type is not one the reader has rules for; `near` holds the nearest known ones."""

    def __init__(self, message: str, *, model_type: str, near: tuple[str, ...] = (), field: str = "model_type") -> None:
        super().__init__(message, field=field)
        self.model_type = model_type
        self.near = near


class UnpricedMeterError(EngineError):
    """A used meter has no price; unknown is never zero."""

    def __init__(self, message: str, *, meter: str) -> None:
        super().__init__(message, field=meter)
        self.meter = meter
