"""The steps of the plan. Each is a generator of findings, so that what was found before a failure is kept."""
