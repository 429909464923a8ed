"""The choice among wordings: which template and instruction a run searches with.

Random permutations are judged in each wording on the same validation rows, by halving. What is found for one wording
does not hold for another, so the choice comes first, and every prompt of the run has the chosen wording.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lens_engine.errors import InvalidInput
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.plan import Rung, plan_rungs
from lens_engine.run.state import JudgedWording
from lens_engine.search.base import Run
from lens_engine.search.judgement import EvaluationRows, Judgement, judge
from lens_engine.search.objective import make_objective
from lens_engine.search.random import draw_random
from lens_engine.task.template import Task
from lens_engine.task.wording import show_label

_PERMUTATIONS = 4
"""Random permutations that are judged in each wording: one alone says more of its examples than of the wording."""

_HALVINGS = 3


def refuse_wordings(tasks: Sequence[Task], refused: Mapping[int, InvalidInput]) -> InvalidInput:
    """One error for the wordings that the model cannot be asked in, each named with its template and instruction.

    A run does not leave them out: it would compare fewer wordings than it was asked to.

    Args:
        tasks: every wording.
        refused: what is wrong, by place in `tasks`; one at least.
    """
    if len(tasks) == 1:
        return refused[0]
    remedy = "; or leave this wording out" if len(refused) < len(tasks) else ""
    named = [_name_wording(tasks, place, error, remedy) for place, error in refused.items()]
    first = named[0]
    if len(named) == 1:
        return first
    message = f"{len(named)} of {len(tasks)} wordings are refused; the first: {first}"
    own, others = [one.faults[0] for one in named], [fault for one in named for fault in one.faults[1:]]
    problems = (*own, *dict.fromkeys(others))  # the same row may be too long in each
    return type(first)(message, field=first.field, row=first.row, problems=problems)


def _name_wording(tasks: Sequence[Task], place: int, error: InvalidInput, remedy: str) -> InvalidInput:
    template, instruction = tasks[place].template.pattern, tasks[place].instruction
    told = f"the instruction {show_label(instruction)}" if instruction else "no instruction"
    message = (
        f"wording {place + 1} of {len(tasks)}, with the template {show_label(template)} and {told}: {error}{remedy}"
    )
    fields = {
        "template": _find_field("template", template, [one.template.pattern for one in tasks]),
        "instruction": _find_field("instruction", instruction, [one.instruction for one in tasks]),
    }
    field = fields.get(error.field, error.field)
    own, *others = error.faults
    problems = (replace(own, field=field, detail=message), *others)
    return type(error)(message, field=field, row=error.row, problems=problems)


def _find_field(name: str, text: str, texts: Sequence[str]) -> str:
    """The field of one of several texts, which has its number from 0, as in the request."""
    distinct = list(dict.fromkeys(texts))
    return name if len(distinct) == 1 else f"{name}.{distinct.index(text)}"


def price_wordings(runs: Sequence[Run]) -> Cost:
    """The cost of the choice; nothing for one wording."""
    if len(runs) < 2:
        return Cost()
    rungs = _plan(runs)
    number = _count_permutations(runs[0])
    return sum((runs[0].prices.judging(number * rung.permutations, rung.end - rung.start) for rung in rungs), Cost())


def choose_wording(runs: Sequence[Run], meter: Meter) -> tuple[JudgedWording, ...]:
    """Each wording with its accuracy and macro-F1, the best by the objective first; of equally good ones, the first.

    Args:
        runs: the same run in each wording.

    Raises:
        Stopped: from the meter.
    """
    try:
        return _halve(runs, meter)
    finally:
        meter.use_label_spans(runs[0].task.label_spans)  # a run that is stopped here goes on in the first wording


def _halve(runs: Sequence[Run], meter: Meter) -> tuple[JudgedWording, ...]:
    judgements: list[list[Judgement]] = [[] for _ in runs]  # of each permutation, in each wording
    left = list(range(len(runs)))
    ranks, figures = dict[int, tuple[float, float]](), dict[int, dict[str, float]]()
    for rung in _plan(runs):
        left = sorted(sorted(left, key=lambda one: (ranks.get(one, (0.0, 0.0)), one))[: rung.permutations])
        for place in left:
            run = runs[place]
            meter.use_label_spans(run.task.label_spans)
            rows = EvaluationRows(run.task, run.rows.validation)
            part = rows.take(rows.spread_order[rung.start : rung.end])
            drawn = draw_random(run, 0, _count_permutations(run))
            blocks = judge(meter, run.task.render_permutations(run.rows.candidates, drawn), part)
            seen = judgements[place]
            judgements[place] = [old.extend(new) for old, new in zip(seen, blocks, strict=True)] if seen else blocks
            scores = make_objective(run.config, rows, run.dtype).scores(judgements[place], is_final=True)
            losses = [score.log_loss if score.log_loss is not None else -score.margin for score in scores]
            ranks[place] = (-float(np.mean([score.value for score in scores])), float(np.mean(losses)))
            figures[place] = {
                name: float(np.mean([getattr(score, name) for score in scores])) for name in ("accuracy", "macro_f1")
            }
    order = sorted(range(len(runs)), key=lambda one: (one not in left, ranks[one], one))
    return tuple(JudgedWording(place=one, rows=len(judgements[one][0].gold), **figures[one]) for one in order)


def _plan(runs: Sequence[Run]) -> list[Rung]:
    num_rows = min(len(run.rows.validation) for run in runs)
    return plan_rungs(len(runs), num_rows, _HALVINGS, 1)


def _count_permutations(run: Run) -> int:
    return _PERMUTATIONS if run.config.num_demonstrations else 1
