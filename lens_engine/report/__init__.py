"""How reports and pages look: charts, templates and one stylesheet. Nothing here knows what a result is.

charts        accuracies, frontier, calibration and search as SVG
axes          where a figure stands on a chart
section       what a section of a report is made of
environment   the templates and the stylesheet
"""

from lens_engine.report.environment import STYLESHEET, make_environment, read_stylesheet
from lens_engine.report.section import Matrix, Section

__all__ = ["STYLESHEET", "Matrix", "Section", "make_environment", "read_stylesheet"]
