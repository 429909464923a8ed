"""Studies, one command each: a whole search, growth, memory, number formats."""
