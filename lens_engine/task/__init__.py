"""What is asked: template, verbalizer and task; the paper's eight tasks."""
