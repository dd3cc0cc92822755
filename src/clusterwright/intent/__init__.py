"""Decide every device's settings once, free of vendors' words: writers spell them, rules check them."""
