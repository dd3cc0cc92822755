"""The isolation watch: a program that nodes run by themselves, with Python's standard library and openssl.

Its modules go to nodes as they are, beside those of the node check; they import only these.
"""
