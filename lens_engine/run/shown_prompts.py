"""The single prompts of a run as the result shows them: demonstrations, figures, and whether a classifier is ahead."""

from collections.abc import Sequence

from lens_engine.classifier.candidates import Candidate
from lens_engine.config import Objective, Use
from lens_engine.result import BestAnswer, LabelBias, LabelEffect, PromptContender, SupportExample, SupportExamples
from lens_engine.result.headline import kind_of
from lens_engine.run.single_prompts import Contender, SinglePrompts
from lens_engine.scoring.base import LabelScorer
from lens_engine.search.base import Run
from lens_engine.show.verdict import say_best, say_prompt
from lens_engine.types import FloatArray, Permutation


def show_prompt(prompts: SinglePrompts, use: Use, classifier: Candidate | None, scorer: LabelScorer) -> SupportExamples:
    """The best single prompt for one use, beside the classifier to use."""
    chosen = prompts.pick(use)
    answer = _describe(prompts, use, classifier, chosen, scorer)
    if chosen.form.kind == "fixed":
        return answer
    fixed = prompts.pick_fixed(use)
    return answer.model_copy(update={"fixed": _describe(prompts, use, classifier, fixed, scorer)})


def _describe(
    prompts: SinglePrompts, use: Use, classifier: Candidate | None, chosen: Contender, scorer: LabelScorer
) -> SupportExamples:
    """A single prompt for one use, beside the classifier to use."""
    run, objective = prompts.run, prompts.run.config.objective
    contenders = prompts.contenders(use)
    shown = [prompts.show(one, use) for one in contenders]
    rival = next((one for one in contenders[1:] if one.method == "random_and_validation"), None)
    figures = next(one for one in shown if (one.method, one.form) == (chosen.method, chosen.form))
    ahead = _list_ahead(figures, classifier, prompts.comparison.candidates, objective)
    is_compared = figures.judged is not None or figures.test is not None
    best = None
    if classifier is not None:
        is_prompt = is_compared and not ahead
        best = BestAnswer(
            name=chosen.method if is_prompt else classifier.name,
            test=figures.test if is_prompt else classifier.classifier.test,
        )
    biases = () if chosen.biases is None else zip(run.task.labels, chosen.biases.tolist(), strict=True)
    answer = SupportExamples(
        use=use,
        method=chosen.method,
        form=chosen.form,
        examples=_show_examples(prompts, chosen.permutation, scorer),
        prompt="".join(run.task.render_prefix([run.rows.candidates[index] for index in chosen.permutation])),
        label_biases=tuple(LabelBias(label=label, bias=bias) for label, bias in biases),
        judged=figures.judged,
        without_biases=prompts.measure(chosen, "prompt"),
        with_biases=prompts.measure(chosen, "probabilities"),
        contenders=tuple(shown),
        comparison=None if rival is None else prompts.compare(contenders[0], rival, use),
        recommended=None if best is None or not is_compared else not ahead,
        best=best,
        reason="",
    )
    reason = " ".join(filter(None, [say_prompt(answer, objective), say_best(answer)]))
    return answer.model_copy(update={"reason": reason})


def _show_examples(prompts: SinglePrompts, permutation: Permutation, scorer: LabelScorer) -> tuple[SupportExample, ...]:
    """Each demonstration, with how much it helps where the method found that."""
    run, findings = prompts.run, prompts.findings
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


def _list_ahead(
    prompt: PromptContender, classifier: Candidate | None, candidates: Sequence[Candidate], objective: Objective
) -> list[Candidate]:
    """The classifier to use and the bag of words, as far as they are ahead of a prompt; nothing without the first."""
    if classifier is None or not _is_behind(prompt, classifier, objective):
        return []
    words = [one for one in candidates if kind_of(one) == "words" and one is not classifier]
    return [classifier, *(one for one in words if _is_behind(prompt, one, objective))]


def _is_behind(prompt: PromptContender, candidate: Candidate, objective: Objective) -> bool:
    """Whether a classifier is ahead by more than a standard error.

    Rows that are no test rows tell; the test rows do only if the prompt was judged on no others.
    """
    is_judged = prompt.judged is not None
    own = prompt.judged if is_judged else prompt.test
    theirs = candidate.cross_validated if is_judged else candidate.classifier.test
    if own is None or theirs is None:
        return False
    error = (own.error(objective) ** 2 + theirs.error(objective) ** 2) ** 0.5
    return bool(theirs.figure(objective) - own.figure(objective) > error)
