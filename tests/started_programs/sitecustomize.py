"""What every Python program that tests start does first: look for garbage as seldom as the tests themselves.

Most of what such a program makes are its modules, which stay. Looking through them was a tenth of an Ansible run.
"""

import gc

gc.set_threshold(100_000, 10, 10)
