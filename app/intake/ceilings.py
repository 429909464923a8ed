"""Limits that the operator sets to the budget of every selection."""

from app.settings import Settings
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.errors import InvalidConfig

_UNITS = {"max_seconds": "seconds", "max_pairs": "pairs"}


def list_excesses(budget: BudgetOptions, settings: Settings) -> list[InvalidConfig]:
    """One error for each limit of the budget that exceeds the service's."""
    asked = {name: getattr(budget, name) for name in _UNITS}
    return [
        InvalidConfig(
            f"budget.{name} is {asked[name]:,.12g}, and this service allows at most {ceiling:,.12g} {_UNITS[name]}; "
            "ask for that or less, or leave it out",
            field=f"options.budget.{name}",
        )
        for name, ceiling in _ceilings(settings).items()
        if asked[name] is not None and asked[name] > ceiling
    ]


def bound_budget(config: SelectionConfig, settings: Settings) -> tuple[SelectionConfig, tuple[str, ...]]:
    """Give a budget without a limit the service's, and say so in a warning for each."""
    taken = {name: ceiling for name, ceiling in _ceilings(settings).items() if getattr(config.budget, name) is None}
    warnings = tuple(
        f"the budget {name} was set to {ceiling:,.12g} {_UNITS[name]}, the most that this service allows"
        for name, ceiling in taken.items()
    )
    return config.model_copy(update={"budget": config.budget.model_copy(update=taken)}), warnings


def _ceilings(settings: Settings) -> dict[str, float]:
    found = {"max_seconds": settings.max_seconds, "max_pairs": settings.max_pairs}
    return {name: ceiling for name, ceiling in found.items() if ceiling is not None}
