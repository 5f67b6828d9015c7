"""What a model's own checks refuse, as errors of the body it was made from."""

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from estimator.engine.faults import Fault


def row_faults(refused: ValidationError) -> list[Fault]:
    """The words of a model's checks, each at its field."""
    if not hasattr(refused, "error_dict"):
        return [Fault(code="invalid", detail=text) for text in refused.messages]
    return [
        Fault(code="invalid", detail=text, path=_place(field))
        for field, faults in refused.message_dict.items()
        for text in faults
    ]


def _place(field: str) -> tuple[str, ...]:
    """Where a column of the model stands in the body."""
    if field == NON_FIELD_ERRORS:
        return ()
    if field.startswith("peak_") and field.endswith("_flops_per_s"):
        return ("peak_flops_per_s", field.removeprefix("peak_").removesuffix("_flops_per_s"))
    return (field,)
