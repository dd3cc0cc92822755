"""Rendering: a plan in, the files of every device out.

Renderers translate the plan; they never decide. A renderer is a module with ``applies(plan, device)`` and
``render(plan, device)``; ``registry`` lists them, ``engine`` runs them, ``tree`` writes what they give.
"""
