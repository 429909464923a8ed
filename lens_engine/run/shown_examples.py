"""The demonstrations of a prompt as the result shows them."""

from lens_engine.result import LabelEffect, SupportExample
from lens_engine.scoring.base import LabelScorer
from lens_engine.search.base import Findings, Run
from lens_engine.types import FloatArray, Permutation


def show_examples(
    run: Run, findings: Findings, permutation: Permutation, scorer: LabelScorer
) -> tuple[SupportExample, ...]:
    """Each demonstration, with how much it helps where the method found that."""
    examples = [run.rows.candidates[index] for index in permutation]
    tokens = scorer.count_tokens([run.task.render_demonstration(example) for example in examples])
    return tuple(
        SupportExample(
            position=position,
            row=example.row,
            text=example.text,
            label=example.label,
            label_word=run.task.verbalizer.words[example.label],
            info_score=findings.info_scores.get(index),
            tokens=tokens[position],
            effects=_list_effects(run, findings.gains.get(index)),
        )
        for position, (index, example) in enumerate(zip(permutation, examples, strict=True))
    )


def _list_effects(run: Run, gains: FloatArray | None) -> tuple[LabelEffect, ...] | None:
    """The mean gain `[score_examples]` of an example for the inputs of each label."""
    if gains is None:
        return None
    gold = run.task.index_labels(run.rows.score_set[: len(gains)])
    return tuple(
        LabelEffect(label=label, effect=float(gains[gold == place].mean()), rows=int((gold == place).sum()))
        for place, label in enumerate(run.task.labels)
        if (gold == place).any()
    )
