"""Support examples, suspicious labels and facts of a result, as tables."""

from collections.abc import Mapping
from typing import NamedTuple

from lens_engine.prompt.wording import shorten, show_share
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import name_use

MOST_LABELS = 30
"""Largest number of labels that have a column each."""

_MOST_CHARACTERS = 300
"""Longest text in a list of rows (characters)."""

CUT = f"texts of more than {_MOST_CHARACTERS} characters are cut"

TEXTLESS = "a result holds no texts: the page, and lens select --report, show them"

_EFFECTS = "Effect of each example alone (the set matters more)"


class ShownExamples(NamedTuple):
    """Fixed demonstrations that are shown."""

    answer: SupportExamples
    is_other: bool  #: whether they are the fixed form of a prompt whose best form is another


def list_shown(answer: SupportExamples) -> list[ShownExamples]:
    """The fixed demonstrations of a prompt, then those of its fixed form, if they are others."""
    if answer.fixed is None:
        return [ShownExamples(answer, is_other=False)]
    fixed = ShownExamples(answer.fixed, is_other=True)
    if answer.form.kind == "nearest":
        return [fixed]
    return [ShownExamples(answer, is_other=False), *([] if answer.rows == answer.fixed.rows else [fixed])]


def tabulate_examples(answer: SupportExamples, *, is_other: bool = False) -> Table:
    """The fixed demonstrations of a prompt, in its order; or of its fixed form, where its best form is another."""
    use = f" ({name_use(answer.use)})" * (answer.use != "prompt")
    title = f"Examples, in order{'; the similar ones follow' * (answer.form.nearest > 0)}{use}"
    title = title if answer.examples else "No examples"
    return Table(
        title=f"For tools that take the same examples for every text: {title}" if is_other else title,
        header=("#", "text", "label word", "row"),
        rows=tuple((str(one.position + 1), one.text, one.label_word, str(one.row + 1)) for one in answer.examples),
        words=("text", "label word"),
    )


def tabulate_effects(answer: SupportExamples) -> Table | None:
    """How much each example helps alone (InfoScore), and inputs of each of few labels; None if no example tells."""
    told = [one for one in answer.examples if one.info_score is not None]
    if not told:
        return None
    labels = dict.fromkeys(effect.label for one in told for effect in one.effects or ())
    labels = {} if len(labels) > MOST_LABELS else labels
    figures = [(one, {effect.label: f"{effect.effect:+.4f}" for effect in one.effects or ()}) for one in told]
    return Table(
        title=_EFFECTS,
        header=("#", "own label", "all", *(f"on {label}" for label in labels)),
        rows=tuple(
            (str(one.position + 1), one.label, f"{one.info_score:+.4f}", *(own.get(label, NOTHING) for label in labels))
            for one, own in figures
        ),
        words=("own label",),
        caption="InfoScore: below zero, the example alone hinders",
    )


def tabulate_biases(answer: SupportExamples) -> Table | None:
    """The label biases; None without any."""
    if not answer.label_biases:
        return None
    rows = tuple((one.label, f"{one.bias:+.4f}") for one in answer.label_biases)
    return Table("Correction for labels that the model prefers (nats)", ("label", "correction"), rows, words=("label",))


def tabulate_suspicious(result: SelectionResult, texts: Mapping[int, str]) -> Table | None:
    """Rows whose label may be wrong, the most suspicious first; None without any."""
    if not result.suspicious_labels:
        return None
    return Table(
        title="The most suspicious first",
        header=("row", *(["text"] if texts else []), "label", "its certainty", "probably", "certainty of that"),
        rows=tuple(
            (
                str(one.row + 1),
                *([show_text(texts, one.row)] if texts else []),
                one.label,
                show_share(one.probability, 100),
                one.likelier,
                show_share(one.probability_of_likelier, 100),
            )
            for one in result.suspicious_labels
        ),
        words=("label", "probably", "text"),
        caption=f"by cross-validation; {CUT if texts else TEXTLESS}",
    )


def show_text(texts: Mapping[int, str], row: int) -> str:
    """The text of a row in a list: on one line, and cut if it is long; a dash if it is not known."""
    return shorten(texts.get(row, NOTHING), _MOST_CHARACTERS)


def tabulate_facts(result: SelectionResult) -> tuple[Table, ...]:
    """The rows of each kind, and where the result comes from."""
    origin = result.provenance.model_dump(exclude={"config"}) | {"digest": result.digest}
    tables = ("Rows for each purpose", result.counts.model_dump()), ("Where it comes from", origin)
    return tuple(
        Table(title, ("", "value"), tuple((name.replace("_", " "), _show_fact(fact)) for name, fact in facts.items()))
        for title, facts in tables
    )


def _show_fact(fact: object) -> str:
    return NOTHING if fact is None else f"{fact:,}" if isinstance(fact, int) else str(fact)
