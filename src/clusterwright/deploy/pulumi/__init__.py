"""Pulumi: its stacks' program, the provider that its engine starts, and the engine's driver.

All of them serve gRPC, and their processes start others. gRPC's fork support stops its threads before each fork and
starts them anew behind it: in the child, which finds their descriptors closed and disturbs the Ansible that it is to
become, and in the parent from whichever thread forks, in the network namespace that this one is in just then. Nobody
who was forked uses gRPC. It has to be set before gRPC is loaded.
"""

import os

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

LOCAL_GRPC = {"no_grpc_proxy": "127.0.0.1,localhost"}
"""The engine, the program and the provider talk over this machine alone, whatever proxy the caller's shell names."""
os.environ.update(LOCAL_GRPC)
