/* RDMA adapters that are not there: verbs as far as NCCL asks them while ranks connect.
 *
 * STAND_IN_ADAPTERS names a file with an adapter a line: name, IB or RoCE, code of its speed, LID, and its GIDs in hex with
 * commas between. Each change of a queue pair is a line of the file STAND_IN_QUEUE_PAIRS. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ibvcore.h" /* NCCL's own picture of libibverbs */

#define MOST_ADAPTERS 32
#define MOST_GIDS 16

struct adapter {
    struct ibv_device device;
    int link_layer, speed, lid, gids;
    union ibv_gid gid[MOST_GIDS];
};

static struct adapter adapters[MOST_ADAPTERS];
static int count;
static FILE *record;
static uint32_t next_queue_pair = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct adapter *adapter_of(struct ibv_context *context) { return (struct adapter *)context->device; }

__attribute__((constructor)) static void look(void) {
    char name[IBV_SYSFS_NAME_MAX], link[8], gids[MOST_GIDS * 40];
    int speed, lid;
    FILE *file = fopen(getenv("STAND_IN_ADAPTERS"), "r");
    while (file && fscanf(file, "%63s %7s %d %d %639s", name, link, &speed, &lid, gids) == 5) {
        struct adapter *one = &adapters[count++];
        snprintf(one->device.name, sizeof one->device.name, "%s", name);
        one->link_layer = strcmp(link, "IB") ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
        one->speed = speed;
        one->lid = lid;
        for (char *rest = gids, *hex; (hex = strsep(&rest, ",")) && one->gids < MOST_GIDS; one->gids++)
            for (int at = 0; at < 16; at++) sscanf(hex + 2 * at, "%2hhx", &one->gid[one->gids].raw[at]);
    }
    if (file) fclose(file);
    record = fopen(getenv("STAND_IN_QUEUE_PAIRS"), "w");
    if (record) setvbuf(record, NULL, _IOLBF, 0);
}

/* Devices. */
int ibv_fork_init(void) { return 0; }
struct ibv_device **ibv_get_device_list(int *found) {
    struct ibv_device **list = calloc(count + 1, sizeof *list);
    for (int at = 0; at < count; at++) list[at] = &adapters[at].device;
    *found = count;
    return list;
}
void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }
struct ibv_context *ibv_open_device(struct ibv_device *device) {
    struct ibv_context *context = calloc(1, sizeof *context);
    context->device = device;
    return context;
}
int ibv_close_device(struct ibv_context *context) { return 0; }
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
    for (;;) pause(); /* nothing ever happens to these adapters */
}
void ibv_ack_async_event(struct ibv_async_event *event) {}
const char *ibv_event_type_str(enum ibv_event_type event) { return "event"; }
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device) {
    memset(device, 0, sizeof *device);
    device->phys_port_cnt = 1;
    device->max_qp = 1 << 17;
    device->max_mr = 1 << 24;
    device->sys_image_guid = 1 + (adapter_of(context) - adapters);
    return 0;
}
int ibv_query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *port) {
    struct adapter *one = adapter_of(context);
    memset(port, 0, offsetof(struct ibv_port_attr, port_cap_flags2)); /* libibverbs writes no further for old programs */
    port->state = IBV_PORT_ACTIVE;
    port->max_mtu = port->active_mtu = IBV_MTU_4096;
    port->gid_tbl_len = one->gids;
    port->lid = one->lid;
    port->pkey_tbl_len = 128;
    port->active_width = 2; /* four lanes */
    port->active_speed = one->speed;
    port->link_layer = one->link_layer;
    return 0;
}
int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid) {
    if (index < 0 || index >= adapter_of(context)->gids) return -1;
    *gid = adapter_of(context)->gid[index];
    return 0;
}

/* Memory, queues: things to point at. */
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
    struct ibv_pd *domain = calloc(1, sizeof *domain);
    domain->context = context;
    return domain;
}
int ibv_dealloc_pd(struct ibv_pd *domain) { free(domain); return 0; }
struct ibv_mr *ibv_reg_mr(struct ibv_pd *domain, void *address, size_t length, int access) {
    struct ibv_mr *region = calloc(1, sizeof *region);
    region->context = domain->context;
    region->pd = domain;
    region->addr = address;
    region->length = length;
    return region;
}
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *domain, void *address, size_t length, uint64_t at, unsigned access) {
    return ibv_reg_mr(domain, address, length, access);
}
int ibv_dereg_mr(struct ibv_mr *region) { free(region); return 0; }
static int nothing_came(struct ibv_cq *queue, int most, struct ibv_wc *completions) { return 0; }
static int taken_to_send(struct ibv_qp *pair, struct ibv_send_wr *work, struct ibv_send_wr **bad) { return 0; }
static int taken_to_receive(struct ibv_qp *pair, struct ibv_recv_wr *work, struct ibv_recv_wr **bad) { return 0; }
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *of, struct ibv_comp_channel *channel, int vector) {
    struct ibv_cq *queue = calloc(1, sizeof *queue);
    context->ops.poll_cq = nothing_came;
    context->ops.post_send = taken_to_send;
    context->ops.post_recv = taken_to_receive;
    queue->context = context;
    return queue;
}
int ibv_destroy_cq(struct ibv_cq *queue) { free(queue); return 0; }

/* Queue pairs: what NCCL wants of each is what the spec's values come to. */
struct ibv_qp *ibv_create_qp(struct ibv_pd *domain, struct ibv_qp_init_attr *wanted) {
    struct ibv_qp *pair = calloc(1, sizeof *pair);
    pair->context = domain->context;
    pair->pd = domain;
    pthread_mutex_lock(&lock);
    pair->qp_num = next_queue_pair++;
    pthread_mutex_unlock(&lock);
    return pair;
}
int ibv_destroy_qp(struct ibv_qp *pair) { free(pair); return 0; }
int ibv_query_qp(struct ibv_qp *pair, struct ibv_qp_attr *is, int mask, struct ibv_qp_init_attr *was) { return 0; }
int ibv_query_ece(struct ibv_qp *pair, struct ibv_ece *options) { return EOPNOTSUPP; }
int ibv_set_ece(struct ibv_qp *pair, struct ibv_ece *options) { return EOPNOTSUPP; }
int ibv_modify_qp(struct ibv_qp *pair, struct ibv_qp_attr *to, int mask) {
    const char *name = adapter_of(pair->context)->device.name;
    pthread_mutex_lock(&lock);
    if (to->qp_state == IBV_QPS_INIT)
        fprintf(record, "%u adapter=%s pkey_index=%d\n", pair->qp_num, name, to->pkey_index);
    else if (to->qp_state == IBV_QPS_RTR) {
        fprintf(record, "%u gid_index=%d traffic_class=%d service_level=%d gid=", pair->qp_num,
                to->ah_attr.grh.sgid_index, to->ah_attr.grh.traffic_class, to->ah_attr.sl);
        for (int at = 0; at < 16; at++) fprintf(record, "%02x", to->ah_attr.grh.dgid.raw[at]);
        fprintf(record, "\n");
    }
    else if (to->qp_state == IBV_QPS_RTS)
        fprintf(record, "%u timeout=%d retry_count=%d\n", pair->qp_num, to->timeout, to->retry_cnt);
    pthread_mutex_unlock(&lock);
    return 0;
}
