/* A GPU that is not there: CUDA's runtime and NVML as far as NCCL asks them while ranks find each other and connect.
 *
 * Device memory is the process's own, never written before somebody does; streams are in order because nothing runs on them.
 * The environment says at which PCI address this rank's GPU sits (STAND_IN_GPU), at which all of the node do
 * (STAND_IN_GPUS), and of which compute capability they are (STAND_IN_CAPABILITY, 90 for 9.0). */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define OK(name, ...) \
    cudaError_t name(__VA_ARGS__) { return cudaSuccess; }
#define SAYS(name, type, value, ...) \
    cudaError_t name(__VA_ARGS__) { *said = (type)(value); return cudaSuccess; }
#define PAGE 4096

static char gpu; /* what handles point at */
static int capability(void) { return atoi(getenv("STAND_IN_CAPABILITY")); }

/* Devices and versions. */
SAYS(cudaGetDeviceCount, int, 1, int *said)
SAYS(cudaGetDevice, int, 0, int *said)
SAYS(cudaDriverGetVersion, int, CUDART_VERSION, int *said)
SAYS(cudaRuntimeGetVersion, int, CUDART_VERSION, int *said)
SAYS(cudaDeviceCanAccessPeer, int, 1, int *said, int device, int peer)
OK(cudaSetDevice, int device)
OK(cudaDeviceEnablePeerAccess, int peer, unsigned int flags)
OK(cudaDeviceSetLimit, enum cudaLimit limit, size_t value)
OK(cudaGetLastError, void)
const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "refused by the stand-in"; }

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
    snprintf(id, length, "%s", getenv("STAND_IN_GPU"));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    case cudaDevAttrGPUDirectRDMASupported: *value = 1; break;
    default: *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    memset(properties, 0, sizeof *properties);
    properties->major = capability() / 10;
    properties->minor = capability() % 10;
    properties->multiProcessorCount = 132;
    properties->totalGlobalMem = 80ull << 30;
    return cudaSuccess;
}

/* Memory: pages that cost nothing until they are written. */
static cudaError_t take(void **pointer, size_t size) {
    size = (size + 2 * PAGE - 1) / PAGE * PAGE; /* a page in front holds the size */
    char *pages = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
    *(size_t *)pages = size + PAGE;
    *pointer = pages + PAGE;
    return cudaSuccess;
}

static cudaError_t leave(void *pointer) {
    if (pointer != NULL) munmap((char *)pointer - PAGE, *(size_t *)((char *)pointer - PAGE));
    return cudaSuccess;
}

static cudaError_t fill(void *pointer, int value, size_t size) {
    char *end = (char *)pointer + size, *first = (char *)(((size_t)pointer + PAGE - 1) / PAGE * PAGE);
    if (value == 0 && first + PAGE <= end) { /* whole pages are given back: they read as zero again */
        char *last = (char *)((size_t)end / PAGE * PAGE);
        madvise(first, last - first, MADV_DONTNEED);
        memset(pointer, 0, first - (char *)pointer);
        memset(last, 0, end - last);
        return cudaSuccess;
    }
    memset(pointer, value, size);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t size) { return take(pointer, size); }
cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    return take(pointer, size);
}
cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags) { return take(pointer, size); }
cudaError_t cudaFree(void *pointer) { return leave(pointer); }
cudaError_t cudaFreeHost(void *pointer) { return leave(pointer); }
cudaError_t cudaMemset(void *pointer, int value, size_t size) { return fill(pointer, value, size); }
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size, cudaStream_t stream) { return fill(pointer, value, size); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy(to, from, size, kind);
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) {
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeDevice;
    attributes->devicePointer = (void *)pointer;
    return cudaSuccess;
}
OK(cudaHostRegister, void *pointer, size_t size, unsigned int flags)
OK(cudaHostUnregister, void *pointer)
SAYS(cudaMemPoolCreate, cudaMemPool_t, &gpu, cudaMemPool_t *said, const struct cudaMemPoolProps *properties)
OK(cudaMemPoolDestroy, cudaMemPool_t pool)
OK(cudaMemPoolSetAttribute, cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)

/* Another rank's memory is opened and never written by the processor: pages of this rank's own stand for it. */
#define OPENED (256ul << 20)
OK(cudaIpcGetMemHandle, cudaIpcMemHandle_t *handle, void *pointer)
cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags) { return take(pointer, OPENED); }
OK(cudaIpcCloseMemHandle, void *pointer)

/* Streams, events and graphs. */
SAYS(cudaStreamCreateWithFlags, cudaStream_t, &gpu, cudaStream_t *said, unsigned int flags)
OK(cudaStreamDestroy, cudaStream_t stream)
OK(cudaStreamSynchronize, cudaStream_t stream)
OK(cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event, unsigned int flags)
SAYS(cudaStreamIsCapturing, enum cudaStreamCaptureStatus, cudaStreamCaptureStatusNone, cudaStream_t stream,
     enum cudaStreamCaptureStatus *said)
SAYS(cudaStreamGetCaptureInfo, enum cudaStreamCaptureStatus, cudaStreamCaptureStatusNone, cudaStream_t stream,
     enum cudaStreamCaptureStatus *said, unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
     const cudaGraphEdgeData **edges, size_t *count)
OK(cudaStreamUpdateCaptureDependencies, cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges,
   size_t count, unsigned int flags)
OK(cudaThreadExchangeStreamCaptureMode, enum cudaStreamCaptureMode *mode)
SAYS(cudaEventCreate, cudaEvent_t, &gpu, cudaEvent_t *said)
SAYS(cudaEventCreateWithFlags, cudaEvent_t, &gpu, cudaEvent_t *said, unsigned int flags)
OK(cudaEventDestroy, cudaEvent_t event)
OK(cudaEventRecord, cudaEvent_t event, cudaStream_t stream)
OK(cudaEventQuery, cudaEvent_t event)
OK(cudaEventSynchronize, cudaEvent_t event)
SAYS(cudaUserObjectCreate, cudaUserObject_t, &gpu, cudaUserObject_t *said, void *pointer, cudaHostFn_t destroy,
     unsigned int references, unsigned int flags)
OK(cudaGraphRetainUserObject, cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
OK(cudaGraphAddEventRecordNode, cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count,
   cudaEvent_t event)
OK(cudaGraphAddDependencies, cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
   const cudaGraphEdgeData *edges, size_t count)
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    function(data);
    return cudaSuccess;
}

/* Kernels: known, and never run. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
OK(cudaFuncSetAttribute, const void *function, enum cudaFuncAttribute attribute, int value)
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol) { return cudaErrorNotSupported; }
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    return cudaErrorNotSupported;
}
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
    return cudaErrorNotSupported;
}
OK(__cudaGetKernel, void **kernel, const void *function)
OK(__cudaPopCallConfiguration, dim3 *grid, dim3 *block, size_t *shared, void *stream)
void **__cudaRegisterFatBinary(void *binary) { return malloc(sizeof(void *)); }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
char __cudaInitModule(void **handle) { return 0; }
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *blocks, void *grid, int *warp) {}
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size, int constant,
                       int global) {}

/* The driver's functions that NCCL looks for by name: without the others it takes older ways. */
static int driver_device(int *device, int at) { *device = at; return 0; }
static int driver_attribute(int *value, int attribute, int device) { *value = 0; return 0; }
static int driver_context(void **context) { *context = &gpu; return 0; }
static int driver_error(int error, const char **text) { *text = "refused by the stand-in"; return 0; }
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) {
    *function = !strcmp(symbol, "cuDeviceGet")            ? (void *)driver_device
                : !strcmp(symbol, "cuDeviceGetAttribute") ? (void *)driver_attribute
                : !strcmp(symbol, "cuCtxGetCurrent")      ? (void *)driver_context
                : !strncmp(symbol, "cuGetError", 10)      ? (void *)driver_error
                                                          : NULL;
    *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

/* NVML: the GPUs of the node, each of which reaches all others. A handle is an index from 1. */
#define MOST_GPUS 16
static char addresses[MOST_GPUS][32];
static unsigned gpus;
int nvmlInit_v2(void) {
    if (gpus) return 0;
    for (char *rest = strdup(getenv("STAND_IN_GPUS")), *one; (one = strsep(&rest, ",")) && gpus < MOST_GPUS;)
        snprintf(addresses[gpus++], sizeof addresses[0], "%s", one);
    return 0;
}
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int error) { return "refused by the stand-in"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = gpus; return 0; }
int nvmlDeviceGetIndex(size_t handle, unsigned *index) { *index = handle - 1; return 0; }
int nvmlDeviceGetHandleByIndex(unsigned index, size_t *handle) { *handle = index + 1; return 0; }
int nvmlDeviceGetHandleByPciBusId(const char *address, size_t *handle) {
    const size_t form = strlen("0000:00:00.0"); /* NCCL writes the domain with eight digits, the catalogue with four */
    for (unsigned at = 0; at < gpus; at++) {
        if (strcasecmp(addresses[at], address + strlen(address) - form)) continue;
        *handle = at + 1;
        return 0;
    }
    return 6; /* NVML_ERROR_NOT_FOUND */
}
int nvmlDeviceGetCudaComputeCapability(size_t handle, int *major, int *minor) {
    *major = capability() / 10;
    *minor = capability() % 10;
    return 0;
}
int nvmlDeviceGetP2PStatus(size_t one, size_t other, int index, int *status) { *status = 0; return 0; }
