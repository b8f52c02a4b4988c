// The connections of the client, and what ends it.

#ifndef CONNECTION_H
#define CONNECTION_H

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

// What a connection waits for.
typedef enum { NOTHING, GO_AHEAD, ENQUEUED, NO_ERRORS } answer;

static const char *const answers[] = {
    [GO_AHEAD] = "0 Go ahead.  End with dot '.' on its own line.\n",
    [ENQUEUED] = "0 errors, enqueued 1 value(s).\n",
    [NO_ERRORS] = "0 errors\n",
};

typedef struct connection {
  int fd;
  const char *address;
  answer waits_for;
  size_t length; // of `text`
  char text[512];
} connection;

__attribute__((format(printf, 1, 2), noreturn)) static void
stop(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("load: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static void *room(void *old, size_t size) {
  void *memory = realloc(old, size);
  if (!memory)
    stop("no memory for %zu bytes", size);
  return memory;
}

// Connects to unix:/path or host:port.
static int connected(const char *address) {
  int fd;
  if (!strncmp(address, "unix:", 5)) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(address + 5) >= sizeof name.sun_path)
      stop("%s: the path is too long for a socket", address);
    strcpy(name.sun_path, address + 5);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof name))
      stop("%s: %s", address, strerror(errno));
  } else {
    char host[256];
    const char *port = strrchr(address, ':');
    if (!port || port - address >= (long)sizeof host)
      stop("%s: give unix:/path or host:port", address);
    memcpy(host, address, (size_t)(port - address));
    host[port - address] = 0;
    struct addrinfo *found, want = {.ai_socktype = SOCK_STREAM};
    int error = getaddrinfo(host, port + 1, &want, &found);
    if (error)
      stop("%s: %s", address, gai_strerror(error));
    fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
      stop("%s: %s", address, strerror(errno));
    freeaddrinfo(found);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // A BATCH of 1,000 fits, so one client's send does not hold up the others.
  int size = 1 << 18;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return fd;
}

static void send_all(const connection *to, const char *text, size_t length) {
  while (length) {
    ssize_t sent = send(to->fd, text, length, MSG_NOSIGNAL);
    if (sent < 0)
      stop("%s: cannot send: %s", to->address, strerror(errno));
    text += sent;
    length -= (size_t)sent;
  }
}

// Receives more bytes; returns whether they complete a line.
static bool receive(connection *from, size_t most) {
  if (from->length == most)
    stop("%s: an answer of more than %zu bytes", from->address, most);
  ssize_t got =
      recv(from->fd, from->text + from->length, most - from->length, 0);
  if (got < 0)
    stop("%s: cannot receive: %s", from->address, strerror(errno));
  if (!got)
    stop("%s: the server closed the connection", from->address);
  from->length += (size_t)got;
  return from->text[from->length - 1] == '\n';
}

#endif
