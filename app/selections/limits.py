"""What the operator offers and allows, and errors of the engine and the parser as API errors that name a field.

A selection has the limits of time, pairs and cost in its budget, and ends with the best so far. A request to classify
is refused if it takes more pairs, or costs more by a first estimate.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from app.errors import ErrorItem, RefusedInput, Unprocessable, point
from app.settings import Settings
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.errors import InvalidConfig, InvalidInput
from lens_engine.files import ParsedDataset
from lens_engine.files.table import LABEL, TEXT, ColumnNames, show_columns
from lens_engine.model.spending import TokenPrices

_INLINE_NAMES = {"dataset": "examples", "test": "test_examples"}
_INLINE = frozenset(_INLINE_NAMES.values())
Columns = tuple[ColumnNames, str]
"""Names of the columns of the texts and the labels."""

_BARE = frozenset({"texts", "dataset_id", "test_dataset_id", "text_column", "label_column", "delimiter", "encoding"})


@contextmanager
def invalid_inputs(**parts: object) -> Iterator[None]:
    """Turn an `InvalidInput` of the block into `RefusedInput`.

    Args:
        parts: the rows of `dataset` and `test`. A `ParsedDataset` says whether the rows are in the JSON body, and how
            the columns are called that errors call text and label.
    """
    try:
        yield
    except InvalidInput as error:
        parsed = {name: rows for name, rows in parts.items() if isinstance(rows, ParsedDataset)}
        inline = [name for name, rows in parsed.items() if rows.format == "inline"]
        columns = {name: rows.columns for name, rows in parsed.items()}
        raise RefusedInput(error, as_items(error, inline, columns)) from error


def as_items(
    error: InvalidInput, inline: Collection[str] = (), columns: Mapping[str, Columns] | None = None
) -> list[ErrorItem]:
    """All faults of one error, each with its pointer.

    Args:
        inline: those of `dataset` and `test` whose rows are in the JSON body.
        columns: of `dataset` and `test`, for errors that call them text and label.
    """
    return [
        {"detail": fault.detail, "pointer": _point(_rename(fault.field, columns or {}), fault.row, inline)}
        for fault in error.faults
    ]


def _rename(field: str, columns: Mapping[str, Columns]) -> str:
    root, _, column = field.partition(".")
    names = dict(zip((TEXT, LABEL), map(show_columns, columns.get(root, ())), strict=False))
    return f"{root}.{names[column]}" if column in names else field


def _point(field: str, row: int | None, inline: Collection[str]) -> str:
    """Build the JSON pointer: `/spec/...`, `/dataset/rows/7/label` in a file, `/examples/7/label` inline."""
    root, _, rest = field.partition(".")
    if root in {*_INLINE_NAMES, *_INLINE}:
        name = _INLINE_NAMES[root] if root in inline else root
        rows: tuple[str | int, ...] = () if row is None else (row,) if name in _INLINE else ("rows", row)
        return point(name, *rows, *([rest] if rest else []))
    if root in _BARE:
        return point(root)
    # A label may contain dots and is one part of the path.
    parts = [rest] if root == "verbalizer" else rest.split(".")
    return point("spec", root, *(part for part in parts if part))


_UNITS = {"max_seconds": "seconds", "max_pairs": "pairs", "max_cost": "USD"}


def check_model_name(name: str | None, settings: Settings) -> str:
    """The name of an offered model; the default for None. Raises Unprocessable for a model that is not offered."""
    model = name if name is not None else settings.default_model
    if model not in settings.allowed_models and model not in settings.endpoints:
        raise Unprocessable.at(
            "/spec/model",
            f"this model is not offered; choose one of {', '.join(settings.offered_models)}. The operator can offer "
            "other models with open weights (setting LENS_ALLOWED_MODELS), and models behind servers (LENS_ENDPOINTS)",
            code="unknown-model",
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
    """Refuse to ask a classifier for more answers than the limits of the service allow. `model`: None for a bag of
    words.
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
