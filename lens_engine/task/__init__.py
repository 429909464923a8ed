"""Tasks: template, verbalizer, separator; the paper's eight tasks."""
