"""The single prompts of a run as the result shows them: demonstrations, figures, and whether a classifier is ahead."""

from collections.abc import Sequence

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.macro_f1 import compare_macro_f1
from lens_engine.classifier.quality import compare_hits
from lens_engine.config import Objective
from lens_engine.result import (
    BestAnswer,
    Comparison,
    LabelBias,
    LabelEffect,
    PromptContender,
    SupportExample,
    SupportExamples,
)
from lens_engine.result.headline import kind_of
from lens_engine.run.single_prompts import ComparedPrompts, Contender, SinglePrompts
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.no_answer import pick_answers
from lens_engine.search.base import Run
from lens_engine.show.verdict import say_best, say_prompt
from lens_engine.types import FloatArray, Permutation


def show_prompt(
    prompts: SinglePrompts, compared: ComparedPrompts, classifier: Candidate | None, scorer: LabelScorer
) -> SupportExamples:
    """The best single prompt for one use, beside the classifier to use."""
    answer = _describe(prompts, compared, compared.chosen, classifier, scorer)
    if compared.chosen is compared.fixed:
        return answer
    fixed = _describe(prompts, compared, compared.fixed, classifier, scorer)
    return answer.model_copy(update={"fixed": fixed})


def _describe(
    prompts: SinglePrompts,
    compared: ComparedPrompts,
    chosen: Contender,
    classifier: Candidate | None,
    scorer: LabelScorer,
) -> SupportExamples:
    """One of the compared prompts, beside the classifier to use."""
    run, use, objective = prompts.run, compared.use, prompts.run.config.objective
    figures = _show_contender(run, compared, chosen)
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
        without_biases=chosen.test.get("prompt"),
        with_biases=chosen.test.get("probabilities"),
        contenders=tuple(_show_contender(run, compared, one) for one in compared.contenders),
        comparison=_compare_with_random(prompts, compared),
        recommended=None if best is None or not is_compared else not ahead,
        best=best,
        reason="",
    )
    reason = " ".join(filter(None, [say_prompt(answer, objective), say_best(answer)]))
    return answer.model_copy(update={"reason": reason})


def _show_contender(run: Run, compared: ComparedPrompts, one: Contender) -> PromptContender:
    rows = tuple(run.rows.candidates[index].row for index in one.permutation)
    return PromptContender(
        method=one.method, form=one.form, rows=rows, judged=one.judged, test=one.test.get(compared.use)
    )


def _compare_with_random(prompts: SinglePrompts, compared: ComparedPrompts) -> Comparison | None:
    """The prompt of the method against random-and-validation: exact two-sided McNemar test on the test rows where
    exactly one of the two is right, and macro-F1 on all."""
    own, *others = compared.contenders
    rival = next((one for one in others if one.method == "random_and_validation"), None)
    if rival is None or compared.use not in own.test:
        return None
    gold = prompts.test_rows.gold
    answers, rivals = (pick_answers(one.test_log_probs[compared.use], gold) for one in (own, rival))
    only_own, only_rival, p_value = compare_hits(answers == gold, rivals == gold)
    return Comparison(
        only_own_right=only_own,
        only_rival_right=only_rival,
        p_value=p_value,
        permutations=prompts.comparison.tally.drawn,
        **compare_macro_f1(answers, rivals, gold),
    )


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
