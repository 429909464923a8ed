"""What a selection of a file could look like: columns, labels, template, label words, rows and cost."""
