"""Tasks: template, verbalizer, separator, instruction; the paper's eight tasks."""
