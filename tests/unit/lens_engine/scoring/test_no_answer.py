"""Rows without an answer are wrong, whatever is made of their scores."""

import numpy as np
import pytest

from lens_engine.classifier.heads import ArgmaxHead, PriorHead, PromptsHead
from lens_engine.classifier.quality import RowFigures
from lens_engine.scoring.no_answer import NO_LABEL, REFUSED, UNFINISHED
from lens_engine.search.judgement import Judgement
from lens_engine.search.lead import find_answers
from lens_engine.search.objective import ProbabilitiesObjective

SCORES = np.array([[value] * 2 for value in (NO_LABEL, REFUSED, UNFINISHED, -2.0)] + [[-1.0, -2.0]], np.float32)
BIASES = np.array([3.0, 0.0])  # towards the label of every row
GOLD = np.zeros(5, dtype=np.intp)
HITS = [False, False, False, True, True]


@pytest.mark.parametrize("head", [ArgmaxHead(), PriorHead(biases=((3.0, 0.0),))])
def test_heads_give_no_answer(head: PromptsHead) -> None:
    assert RowFigures.of(head.class_log_probs(SCORES[np.newaxis]), GOLD).hits.tolist() == HITS


def test_prompts_give_no_answer_with_biases_and_without() -> None:
    judgement = Judgement(SCORES, GOLD)
    assert judgement.correct.tolist() == HITS
    assert (find_answers(judgement, BIASES) == GOLD).tolist() == HITS
    assert ProbabilitiesObjective.of(GOLD, 2).scores([judgement], is_final=True)[0].correct == sum(HITS)
