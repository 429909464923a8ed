"""Results, as data: the support examples and how good they are, each figure with its n. `lens_engine.show` shows them.

The service stores the JSON of these models, the API serves it, and `lens select --output` writes it.

parts              what a result is made of: contenders, choices, rows, cost, and where it comes from
selection_result   the result; what was chosen, in figures; its support examples as a classifier
"""

from lens_engine.result.parts import Answers as Answers
from lens_engine.result.parts import Chance as Chance
from lens_engine.result.parts import Contender as Contender
from lens_engine.result.parts import Estimate as Estimate
from lens_engine.result.parts import LabelBias as LabelBias
from lens_engine.result.parts import LabelEffect as LabelEffect
from lens_engine.result.parts import Payment as Payment
from lens_engine.result.parts import Provenance as Provenance
from lens_engine.result.parts import RowCounts as RowCounts
from lens_engine.result.parts import Spending as Spending
from lens_engine.result.parts import SupportExample as SupportExample
from lens_engine.result.parts import SupportExamples as SupportExamples
from lens_engine.result.parts import Verdict as Verdict
from lens_engine.result.parts import Wording as Wording
from lens_engine.result.selection_result import SelectionResult as SelectionResult
