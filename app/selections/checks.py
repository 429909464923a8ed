"""Checks the spec of a submission, and that dataset and spec fit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from app.errors import Unprocessable
from app.intake.ceilings import bound_budget, find_prices, list_excesses
from app.intake.model_names import check_model_name
from app.intake.order import Labelled, ValidJob
from app.intake.refusals import as_problem, invalid_inputs
from app.lifecycle.spec import StoredSpec
from app.selections.submission_schemas import SelectionSpec
from app.settings import Settings
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import InvalidInput
from lens_engine.presets import resolve_config
from lens_engine.reading import ParsedDataset
from lens_engine.rows.problem import Problem
from lens_engine.run.budget_checks import refuse_unpriced
from lens_engine.run.preparation import split_within_budget
from lens_engine.task.combinations import NO_INSTRUCTION, read_instructions, read_templates
from lens_engine.task.request import TaskRequest
from lens_engine.task.silent_words import warn_of_silent
from lens_engine.task.verbalizer import Verbalizer

_MOST_SPEC_BYTES = 64 * 1024
_Built = TypeVar("_Built")


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A checked spec, which the labels of the dataset complete."""

    model: str
    task: TaskRequest
    preset: PresetName
    config: SelectionConfig
    name: str | None
    warnings: tuple[str, ...] = ()  #: limits of the service that the config has by default

    @property
    def skips_unlabelled(self) -> bool:
        """Whether any share of the rows may lack a label."""
        return self.config.rows.unlabelled == "skip"

    def submit(self, dataset: Labelled, test: Labelled | None, *, is_inline: bool) -> ValidJob:
        """Complete the spec, and check that the dataset has the labels and the number of rows that the spec needs.

        Raises:
            RefusedInput: the labels cannot be their own words or do not match the verbalizer, or there are too few
                rows.
            Unprocessable: the spec is too large.
        """
        columns = dataset.columns if isinstance(dataset, ParsedDataset) else None
        with invalid_inputs(inline=is_inline, columns=columns):
            wordings = self.task.complete(dataset.examples, join_spellings=self.config.labels.join_spellings)
            test_rows = None if test is None else test.examples
            problem = Problem(wordings.task, dataset.examples, test_rows, wordings.alternatives)
            split = split_within_budget(problem, self.config)
        stored = StoredSpec.of(self.model, wordings, self.preset, self.config)
        _check_size(stored)
        words = (f"{one} in `verbalizer`" for one in warn_of_silent(wordings.task.verbalizer))
        told = (*self.task.list_defaults(wordings.task), *words, *self.warnings)
        defaults = (f"spec: {default}" for default in told)
        return ValidJob(stored.model_dump(mode="json"), dataset, test, self.name, warnings=(*defaults, *split.notes))


def check_spec(spec: SelectionSpec, settings: Settings) -> CheckedSpec:
    """Check model, templates, instructions, label words and options.

    Raises:
        UnknownModelName: the service does not offer the model.
        RefusedInput: names all other errors at once.
    """
    model = check_model_name(spec.model, settings)
    found: list[InvalidInput] = []
    templates = _collect(found, lambda: read_templates(spec.template)) or ()
    verbalizer = None if (words := spec.verbalizer) is None else _collect(found, lambda: Verbalizer(words))
    instructions = _collect(found, lambda: read_instructions(spec.instruction)) or NO_INSTRUCTION
    task = _collect(found, lambda: TaskRequest(templates, verbalizer, spec.separator, instructions))
    config = _collect(found, lambda: resolve_config(spec.preset, spec.options))
    if config is not None:
        found += list_excesses(config.budget, model, settings)
        is_served, has_prices = model in settings.endpoints, find_prices(model, settings) is not None
        _collect(found, partial(refuse_unpriced, config, is_served=is_served, has_prices=has_prices))
    if found or config is None or task is None:
        raise as_problem(found, inline=False)
    bounded, warnings = bound_budget(config, model, settings)
    return CheckedSpec(model, task, spec.preset, bounded, spec.name, warnings)


def _check_size(spec: StoredSpec) -> None:
    """
    Raises:
        Unprocessable: the spec is too large: each poll of the selection sends it.
    """
    size = len(spec.model_dump_json().encode())
    if size > _MOST_SPEC_BYTES:
        detail = (
            f"the spec has {size:,} bytes with its label words, and at most {_MOST_SPEC_BYTES:,} are allowed; shorten "
            "the templates, the instructions, the labels or their words"
        )
        raise Unprocessable.at("/spec", detail)


def _collect(found: list[InvalidInput], build: Callable[[], _Built]) -> _Built | None:
    try:
        return build()
    except InvalidInput as error:
        found.append(error)
        return None
