"""Pulumi: the stacks' program, the provider for its engine, and the engine's driver.

All of them use gRPC, and their processes start others. gRPC's fork support stops its threads before each fork and
restarts them behind it: in the child, where their closed descriptors disturb Ansible, and in the parent from the
forking thread, in that thread's network namespace. No forked child uses gRPC. The variable has to be set before gRPC is
loaded.
"""

import os

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

LOCAL_GRPC = {"no_grpc_proxy": "127.0.0.1,localhost"}
"""The engine, the program and the provider connect over this machine alone, in spite of a proxy in the environment."""
os.environ.update(LOCAL_GRPC)
