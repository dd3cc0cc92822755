"""What every Python program that tests start does first: look for garbage as seldom as the tests themselves.

Most of what such a program makes are its modules, which stay. Looking through them was a tenth of an Ansible run.
"""

import gc
import os

gc.set_threshold(100_000, 10, 10)

if "libfaketime" in os.environ.get("LD_PRELOAD", ""):
    # Python 3.11 sleeps until a time of the monotonic clock, which libfaketime 0.9.10 takes for a wrong one and refuses
    # (EINVAL), whatever FAKETIME_DONT_FAKE_MONOTONIC says. Waiting in select works.
    import select
    import time

    time.sleep = lambda seconds: (select.select([], [], [], float(seconds)), None)[1]
