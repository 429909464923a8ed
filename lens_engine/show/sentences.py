"""Sentences about a result, and the result as text."""

import json

from lens_engine.classifier.candidates import MOST_SUSPICIOUS
from lens_engine.prompt.chat import join_system
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.wording import describe_seconds, describe_usd, show_count
from lens_engine.result import Payment, SelectionResult, SupportExamples
from lens_engine.show.tables import list_figures, list_shown, tabulate_examples
from lens_engine.show.verdict import say_rest
from lens_engine.show.words import say_expected

_MOST_ROWS = 16
"""Largest number of support examples whose rows stand on one line."""


def summarise(result: SelectionResult) -> str:
    """What to use, the support examples in order, accuracies with those of the rivals, and cost, as text."""
    answer = result.answer
    opening = (describe_choice(result), describe_retrieval(result, answer))
    examples = [tabulate_examples(one, is_other=is_other) for one, is_other in list_shown(answer)]
    tables = (one.as_text() for one in (*examples, *list_figures(result)))
    closing = (describe_suspicious_labels(result), describe_asking(result.task))
    notes = (f"note: {warning}" for warning in result.warnings)
    parts = (*opening, *tables, *closing, *notes, describe_cost(result), f"digest {result.digest}")
    return "\n\n".join(filter(None, parts))


def represent(result: SelectionResult) -> str:
    """What to use, support examples, classifier, cost and digest: a line each."""
    rows, expected = [row + 1 for row in result.rows], result.expected
    form = f"{result.answer.form.name}, " * (result.answer.form.nearest > 0)
    shown = ", ".join(map(str, rows[:_MOST_ROWS])) + (f" and {len(rows) - _MOST_ROWS} more" * (len(rows) > _MOST_ROWS))
    figure = "not judged" if expected is None else say_expected(expected, is_test=result.answer.test is not None)
    return "\n".join(
        [
            f"SelectionResult: {result.verdict.sentence}",
            f"prompt: {form}rows {shown or '–'}; {figure}",
            f"classifier: {result.classifier or 'none'}",
            describe_cost(result),
            f"digest {result.digest}",
        ]
    )


def describe_choice(result: SelectionResult) -> str:
    """What to use first, and why no other; for a run that was stopped, after the reason."""
    return " ".join([result.verdict.sentence, *say_rest(result)])


def describe_suspicious_labels(result: SelectionResult) -> str:
    """How many rows may have a wrong label; nothing without any."""
    number = len(result.suspicious_labels)
    if not number:
        return ""
    most = " (the most that are listed)" * (number == MOST_SUSPICIOUS)
    return f"{show_count(number, 'row')}{most} may be labelled wrongly: the classifier finds another label likelier."


def describe_retrieval(result: SelectionResult, answer: SupportExamples) -> str:
    """How a prompt finds demonstrations for each input; nothing for a fixed form."""
    number = answer.form.nearest
    if not number:
        return ""
    rows = "similar rows of the pool" if result.pool is None else f"similar of {len(result.pool.rows):,} rows"
    found = f"the {number} most {rows}, nearest last"
    if answer.form.kind == "nearest":
        return f"For each text the prompt shows {found}."
    return f"The prompt shows the support examples, then for each text {found}."


def describe_asking(task: TaskRecord) -> str:
    """How the model is asked: as a chat, or with what before and after the examples, and what ends the label words."""
    if task.chat is not None:
        written = json.dumps(task.chat.fields, ensure_ascii=False)
        fields = f"Further fields of each request: {written}. " if task.chat.fields else ""
        return (
            "The model is asked as a chat: the user writes the template, the assistant the label word. "
            f"{fields}The system message: {join_system(task.instruction, task.chat.system)!r}"
        )
    asked = task.template.partition("{label}")[0].rstrip()
    told = [f"After the examples stands the text to classify: {asked!r}. The model goes on."]
    told += [f"The instruction before all examples: {task.instruction!r}."] if task.instruction else []
    if task.label_end:
        told.append(f"One label word begins another, so each is scored with its end: {task.label_end!r}.")
    return " ".join(told)


def describe_cost(result: SelectionResult) -> str:
    """Time and model; pairs, tokens and sets of examples."""
    cost, origin = result.cost, result.provenance
    device = origin.device_name or origin.device
    found = f" ({cost.pairs_from_cache:,} from the pair cache)" if cost.pairs_from_cache else ""
    sets = f", {cost.permutations_judged:,} sets of examples" * (cost.permutations_judged > 0)
    saved = show_count(cost.pairs_saved, "pair")
    early = f" {saved} less, because prompts that could hardly win were dropped early." * (cost.pairs_saved > 0)
    return (
        f"Took {describe_seconds(cost.seconds)} with {origin.model} ({origin.dtype}, {device}, seed {origin.seed}): "
        f"{cost.pairs:,} pairs{found}, {cost.tokens:,} tokens{sets}{_describe_payment(cost.paid)}.{early}"
    )


def _describe_payment(paid: Payment | None) -> str:
    """Requests and tokens as the server counted them, and what they cost; nothing for a model on this machine."""
    if paid is None:
        return ""
    cached = f" ({paid.cached_tokens:,} cached)" if paid.cached_tokens else ""
    money = "" if paid.usd is None else f" for {describe_usd(paid.usd)}"
    return f", {show_count(paid.requests, 'request')} of {paid.tokens:,} tokens{cached}{money}"
