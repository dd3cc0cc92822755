"""The node check: a program that nodes run by themselves, with nothing but Python's standard library.

Its modules go to nodes as they are, where no other module of clusterwright is; so they import only each other.
"""
