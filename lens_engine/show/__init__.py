"""What a person sees of a result, an estimate, predictions or an evaluation, wherever it is shown.

words          names of forms, uses, steps and phases, and figures in words
verdict        sentences on what to use, and the box to sign, at the head of a report
sentences      other sentences about a result, and the result as text
table          what is shown: tables, matrices, sections
tables         support examples, suspicious labels, facts, every contender and an evaluation as tables
answers        which labels are confused, and whether probabilities can be trusted
estimate       what presets would cost
charts         accuracies as SVG
report         a result as the sections of a report, and as HTML; what was asked
exports        support examples in the forms of other tools
"""

from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import Look
from lens_engine.show.report import ResultView, write_fragment
from lens_engine.show.sentences import represent, summarise


def _show_result(result: SelectionResult) -> str:
    view = ResultView(result)
    return write_fragment(view.choice, view.accuracies, view.confusion, view.prompt)


SelectionResult.look = Look(_show_result, represent, summarise)
