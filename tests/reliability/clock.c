/* Moves the wall clock of a process by the seconds that the file CLOCK_OFFSET_FILE holds just now.
   The monotonic clock stays. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long read_offset(void) {
  static const char *path;
  char text[32] = {0};
  if (!path && !(path = getenv("CLOCK_OFFSET_FILE"))) return 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
  close(file);
  return atol(text);
}

int clock_gettime(clockid_t which, struct timespec *found) {
  static int (*inner)(clockid_t, struct timespec *);
  if (!inner) inner = dlsym(RTLD_NEXT, "clock_gettime");
  int done = inner(which, found);
  if (!done && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
    found->tv_sec += read_offset();
  return done;
}

int gettimeofday(struct timeval *found, void *zone) {
  static int (*inner)(struct timeval *, void *);
  if (!inner) inner = dlsym(RTLD_NEXT, "gettimeofday");
  int done = inner(found, zone);
  if (!done) found->tv_sec += read_offset();
  return done;
}

time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}
