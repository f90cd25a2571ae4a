/* Records in one file, in order, what processes write below one folder and what they sync.

   Preloaded into a service (LD_PRELOAD). RECORDER_LOG is the file, RECORDER_FOLDER the folder with a
   slash at its end. A record is: operation, length of the name, length of the data, offset, name,
   data. It is appended when the call has succeeded, in one write, so that the records of several
   processes have the order of what was done under locks. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 65536
#define LONGEST 120

enum { WRITE = 1, SYNC = 2, TRUNCATE = 3, RENAME = 4, UNLINK = 5, OPEN_TRUNCATED = 6 };

struct head {
  uint8_t operation, name;
  uint16_t unused;
  uint32_t data;
  int64_t offset;
};

static char names[MOST][LONGEST + 1];
static const char *folder;
static int log_file = -1;

static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }

static void record(int operation, const char *name, const void *data, size_t size, int64_t offset) {
  struct head head = {operation, strlen(name), 0, size, offset};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, head.name}, {(void *)data, size}};
  int kept = errno;
  if (writev(log_file, parts, 3) != (ssize_t)(sizeof head + head.name + size)) abort();
  errno = kept;
}

static const char *place(const char *path) {
  size_t size;
  if (!folder) {
    const char *log = getenv("RECORDER_LOG");
    int (*inner)(const char *, int, ...) = find("open64");
    if (!log || !getenv("RECORDER_FOLDER")) abort();
    log_file = inner(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_file < 0) abort();
    folder = getenv("RECORDER_FOLDER");
  }
  size = strlen(folder);
  if (strncmp(path, folder, size) || strlen(path + size) > LONGEST) return 0;
  return path + size;
}

static int note(int fd, const char *path, int flags) {
  const char *name = fd >= 0 && fd < MOST && !(flags & O_DIRECTORY) ? place(path) : 0;
  if (fd >= 0 && fd < MOST) names[fd][0] = 0;
  if (name && *name) {
    strcpy(names[fd], name);
    if (flags & O_TRUNC) record(OPEN_TRUNCATED, name, "", 0, 0);
  }
  return fd;
}

static const char *known(int fd) { return fd >= 0 && fd < MOST && names[fd][0] ? names[fd] : 0; }

#define OPENS(function)                                                   \
  int function(const char *path, int flags, ...) {                        \
    static int (*inner)(const char *, int, ...);                          \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    int mode = va_arg(rest, int);                                         \
    va_end(rest);                                                         \
    if (!inner) inner = find(#function);                                  \
    return note(inner(path, flags, mode), path, flags);                   \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(function)                                                \
  int function(int at, const char *path, int flags, ...) {                \
    static int (*inner)(int, const char *, int, ...);                     \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    int mode = va_arg(rest, int);                                         \
    va_end(rest);                                                         \
    if (!inner) inner = find(#function);                                  \
    return note(inner(at, path, flags, mode), path, flags);               \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int fd) {
  static int (*inner)(int);
  if (!inner) inner = find("close");
  if (fd >= 0 && fd < MOST) names[fd][0] = 0;
  return inner(fd);
}

#define WRITES_AT(function, type)                                         \
  ssize_t function(int fd, const void *data, size_t size, type offset) {  \
    static ssize_t (*inner)(int, const void *, size_t, type);             \
    if (!inner) inner = find(#function);                                  \
    ssize_t done = inner(fd, data, size, offset);                         \
    if (done > 0 && known(fd)) record(WRITE, names[fd], data, done, offset); \
    return done;                                                          \
  }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
  static ssize_t (*inner)(int, const void *, size_t);
  if (!inner) inner = find("write");
  ssize_t done = inner(fd, data, size);
  if (done > 0 && known(fd)) record(WRITE, names[fd], data, done, lseek64(fd, 0, SEEK_CUR) - done);
  return done;
}

#define SYNCS(function)                                                   \
  int function(int fd) {                                                  \
    static int (*inner)(int);                                             \
    if (!inner) inner = find(#function);                                  \
    int done = inner(fd);                                                 \
    if (!done && known(fd)) record(SYNC, names[fd], "", 0, 0);            \
    return done;                                                          \
  }
SYNCS(fsync)
SYNCS(fdatasync)

#define TRUNCATES(function, type)                                         \
  int function(int fd, type size) {                                       \
    static int (*inner)(int, type);                                       \
    if (!inner) inner = find(#function);                                  \
    int done = inner(fd, size);                                           \
    if (!done && known(fd)) record(TRUNCATE, names[fd], "", 0, size);     \
    return done;                                                          \
  }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
  static int (*inner)(const char *, const char *);
  if (!inner) inner = find("rename");
  int done = inner(from, to);
  if (!done && place(from) && place(to)) record(RENAME, place(from), place(to), strlen(place(to)), 0);
  return done;
}

int unlink(const char *path) {
  static int (*inner)(const char *);
  if (!inner) inner = find("unlink");
  int done = inner(path);
  if (!done && place(path)) record(UNLINK, place(path), "", 0, 0);
  return done;
}
