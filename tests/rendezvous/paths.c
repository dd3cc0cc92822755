/* What Linux says of adapters that are not there, and that their driver and the GPUs' one know each other.
 *
 * Preloaded: paths below /sys that NCCL reads of adapters are looked up below the folder STAND_IN_ROOT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *placed(const char *path, char *room) {
    if (path == NULL || (strncmp(path, "/sys/class/infiniband/", 22) && strncmp(path, "/sys/module/nvidia_peermem/", 27)))
        return path;
    snprintf(room, PATH_MAX, "%s%s", getenv("STAND_IN_ROOT"), path);
    return room;
}
#define THE(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int open(const char *path, int flags, ...) {
    char room[PATH_MAX];
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return THE(open)(placed(path, room), flags, mode);
}
int access(const char *path, int mode) {
    char room[PATH_MAX];
    return THE(access)(placed(path, room), mode);
}
char *realpath(const char *path, char *resolved) {
    char room[PATH_MAX];
    return THE(realpath)(placed(path, room), resolved);
}
