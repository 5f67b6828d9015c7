"""Figures of power and energy, expected with a band; no ceiling is said of them."""

from estimator.figures.speed import SIDES

__all__ = ["ENERGY", "ENERGY_COLUMNS", "SIDES"]

# name → unit, meaning.
ENERGY = {
    "watts_per_gpu": ("W", "Power of one GPU, W: never below idle, never above its cap. Hosts are not in it."),
    "joules_per_token": ("J", "Energy of all GPUs of the replica for one output token, its share of prompts in it, J."),
    "joules_per_request": ("J", "Energy of all GPUs of the replica for one request, J; null for a single step."),
}
ENERGY_COLUMNS = tuple(f"{name}_{side}" for name in ENERGY for side in SIDES)
