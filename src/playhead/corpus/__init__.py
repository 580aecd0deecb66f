"""Many tapes at once: in which order, and by whom."""
