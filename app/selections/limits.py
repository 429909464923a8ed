"""What the operator offers and allows: models, time, pairs, and the cost of paid requests.

A selection has them as limits of its budget, and ends with the best so far. A request to classify is refused if it
takes more pairs, or costs more by a first estimate.
"""

from app.errors import UnknownModelName, Unprocessable
from app.settings import Settings
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.scoring.spending import TokenPrices

_UNITS = {"max_seconds": "seconds", "max_pairs": "pairs", "max_cost": "USD"}


def check_model_name(name: str | None, settings: Settings) -> str:
    """The name of an offered model; the default for None.

    Raises UnknownModelName if the service does not offer the model.
    """
    model = name if name is not None else settings.default_model
    if model not in settings.allowed_models and model not in settings.endpoints:
        raise UnknownModelName.at(
            "/spec/model",
            f"this model is not offered; choose one of {', '.join(settings.offered_models)}. The operator can offer "
            "other models with open weights (setting LENS_ALLOWED_MODELS), and models behind servers (LENS_ENDPOINTS)",
        )
    return model


def find_prices(model: str | None, settings: Settings) -> TokenPrices | None:
    """The prices of an offered model; None for one that is paid nowhere, or whose prices are not known."""
    served = None if model is None else settings.endpoints.get(model)
    return None if served is None else served.prices


def list_excesses(budget: BudgetOptions, model: str, settings: Settings) -> list[InvalidConfig]:
    """One error for each limit of the budget that exceeds the service's."""
    asked = {name: getattr(budget, name) for name in _UNITS}
    return [
        InvalidConfig(
            f"budget.{name} is {asked[name]:,.12g}, and this service allows at most {ceiling:,.12g} {_UNITS[name]}; "
            "ask for that or less, or leave it out",
            field=f"options.budget.{name}",
        )
        for name, ceiling in _ceilings(model, settings).items()
        if asked[name] is not None and asked[name] > ceiling
    ]


def bound_budget(config: SelectionConfig, model: str, settings: Settings) -> tuple[SelectionConfig, tuple[str, ...]]:
    """Give a budget without a limit the service's, and say so in a warning for each."""
    ceilings = _ceilings(model, settings)
    taken = {name: ceiling for name, ceiling in ceilings.items() if getattr(config.budget, name) is None}
    warnings = tuple(
        f"the budget {name} was set to {ceiling:,.12g} {_UNITS[name]}, the most that this service allows"
        for name, ceiling in taken.items()
    )
    return config.model_copy(update={"budget": config.budget.model_copy(update=taken)}), warnings


def _ceilings(model: str, settings: Settings) -> dict[str, float]:
    max_cost = None if find_prices(model, settings) is None else settings.max_cost_usd
    found = {"max_seconds": settings.max_seconds, "max_pairs": settings.max_pairs, "max_cost": max_cost}
    return {name: ceiling for name, ceiling in found.items() if ceiling is not None}


def check_asking(classifier: Classifier, model: str | None, num_rows: int, settings: Settings) -> None:
    """Refuse to ask a classifier for more rows than the limits of the service allow.

    Args:
        model: name of the model that is asked; None for a bag of words.
        num_rows: number of answers.
    """
    pairs, most = num_rows * len(classifier.prompts), settings.max_pairs
    if most is not None and pairs > most:
        raise Unprocessable.at(
            "", f"{pairs:,} pairs are more than the {most:,} that this service allows; send fewer rows"
        )
    prices, most_usd = find_prices(model, settings), settings.max_cost_usd
    if prices is None or most_usd is None:
        return
    usd = prices.cost(round(pairs * (classifier.tokens_per_input + classifier.tokens_held)), 0)
    if usd > most_usd:
        raise Unprocessable.at(
            "",
            f"{num_rows:,} rows may cost {usd:,.2f} USD at the server of the model, and this service allows "
            f"{most_usd:,.12g} USD a job; send fewer rows",
        )
