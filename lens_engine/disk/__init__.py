"""Files that outlast a run: the cache folder, and writing a file whole or not at all."""
