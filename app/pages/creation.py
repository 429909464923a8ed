"""Pages of a new selection: drop a file, see what is in it and what a run would take, submit."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from app.errors import BadRequest, RefusedInput, Unprocessable, invalid_inputs
from app.lifecycle.spec import StoredSpec
from app.pages.fields import FieldsDep, build_submission, list_fields, read_field, read_words
from app.pages.rendering import Visit, VisitDep
from app.pages.shell import has_sample
from app.selections import datasets
from app.selections import service as selections
from app.selections.bodies import Body, FormBody, JsonBody
from app.selections.limits import check_model_name, parsing_limits
from app.selections.parts import COLUMN_PARTS
from app.selections.receiving import Upload, do_large, hold_place, receive
from app.selections.submission import check_key, submit_selection
from app.store.datasets import find_label_column, load_rows_from, load_sample
from app.store.services import Services
from app.store.tables import Job
from app.web.dependencies import OWNER_ROUTE
from app.web.parameters import read_number
from lens_engine.errors import InvalidInput, InvalidVerbalizer
from lens_engine.files import ParsedDataset
from lens_engine.files.table import show_columns
from lens_engine.metering.estimate import CountingScorer, PresetPlan
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.presets import PRESETS
from lens_engine.prompt.language import describe_language
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.text_checks import fold_text
from lens_engine.prompt.verbalizer import OTHER_TEMPLATES, Verbalizer, write_template
from lens_engine.prompt.wording import describe_usd
from lens_engine.run.suggest import Suggestion, price_suggestion, suggest_for_rows


def keep_files(services: Services, owner_id: str, body: Body) -> list[str]:
    """Store the rows of dropped files. Returns the ids of the dataset, and of the test rows."""
    if not isinstance(body, FormBody):
        raise BadRequest("send a form with the part `dataset`, a file")
    rows = datasets.read_files(body, parsing_limits(services.settings, skips_unlabelled=True))
    _check_labels(rows[0])
    with services.database.session_scope() as session:
        kept = [
            datasets.keep_rows(session, owner_id, services.settings, one, body.names.get(part))
            for part, one in zip(("dataset", "test"), rows, strict=True)
            if one is not None
        ]
    return [one.answer["id"] for one in kept]


def _check_labels(rows: ParsedDataset) -> None:
    """Refuse a file of which each row has a label of its own, as numbers of tickets are."""
    if len({fold_text(one.label) for one in rows.examples}) == len(rows.examples):
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
    rare, sizes = {one.label for one in found.labels if one.is_rare}, Counter[str]()
    for one in found.labels:
        if not one.is_rare:
            sizes[one.read_as] += num_rows[one.label]
    return {
        "refusal": None,
        "labels": [(one.label, num_rows[one.label], one.read_as, one.is_rare) for one in found.labels],
        "words": [(label, word) for label, word in words.items() if label not in rare],
        "sizes": sizes.most_common(),
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


router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)

FilesDep = Annotated[Upload, receive("dataset", "test", *COLUMN_PARTS)]
DatasetParameter = Annotated[str | None, Query(max_length=40)]
SelectionParameter = Annotated[str | None, Query(max_length=40)]
FILE_TYPES = ".csv,.tsv,.jsonl,.json,.txt,.xlsx,.arff,.yml,.yaml,.md"

_SHOWN_ROWS = 20


async def receive_form(request: Request, fields: FieldsDep) -> AsyncIterator[Upload]:
    """The submission that a form means, with a place to work on it."""
    with request.app.state.admission.admit(request.state.owner_id):
        body = JsonBody(await run_in_threadpool(build_submission, fields))  # the options may have half a megabyte
        num_bytes = sum(len(str(value)) for _, value in fields.multi_items())
        async with hold_place(request, body, num_bytes) as upload:
            yield upload


UploadDep = Annotated[Upload, Depends(receive_form, scope="function")]


@router.get("/new")
async def show_new(
    visit: VisitDep,
    dataset: DatasetParameter = None,
    test: DatasetParameter = None,
    of: SelectionParameter = None,
    sample: bool = False,
) -> HTMLResponse:
    """The field for a file; with a stored dataset what is in it, and then the form, filled in as `of` was."""
    if dataset is None:
        return visit.answer("new.html", dataset=None, types=FILE_TYPES, has_sample=has_sample(), sample=sample)
    stored = await run_in_threadpool(_read_stored, visit.services, visit.owner, dataset, test)
    return visit.answer("new.html", None, **stored, of=of)


def _read_stored(services: Services, owner: str, dataset: str, test: str | None) -> dict[str, Any]:
    with services.database.session_scope() as session:
        found = datasets.get(session, owner, dataset)
        rows = load_rows_from(session, dataset, 0, _SHOWN_ROWS)
        test_rows = None if test is None else datasets.present(datasets.get(session, owner, test))
        columns = (found.input or {}).get("text_column") or ""
        column = columns if isinstance(columns, str) else ", ".join(columns)
        return {"dataset": datasets.present(found), "test": test_rows, "rows": rows, "column": column}


@router.post("/datasets")
def store_files(visit: VisitDep, files: FilesDep) -> HTMLResponse:
    """Store a file of labelled texts, and perhaps one of test rows, and show what is in them."""
    try:
        dataset, *test = files.do(keep_files)
    except RefusedInput as error:
        if len(error.columns) < 2:
            raise
        return _ask_for_columns(visit, error)
    return visit.go_to(f"/pages/new?dataset={dataset}{''.join(f'&test={one}' for one in test)}")


def _ask_for_columns(visit: Visit, error: RefusedInput) -> HTMLResponse:
    """The columns of the file to choose among, in place of the refusal. The longest values are probably the texts."""
    columns = list(zip(*error.first_rows, strict=True)) or [()] * len(error.columns)
    lengths = [sum(map(len, values)) for values in columns]
    text = error.columns[lengths.index(max(lengths))]
    # What has numbers alone, no value or no value twice is probably no label.
    odd = [(all(map(str.isdigit, one)), len({*filter(None, one)}) in (0, len(one))) for one in columns]
    ranked = sorted(zip(odd, lengths, error.columns, strict=True))
    label = next(one for *_, one in ranked if one != text)
    shown = {"columns": error.columns, "rows": error.first_rows, "text": text, "label": label}
    headers = {"HX-Retarget": "#columns", "HX-Reswap": "innerHTML"}
    return visit.answer("columns.html", headers, why=error.detail.partition(";")[0], **shown)


@router.get("/suggestion")
async def show_suggestion(
    visit: VisitDep,
    dataset: Annotated[str, Query(max_length=40)],
    test: DatasetParameter = None,
    model: Annotated[str | None, Query(max_length=100)] = None,
    of: SelectionParameter = None,
    preset: Annotated[str | None, Query(max_length=20)] = None,
    seconds: Annotated[str, Query(alias="budget.max_seconds", max_length=40)] = "",
) -> HTMLResponse:
    """The form of a selection, filled in as `lens suggest` would, or as another was, and what each preset takes."""
    services, owner = visit.services, visit.owner
    asked, name = await run_in_threadpool(_read_asked, services, owner, of, dataset)
    asked["preset"] = preset or asked["preset"]
    wanted = (dataset, test, model or asked["model"] or services.settings.default_model)
    known: MutableMapping[Any, dict[str, Any]] = visit.request.app.state.suggestions
    if (found := known.get((owner, *wanted))) is None:
        found = known[owner, *wanted] = await do_large(visit.request, suggest, *wanted)
    limit = _read_seconds(seconds or str(asked["named"].get("budget.max_seconds", "")))
    shown = {"found": found, "models": list(services.settings.offered_models), "name": name, "limit": limit}
    return visit.answer("suggestion.html", None, **shown, dataset=dataset, test=test, key=uuid4().hex, asked=asked)


def _read_asked(
    services: Services, owner: str, selection_id: str | None, dataset: str
) -> tuple[dict[str, Any], str | None]:
    """The fields of the form as a selection was asked for, or empty ones without it; and the name of a dataset."""
    named = dict.fromkeys(("name", "template", "instruction", "model", "preset", "use", "options"), "")
    asked: dict[str, Any] = {"words": {}, "named": {}, **named}
    with services.database.session_scope() as session:
        if selection_id is not None:
            job = selections.get(session, owner, selection_id)
            asked = {"name": job.name, **list_fields(StoredSpec.model_validate(job.spec))}
        return asked, datasets.get(session, owner, dataset).name


def _read_seconds(written: str) -> float | None:
    """A length of time; None for what is none, which only a submission refuses."""
    with suppress(ValueError):
        return found if (found := float(written)) > 0 else None
    return None


@router.post("/prompt")
def show_prompt(visit: VisitDep, fields: FieldsDep) -> HTMLResponse:
    """The prompt for one row, as the form has it, with a later row of another label as its only demonstration."""
    number, dataset = read_field(fields, "row"), read_field(fields, "dataset_id")
    first = max(read_number(number, 8) or 1, 1) - 1
    with visit.services.database.session_scope() as session:
        datasets.get(session, visit.owner, dataset)
        rows = load_rows_from(session, dataset, first, _SHOWN_ROWS)
        pattern = read_field(fields, "template") or write_template(find_label_column(session, dataset))
    if not rows:
        return visit.answer("prompt.html", refusal=f"there is no row {first + 1}; choose a smaller number")
    one, label = rows[0], fold_text(rows[0].label)
    other = next((row for row in rows if fold_text(row.label) != label), rows[-1])
    try:
        words = Verbalizer(read_words(fields))
        task = Task(Template(pattern), words, instruction=read_field(fields, "instruction"))
    except InvalidInput as error:  # a person is still typing
        return visit.answer("prompt.html", refusal=str(error))
    known = {fold_text(name): name for name in words.words}
    shown = [replace(other, label=known[fold_text(other.label)])] if fold_text(other.label) in known else []
    prompt = task.render_prompt(shown, one.text)
    return visit.answer("prompt.html", prompt=prompt, row=one, has_demonstration=bool(shown), refusal=None)


@router.post("/submit")
def submit(visit: VisitDep, fields: FieldsDep, upload: UploadDep) -> HTMLResponse:
    """Submit the form as a client of the API would, and show the selection."""
    key = check_key(read_field(fields, "key") or uuid4().hex)
    accepted = upload.do(submit_selection, key)
    return visit.go_to(f"/pages/selections/{accepted.answer['id']}", accepted.job_id)
