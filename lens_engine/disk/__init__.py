"""Files on disk: the cache folder, and atomic writing."""
