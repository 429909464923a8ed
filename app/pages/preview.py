"""What a selection of a stored dataset could look like, as `lens suggest` says it of a file."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.datasets import service as datasets
from app.datasets.repository import load_rows
from app.intake.model_names import check_model_name
from app.intake.refusals import invalid_inputs
from app.intake.submissions import NoSubmission
from app.models import Job
from app.services import Services
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.pricing.counting_scorer import CountingScorer
from lens_engine.reading.language import describe_language
from lens_engine.suggestion.suggest import price_suggestion, suggest_for_rows
from lens_engine.suggestion.suggestion import PresetPlan, Suggestion


@dataclass(frozen=True, slots=True)
class Suggesting:
    """The work of the form of a new selection."""

    dataset_id: str
    test_dataset_id: str | None
    model: str

    def __call__(
        self,
        services: Services,
        owner_id: str,
        submission: NoSubmission,  # noqa: ARG002
        key: str | None,  # noqa: ARG002
    ) -> dict[str, Any]:
        settings, model = services.settings, check_model_name(self.model, services.settings)
        with services.database.session_scope() as session:
            ids = [one for one in (self.dataset_id, self.test_dataset_id) if one is not None]
            rows = [load_rows(session, datasets.get(session, owner_id, one).id) for one in ids]
            pace = session.scalar(_newest_pace(owner_id, model))
        count = datasets.find_counter(settings, model)
        with invalid_inputs(inline=False):
            found = suggest_for_rows(*rows)
            priced = price_suggestion(found, CountingScorer(model, count), lambda *_: pace)
        return {**_show(priced, model), "model": model, "pace": pace, "is_counted": count is not None}


def _newest_pace(owner_id: str, model: str) -> Any:
    """Tokens per second of the newest selection with this model."""
    pace = Job.progress["tokens_per_second"].as_float()
    own = (Job.owner_id == owner_id, Job.kind == "selection", Job.spec["model"].astext == model)
    return select(pace).where(*own, pace.is_not(None)).order_by(Job.id.desc()).limit(1)


def _show(found: Suggestion, model: str) -> dict[str, Any]:
    words, language = found.problem.task.verbalizer.words, found.language
    return {
        "labels": [(one.label, one.rows, one.read_as, one.is_rare) for one in found.labels],
        "words": [(label, word) for label, word in words.items() if label not in _list_rare(found)],
        "templates": found.templates,
        "rare": found.label_options.rare,
        "plans": [_show_plan(plan) for plan in found.plans],
        "preset": found.preset,
        "words_accuracy": found.words_accuracy,
        "language": language and describe_language(language, is_bundled=model == BUNDLED_MODEL),
    }


def _list_rare(found: Suggestion) -> set[str]:
    return {one.label for one in found.labels if one.is_rare}


def _show_plan(plan: PresetPlan) -> dict[str, Any]:
    cost = plan.cost
    return {
        "preset": plan.preset,
        "refusal": plan.refusal,
        "warnings": plan.warnings,
        "splits": plan.splits,
        "pairs": cost and cost.pairs,
        "tokens": cost and cost.tokens,
        "seconds": plan.seconds,
    }
