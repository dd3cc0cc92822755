"""The node check: a program that runs on nodes, in the standard library of the oldest supported distribution's Python.

Nodes get its modules unchanged and no other module of clusterwright, so they import only each other.
"""
