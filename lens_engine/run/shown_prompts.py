"""The single prompts of a run as the result shows them: demonstrations, figures, and whether a classifier is ahead."""

from dataclasses import replace

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
from lens_engine.run.single_prompts import ComparedPrompts, Contender, SinglePrompts
from lens_engine.run.tested import find_better
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
    best = None if classifier is None else _find_best(figures, classifier, objective)
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
        recommended=_recommend(prompts, replace(compared, chosen=chosen), classifier, best),
        best=best,
        reason="",
    )
    reason = " ".join(filter(None, [say_prompt(answer, objective), say_best(answer)]))
    return answer.model_copy(update={"reason": reason})


def _find_best(prompt: PromptContender, classifier: Candidate, objective: Objective) -> BestAnswer:
    """The more often right on the test rows; of equal ones the prompt, which needs no weights."""
    test = classifier.classifier.test
    if test is None or prompt.test is None or prompt.test.figure(objective) < test.figure(objective):
        return BestAnswer(name=classifier.name, test=test)
    return BestAnswer(name=prompt.method, test=prompt.test)


def _recommend(
    prompts: SinglePrompts, compared: ComparedPrompts, classifier: Candidate | None, best: BestAnswer | None
) -> bool | None:
    """See `SupportExamples.recommended`."""
    if best is None or classifier is None or compared.use not in compared.chosen.test:
        return None
    candidates, gold = prompts.comparison.candidates, prompts.test_rows.gold
    better = find_better(compared, candidates, classifier, gold, prompts.run.config.objective)["prompt"]
    if best.name == classifier.name:
        return None if better is None else False
    return True if better is None else None


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
