"""What the operator offers and allows, and the check of a spec against it.

A selection has the limits of time, pairs and cost in its budget, and ends with the best so far. A request to classify
is refused if it takes more pairs, or costs more by a first estimate.
"""

from dataclasses import dataclass

from app.errors import Unprocessable, invalid_inputs
from app.selections.submission_schemas import SelectionSpec
from app.settings import Settings
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import BudgetOptions, PresetName, SelectionConfig
from lens_engine.errors import Faults, InvalidConfig
from lens_engine.files import ParsingLimits
from lens_engine.model.spending import TokenPrices
from lens_engine.presets import resolve_config
from lens_engine.prompt.embedder import AUTO
from lens_engine.prompt.request import NO_INSTRUCTION, TaskRequest, read_instructions, read_templates
from lens_engine.prompt.template import Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.run.preparation import refuse_unpriced


def parsing_limits(settings: Settings, *, skips_unlabelled: bool = False) -> ParsingLimits:
    """Limits of an upload according to the settings.

    `skips_unlabelled`: whether any share of the rows may lack a label.
    """
    return ParsingLimits(
        max_bytes=settings.max_upload_bytes,
        max_kept_bytes=settings.max_stored_bytes,
        max_rows=settings.max_rows,
        max_text_characters=settings.max_text_characters,
        max_label_characters=settings.max_label_characters,
        max_labels=settings.max_labels,
        skips_unlabelled=skips_unlabelled,
    )


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
    """Refuse to ask for more answers than the limits of the service allow. `model`: None for a bag of words."""
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


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A checked spec, which the labels of the dataset complete."""

    model: str
    task: TaskRequest
    preset: PresetName
    config: SelectionConfig
    limits: ParsingLimits  #: of its rows
    name: str | None
    warnings: tuple[str, ...] = ()  #: limits of the service that the config has by default


def check_spec(spec: SelectionSpec, settings: Settings) -> CheckedSpec:
    """Check model, templates, instructions, label words and options.

    An unknown model is refused alone: the limits on options are those of the model. Any other refusal names all errors.
    """
    model = check_model_name(spec.model, settings)
    faults, verbalizer, task, config = Faults(), None, None, None
    templates: tuple[Template, ...] = ()
    instructions: tuple[str, ...] = NO_INSTRUCTION
    with invalid_inputs():
        with faults.noting():
            templates = read_templates(spec.template)
        with faults.noting():
            verbalizer = None if spec.verbalizer is None else Verbalizer(spec.verbalizer)
        with faults.noting():
            instructions = read_instructions(spec.instruction)
        with faults.noting():
            task = TaskRequest(templates, verbalizer, spec.separator, instructions)
        with faults.noting():
            config = resolve_config(spec.preset, spec.options)
            faults.found += [*list_excesses(config.budget, model, settings), *_list_folders(config)]
            has_prices = find_prices(model, settings) is not None
            refuse_unpriced(config, is_served=model in settings.endpoints, has_prices=has_prices)
        faults.refuse()
    assert task is not None
    assert config is not None
    bounded, warnings = bound_budget(config, model, settings)
    limits = parsing_limits(settings, skips_unlabelled=config.rows.unlabelled == "skip")
    return CheckedSpec(model, task, spec.preset, bounded, limits, spec.name, warnings)


def _list_folders(config: SelectionConfig) -> list[InvalidConfig]:
    """The refusal of a folder of this machine, which is for the operator to name."""
    if config.classifier.embeddings in (None, AUTO):
        return []
    detail = "classifier.embeddings must be auto or null here; the operator of the service names the embedder"
    return [InvalidConfig(detail, field="options.classifier.embeddings")]
