"""Which kept things somebody may see; every endpoint, page and admin list starts from here."""

from typing import Any, Self

from django.db import models
from django.db.models import Q


class KeptQuerySet(models.QuerySet[Any]):
    """Rows with an owner, narrowed to those a person may read."""

    def visible_to(self, user: Any) -> Self:
        """Own ones and those open to all; everything for staff with the view permission."""
        name = self.model._meta.model_name
        open_to_all = Q(shared=True) if name == "calibration" else Q(public=True)
        if not user.is_authenticated or not user.is_active:
            return self.filter(open_to_all)
        if user.is_staff and user.has_perm(f"receipts.view_{name}"):
            return self
        return self.filter(Q(owner_id=user.pk) | open_to_all)
