"""What every device must be told, decided once and free of vendors' words. A writer spells it; rules judge it."""
