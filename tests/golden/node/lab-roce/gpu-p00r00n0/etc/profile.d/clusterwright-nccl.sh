# Written by clusterwright for PyTorch 2.9. What NCCL's own file cannot hold: PyTorch and plugins read the environment.
export NCCL_TUNER_CONFIG_FILE=/etc/nccl/tuner.csv
export TORCH_FR_BUFFER_SIZE=2000
export TORCH_NCCL_ASYNC_ERROR_HANDLING=3
export TORCH_NCCL_DESYNC_DEBUG=1
export TORCH_NCCL_DUMP_ON_TIMEOUT=1
export TORCH_NCCL_ENABLE_MONITORING=1
export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600
export TORCH_NCCL_RANKS_PER_ROOT=128
export TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=60000
