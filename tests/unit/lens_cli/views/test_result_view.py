"""Tables and sentences about a result."""

from io import StringIO

from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.result import BestAnswer, SelectionResult, Spending
from lens_engine.show.sentences import describe_choice
from tests.unit.lens_cli.results import QUALITY, VERDICT, make_answer, make_result


def shown(result: SelectionResult) -> str:
    console = Console(file=StringIO(), width=120)
    show_result(result, console)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def test_markup_in_texts_is_shown_literally() -> None:
    assert "[red]loved[/red] it" in shown(make_result())


def test_result_shows_cost_digest_and_warnings() -> None:
    text = " ".join(shown(make_result()).split())
    assert "Took 5:12 with smollm2 (float32, cpu, seed 3): 25,541 pairs, 714,216 tokens, 68 sets of examples." in text
    assert "digest feed" in text
    assert "note: 2 duplicates were dropped" in text
    assert "The prompt was right for 91 of 100 (91 %) of the rows that decided" in text
    assert "a difference like this is chance in 1 of 100 cases" in text


def test_prompt_that_is_not_recommended_says_so() -> None:
    def show_with(name: str) -> str:
        best = BestAnswer(name=name, test=QUALITY)
        answers = (make_answer("prompt", recommended=False, best=best), make_answer("probabilities"))
        return shown(make_result(support_examples=answers))

    assert "Do not use the prompt: it is right for 181 of 200 test texts (91 %)." in show_with("bag_of_words")
    assert "Do not use the prompt where the classifier can be used" in show_with("states")
    assert "Do not use" not in shown(make_result())


def test_cached_pairs_are_shown_separately() -> None:
    cost = Spending(pairs=2000, tokens=9, seconds=1.0, permutations_judged=1, pairs_from_cache=1234)
    assert "2,000 pairs (1,234 from the pair cache), 9 tokens" in shown(make_result(cost=cost))


def test_choice_is_the_classifier_to_use_and_how_good_the_prompt_is() -> None:
    result = make_result()
    assert describe_choice(result) == (
        f"{VERDICT.sentence} With the best random examples: 160 of 200 (80 %). The classifier is right for 181 of 200 "
        "(91 %). Word counting, without any language model, is right for 172 of 200 (86 %)."
    )
    assert VERDICT.sentence in shown(result)


def test_prompt_that_was_judged_on_no_rows_has_no_line_of_its_own() -> None:
    answer = make_answer("prompt", judged=None, comparison=None)
    text = shown(make_result(support_examples=(answer, make_answer("probabilities"))))
    assert "rows that decided" not in text


def test_warning_that_was_shown_before_is_not_repeated() -> None:
    result = make_result()
    console = Console(file=StringIO(), width=120)
    show_result(result, console, shown=result.warnings)
    assert isinstance(console.file, StringIO)
    assert "note:" not in console.file.getvalue()
