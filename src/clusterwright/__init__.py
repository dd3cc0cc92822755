"""Infrastructure as code for GPU training clusters.

Data flows one way: spec -> plan -> render -> verify -> deploy -> observe. A module knows what stands left of it in that
line and nothing right of it.
"""

__version__ = "0.1.0"
