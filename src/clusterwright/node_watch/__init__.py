"""The isolation watch: a program that runs on nodes, in Python's standard library, with openssl.

Nodes get its modules unchanged beside those of the node check; they import only these.
"""
