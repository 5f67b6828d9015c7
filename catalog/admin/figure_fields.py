"""Form fields of figures: people write 80 GB or 3.35 TB/s, the base unit is stored, and no digit is lost on the way."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from catalog.admin.units import FIGURES, exact_figure, kind_of_figure, read_figure

_LONGEST = 40


class FigureField(forms.Field):
    """A number of bytes, bytes per second or FLOP/s, written with its unit."""

    widget = UnfoldAdminTextInputWidget

    def __init__(self, *, kind: str, whole: bool, **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind
        self.whole = whole

    def to_python(self, value: Any) -> float | int | None:
        """The figure in its base unit."""
        if value in self.empty_values:
            return None
        if isinstance(value, int | float):
            return value
        if len(str(value)) > _LONGEST:
            raise ValidationError(_("Write a number and its unit, nothing else."))
        try:
            read = read_figure(str(value), self.kind)
        except ValueError as refused:
            raise ValidationError(str(refused)) from refused
        return int(read.to_integral_value()) if self.whole else float(read)

    def prepare_value(self, value: Any) -> Any:
        """The stored figure in the unit that says it exactly; what a person wrote as it was written."""
        return exact_figure(value, self.kind) if isinstance(value, int | float | Decimal) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether another figure is meant, in whatever unit."""
        try:
            return self.to_python(initial) != self.to_python(data)
        except ValidationError:
            return True


def figure_field(db_field: Any) -> FigureField | None:
    """The field of a figure's column; None for columns that hold no figure with a unit."""
    kind = kind_of_figure(db_field.name)
    if kind is None or not isinstance(db_field, models.FloatField | models.IntegerField):
        return None
    example = FIGURES[kind][1]
    return FigureField(
        kind=kind,
        whole=isinstance(db_field, models.IntegerField),
        label=capfirst(db_field.verbose_name),
        required=not db_field.blank,
        help_text=_("%(what)s Write it with its unit: %(example)s.") % {"what": db_field.help_text, "example": example},
    )
