/* Makes each sync take longer by SLOW_SYNC_MICROSECONDS: an ordinary disk, on one that is fast. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int wait_and(const char *name, int fd) {
  int (*inner)(int) = dlsym(RTLD_NEXT, name);
  const char *wait = getenv("SLOW_SYNC_MICROSECONDS");
  if (wait) usleep(atoi(wait));
  return inner(fd);
}

int fsync(int fd) { return wait_and("fsync", fd); }
int fdatasync(int fd) { return wait_and("fdatasync", fd); }
