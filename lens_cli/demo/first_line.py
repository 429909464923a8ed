"""The first line of the demonstration's result: the prompt with examples beside the prompt without."""

from lens_engine.result import SelectionResult
from lens_engine.show.words import name_form


def compare_with_zero_shot(result: SelectionResult) -> str:
    """How often the chosen prompt is right and how often the prompt without examples; why, if examples do not help."""
    answer = result.answer
    none = next((one.test for one in answer.contenders if one.method == "zero_shot"), None)
    if answer.test is None or none is None:
        return "The run ended before its prompts were tested: run it again, with more time."
    right, without = (round(one.accuracy * one.n) for one in (answer.test, none))
    shown = "no examples" if answer.method == "zero_shot" else name_form(answer.form)
    line = f"Prompt with {shown}: right for {right} of {answer.test.n} test texts. Without examples: {without}."
    if right > without:
        return line
    rows = 0 if answer.judged is None else answer.judged.n
    return (
        f"{line} Examples do not help here: this search is short, and its prompts were compared on {rows} rows, which "
        "do not separate prompts that are a few points apart."
    )
