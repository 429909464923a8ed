"""What a selection of a stored dataset could look like, as `lens suggest` says it of a file."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.errors import BadRequest, Unprocessable
from app.selections import datasets
from app.selections.bodies import Body, FormBody
from app.selections.limits import check_model_name, invalid_inputs
from app.selections.submission import Labelled, read_files
from app.store.datasets import find_label_column, load_sample
from app.store.services import Services
from app.store.tables import Job
from lens_engine.errors import InvalidVerbalizer
from lens_engine.files import ParsedDataset
from lens_engine.files.table import show_columns
from lens_engine.metering.estimate import CountingScorer, PresetPlan
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.presets import PRESETS
from lens_engine.prompt.language import describe_language
from lens_engine.prompt.text_checks import fold_text
from lens_engine.prompt.verbalizer import OTHER_TEMPLATES, write_template
from lens_engine.prompt.wording import describe_usd
from lens_engine.run.suggest import Suggestion, price_suggestion, suggest_for_rows


def store_files(services: Services, owner_id: str, body: Body) -> list[str]:
    """Store the rows of dropped files. Returns the ids of the dataset, and of the test rows."""
    if not isinstance(body, FormBody):
        raise BadRequest("send a form with the part `dataset`, a file")
    settings, names = services.settings, [body.names.get(part) for part in ("dataset", "test")]
    found = list(zip(read_files(body, settings, skips_unlabelled=True), names, strict=True))
    _check_labels(found[0][0])
    with services.database.session_scope() as session:
        kept = [
            datasets.keep_rows(session, owner_id, settings, rows, name)
            for rows, name in found
            if isinstance(rows, ParsedDataset)
        ]
    return [one.answer["id"] for one in kept]


def _check_labels(rows: Labelled | None) -> None:
    """Refuse a file of which each row has a label of its own, as numbers of tickets are."""
    if isinstance(rows, ParsedDataset) and len({fold_text(one.label) for one in rows.examples}) == len(rows.examples):
        told = f"each of the {len(rows.examples):,} rows has a label of its own in {show_columns(rows.columns[1])}"
        raise Unprocessable(f"{told}; name a column whose labels recur (Options, or the list of columns)")


def suggest(
    services: Services, owner_id: str, dataset_id: str, test_dataset_id: str | None, model: str
) -> dict[str, Any]:
    """What fills the form of a new selection."""
    settings, model = services.settings, check_model_name(model, services.settings)
    with services.database.session_scope() as session:
        ids = [one for one in (dataset_id, test_dataset_id) if one is not None]
        stored = [datasets.get(session, owner_id, one) for one in ids]
        rows = [load_sample(session, one.id) for one in stored]
        pace, column = session.scalar(_newest_pace(owner_id, model)), find_label_column(session, dataset_id)
    count = datasets.find_counter(settings, model)
    sizes = [(len(part), one.num_rows) for part, one in zip(rows, stored, strict=True)]
    sampled = [(part, whole) for part, whole in sizes if part < whole]
    about = {"model": model, "pace": pace, "is_counted": count is not None, "sampled": sampled}
    about["rows"] = [one.num_rows for one in stored]
    scorer = CountingScorer(model, count, num_layers=0 if model in settings.endpoints else 1)
    with invalid_inputs():  # such as rows of one label
        try:
            found = price_suggestion(suggest_for_rows(*rows, label_column=column), scorer, lambda *_: pace)
        except InvalidVerbalizer as error:  # the labels cannot be their own words, so a person writes others
            template = write_template(column)
            return {**_ask_for_words(stored[0].label_counts, template, str(error)), **about}
    return {**_show(found, stored[0].label_counts, model, is_local=model not in settings.endpoints), **about}


def _ask_for_words(num_rows: Mapping[str, int], template: str, refusal: str) -> dict[str, Any]:
    counts = Counter(num_rows).most_common()
    return {
        "refusal": refusal,
        "labels": [(label, number, label, False) for label, number in counts],
        "words": [(label, "") for label, _ in counts],
        "templates": (template, *OTHER_TEMPLATES),
        "instructions": (),
        "rare": "reject",
        "plans": [{"preset": preset, "refusal": None, "counts": None, "pairs": None} for preset in PRESETS],
        "preset": "quick",
        "advice": None,
        "language": None,
        "notes": (),
        "of_rows": (),
    }


def _newest_pace(owner_id: str, model: str) -> Any:
    """Tokens per second of the newest selection with this model that computed some."""
    pace = Job.progress["tokens_per_second"].as_float()
    own = (Job.owner_id == owner_id, Job.model == model)
    return select(pace).where(*own, pace.is_not(None)).order_by(Job.id.desc()).limit(1)


def _show(found: Suggestion, num_rows: Mapping[str, int], model: str, *, is_local: bool) -> dict[str, Any]:
    words, language = found.problem.task.verbalizer.words, found.language
    rare = {one.label for one in found.labels if one.is_rare}
    return {
        "refusal": None,
        "labels": [(one.label, num_rows[one.label], one.read_as, one.is_rare) for one in found.labels],
        "words": [(label, word) for label, word in words.items() if label not in rare],
        "templates": found.templates,
        "instructions": found.instructions,
        "rare": found.label_options.rare,
        "plans": [_show_plan(plan, found.plans[0], is_local=is_local) for plan in found.plans],
        "preset": found.preset,
        "advice": found.advice,
        "notes": found.warnings,
        "of_rows": found.plans[0].warnings,
        "language": language and describe_language(language, is_bundled=model == BUNDLED_MODEL),
    }


_SLOW, _FAST = 400.0, 2500.0
"""Tokens per second of the bundled model on two cores, on slow machines and on fast ones."""


def _show_plan(plan: PresetPlan, quick: PresetPlan, *, is_local: bool) -> dict[str, Any]:
    cost, lasts = plan.cost, None
    if plan.seconds:
        lasts = (plan.seconds, plan.seconds)
    elif plan.usual_tokens is not None and is_local:
        lasts = (plan.usual_tokens / _FAST, plan.usual_tokens / _SLOW)
    return {
        "preset": plan.preset,
        "refusal": plan.refusal,
        "counts": plan.counts,
        "pairs": cost and cost.pairs,
        "tokens": cost and cost.tokens,
        "lasts": lasts,
        "times": (plan.usual_tokens or 0) / quick.usual_tokens if quick.usual_tokens else 0,  # as much work as quick
        "usd": plan.bill and plan.bill.usd and describe_usd(plan.bill.usd),
    }
