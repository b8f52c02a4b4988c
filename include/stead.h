// stead: where does this key live?
//
// The same answer, to the byte, in C, Python, PHP, Perl, Rust and the shell, and a safe way to
// change it. This header is the manual of the C library. It is generated from the library's
// sources: edit those.
//
//     key --hash--> point --slices--> policy --> nodes
//
// A map is a file that says which nodes (servers, mount points, shards) hold which keys.
// `stead apply fleet.toml members.map` makes one, and so does stead_map_build. A whole program:
//
//     #include <stdio.h>
//     #include <string.h>
//     #include <stead.h>
//
//     int main(int argc, char **argv) {
//         stead_error error;
//         stead_map *map;
//         int32_t node;
//         if (argc != 3)
//             return fprintf(stderr, "usage: where MAP KEY\n"), 2;
//         if (stead_map_open(argv[1], STEAD_OPEN_SHARED, &map, &error) != STEAD_OK)
//             return fprintf(stderr, "where: %s\n", error.message), 1;
//         if (stead_map_locate(map, argv[2], strlen(argv[2]), &node, &error) == STEAD_OK)
//             printf("%s lives on %s\n", argv[2], stead_map_node_name(map, node));
//         stead_map_free(map);
//         return 0;
//     }
//
//     cc -o where where.c $(pkg-config --cflags --libs stead)
//
// WORDS. A point is a 64-bit number; the hash of a key gives its point. A policy is an ordered list
// of nodes, primary first. A slice is a run of points that one policy holds. A pin gives a key, or
// a thin range of points, to a policy by hand. An epoch is one version of a map. A fleet is the
// text that a map is built from: it lists the nodes and their weights. A ring is another program's
// rule of placement; `stead ring` turns it into a map, and the ring is then adopted.
// docs/placement.md defines these words.
//
// CALLS. Arguments come in this order: the object, the inputs, the outputs, the error record. A
// function that can fail returns a number of stead_status and fills the error record, which may be
// NULL. It writes its outputs only when it returns STEAD_OK. Its comment lists the statuses that it
// returns; any function may also return STEAD_INTERNAL. Any other function says what it returns
// when an argument is wrong. A pointer may be NULL only where its function says so; elsewhere NULL
// gives STEAD_INVALID, not a crash. The library sets no signal handler, starts no thread and does
// not depend on the locale. It reads two environment variables: STEAD_MEMORY_LIMIT (see MEMORY), and
// STEAD_KERNEL, which tests use. It prints nothing, except that a bug in stead (STEAD_INTERNAL)
// writes its message to standard error.
//
// MEMORY. When the system has no memory for a call, the call returns STEAD_MEMORY, and a function
// that returns a string of a map returns NULL. In detail: a block whose size a file, a text or the
// caller decides is asked for, and a refusal is STEAD_MEMORY. Reading a fleet, building, comparing
// and reporting need many blocks. These calls, and the guards of a publish, estimate the most that
// they may need, and return STEAD_MEMORY if that is above stead_memory_limit or if the system refuses
// a block of that size. They hold this block, without writing to it, until they end. When the system
// refuses one of the many, they give back a part of what they hold and ask again. So two things are
// left that end the process, as Rust ends it: a block of less than 64 KiB that the system refuses to
// a call that holds nothing; and a block that another thread or process takes in the moment between
// giving back and asking. A program that must live through both makes these calls in a child
// process. Looking up keys, one or many, needs no memory.
//
// KEYS are bytes with a length. Nothing is trimmed, folded or decoded: a key with a newline at its
// end is another key, and may live on another node. The NUL behind a string is no part of its key,
// so pass strlen and not sizeof. The key of a number is its decimal digits, as in every other
// language: print it into a buffer. Its bytes in memory (&id, sizeof id) are another key.
//
// NODES are numbers from 0, in the order of the nodes' names; -1 means none. A number is only valid
// for the map that it comes from: in another map, or in another epoch of the same map, it may be a
// different node. Keep names (stead_map_node_name), or keep numbers together with their map.
//
// STRINGS of a map are UTF-8, end with NUL, and live as long as any handle of the map. A text that
// a function makes (JSON) must be freed with stead_text_free. Paths of files are bytes that end
// with NUL.
//
// THREADS. Functions that take a const handle may be called by any number of threads at once, with
// the same handle. Any thread may open and build maps at any time. Free each handle once, when no
// thread uses it any more. A thread that wants a handle of its own calls stead_map_share. An error
// record must not be used by two threads at once.
//
// FORK. After fork, a child may use the handles of its parent and open maps, even when the parent
// had threads. Maps are read-only, so the child cannot damage those of its parent.
//
// FILES. Publish a map by renaming a new file over the old one, as stead_map_publish, `stead
// apply`, mv, rsync and install do. A reader that opens the map again for each request sees a new
// epoch as soon as it is there. Opening an unchanged file again costs one stat, because a process
// remembers the maps of the 16 paths that it opened last. An open map never changes.
//
// Do not write into a published file in place (cp, rsync --inplace): the next open returns
// STEAD_CHANGED. A map larger than 1 MiB is mapped, so the change also reaches the programs that
// have it open: its answers become meaningless, and if the file got shorter, reading the missing
// part kills the process with SIGBUS. STEAD_OPEN_COPY prevents both.
//
// TRUST. Opening a map that is damaged, truncated or malicious returns an error and never crashes.
// The library cannot detect a pointer that is wrong but not NULL, or a handle that was freed: using
// one is undefined behaviour.
//
// VERSIONS. libstead.so.1 keeps the functions, structures and numbers of this header for ever;
// later versions only add to them. STEAD_VERSION_NUMBER is for #if, and stead_version says with
// which library the program runs. A bug in stead never unwinds into C: it becomes STEAD_INTERNAL.

#ifndef STEAD_H
#define STEAD_H

#include <stddef.h>
#include <stdint.h>

// The version of this header, for #if: STEAD_VERSION_NUMBER is 1000000 * major +
// 1000 * minor + patch. stead_version has the version of the library that the program
// runs with. (The name STEAD_VERSION is a status.)
#define STEAD_VERSION_MAJOR 0
#define STEAD_VERSION_MINOR 1
#define STEAD_VERSION_PATCH 0
#define STEAD_VERSION_NUMBER \
  (1000000 * STEAD_VERSION_MAJOR + 1000 * STEAD_VERSION_MINOR + STEAD_VERSION_PATCH)
#define STEAD_VERSION_STRING "0.1.0"

// The compiler warns where the result of a function with this attribute is ignored: it is a new
// object, or the only sign of a failure. Define it as nothing to have no warning.
#ifndef STEAD_USE_RESULT
#ifdef __GNUC__
#define STEAD_USE_RESULT __attribute__((warn_unused_result))
#else
#define STEAD_USE_RESULT
#endif
#endif

// The number of the binary interface that this header declares; see stead_abi.
typedef enum {
  // The number of the binary interface of this header.
  STEAD_ABI = 1,
} stead_abi_number;

// The status that a function returns: STEAD_OK, or the kind of failure. A number never changes,
// and means the same in every language. 14 was never returned and will not be used.
typedef enum {
  // The call succeeded.
  STEAD_OK = 0,
  // An argument is wrong: it is NULL, out of range, or unknown to this map.
  STEAD_INVALID = 1,
  // The fleet has a mistake; the message begins with FILE:LINE.
  STEAD_FLEET = 2,
  // The fleet is well-formed, but what it asks for is impossible.
  STEAD_IMPOSSIBLE = 3,
  // The file is not a map, or its structure is damaged.
  STEAD_FORMAT = 4,
  // The file is a map, but its digest does not match its bytes: it is damaged.
  STEAD_DIGEST = 5,
  // The map needs a newer stead.
  STEAD_VERSION = 6,
  // The map belongs to another cluster, uses another hash or key rule, or is not the newest of
  // its history.
  STEAD_IDENTITY = 7,
  // A file does not exist.
  STEAD_NOT_FOUND = 8,
  // The operating system refused to read or write; os_errno has its reason.
  STEAD_IO = 9,
  // Another process changed the map in the meantime. This call changed nothing.
  STEAD_CONFLICT = 10,
  // The new map is in place, but may not survive a power cut. Do not publish it again: sync the
  // disk.
  STEAD_UNCERTAIN = 11,
  // A file was overwritten in place while it was open. Open maps still give their old answers,
  // except mapped ones (see FILES).
  STEAD_CHANGED = 12,
  // The key has no path, because its file name would be too long; or no key has this path.
  STEAD_NAME = 13,
  // A bug in stead: please report it.
  STEAD_INTERNAL = 15,
  // The operating system denied permission; os_errno is EACCES or EPERM.
  STEAD_PERMISSION = 16,
  // There is not enough memory for the call, or it may need more than stead_memory_limit allows.
  STEAD_MEMORY = 17,
  // The change does harm that a guard forbids, and the guard was not lifted; or a carry is open,
  // and this is another change. This call changed nothing.
  STEAD_GUARDED = 18,
} stead_status;

// Flags of stead_map_open. Combine them with |.
typedef enum {
  // Read a file of up to 1 MiB into memory. Map a larger one, and share its memory with all
  // processes that have it open.
  STEAD_OPEN_SHARED = 0,
  // Read the file into memory whatever its size. Then a program that truncates the file in place
  // cannot crash this process.
  STEAD_OPEN_COPY = 1,
} stead_open_flags;

// The hashes of keys, for stead_point. "N bits" means that the hash has 2^N values.
typedef enum {
  // The first 8 bytes of MD5, big-endian. A map uses this hash unless its fleet names another.
  STEAD_MD5 = 1,
  // The first 8 bytes of SHA-1, big-endian.
  STEAD_SHA1 = 2,
  // XXH3, 64 bits, seed 0.
  STEAD_XXH3 = 3,
  // SipHash-2-4 with a secret of 16 bytes.
  STEAD_SIPHASH = 4,
  // The first 4 bytes of MD5, little-endian, 32 bits: ketama. This hash and all below it are for
  // adopted rings; docs/placement.md has their rules.
  STEAD_MD5_LE32 = 5,
  // The first 4 bytes of MD5, big-endian, 32 bits.
  STEAD_MD5_BE32 = 6,
  // CRC-32, 32 bits.
  STEAD_CRC32 = 7,
  // Bits 16 to 30 of CRC-32: memcached clients in Perl.
  STEAD_CRC32_15 = 8,
  // CRC-16/XMODEM of the key or its {tag}, 14 bits: Redis Cluster.
  STEAD_CRC16_TAG = 9,
  // FNV-1, 32 bits.
  STEAD_FNV1_32 = 10,
  // FNV-1, 32 bits, with char signed, as on x86.
  STEAD_FNV1_32_SIGNED = 11,
  // FNV-1a, 32 bits.
  STEAD_FNV1A_32 = 12,
  // FNV-1a, 32 bits, with char signed.
  STEAD_FNV1A_32_SIGNED = 13,
  // The low 32 bits of 64-bit FNV-1: libmemcached.
  STEAD_FNV1_64 = 14,
  // The low 32 bits of 64-bit FNV-1, with char signed.
  STEAD_FNV1_64_SIGNED = 15,
  // The low 32 bits of 64-bit FNV-1a: libmemcached.
  STEAD_FNV1A_64 = 16,
  // The low 32 bits of 64-bit FNV-1a, with char signed.
  STEAD_FNV1A_64_SIGNED = 17,
  // Jenkins' one-at-a-time, 32 bits: libmemcached.
  STEAD_ONE_AT_A_TIME = 18,
  // Jenkins' one-at-a-time, 32 bits, with char signed.
  STEAD_ONE_AT_A_TIME_SIGNED = 19,
  // 32-bit FNV-1a, folded to 16 bits by XOR of its halves: carbon.
  STEAD_FNV1A_FOLD16 = 20,
  // The first 8 bytes of the SHA-1 that Riak computes for the key BUCKET/KEY.
  STEAD_RIAK = 21,
  // The first 8 bytes of the SHA-1 that Riak computes for the key TYPE/BUCKET/KEY.
  STEAD_RIAK_TYPED = 22,
  // Bernstein's hash * 33 + byte, 64 bits.
  STEAD_DJB2 = 23,
  // The digits at the start of the key as a number, 64 bits: for sharding by `user_id % n`.
  STEAD_DECIMAL = 24,
  // XXH64, 64 bits, seed 0: Envoy.
  STEAD_XXH64 = 25,
} stead_hash;

// What stead_path does to the letters of a key before anything else.
typedef enum {
  // Leave them as they are.
  STEAD_FOLD_NONE = 0,
  // Turn A-Z into a-z. All other bytes stay.
  STEAD_FOLD_ASCII = 1,
} stead_fold;

// Why a range of points moves.
typedef enum {
  // A pin of the old or of the new map covers the range.
  STEAD_CAUSE_PIN = 1,
  // Somebody gave other nodes to the named policy that holds the range.
  STEAD_CAUSE_POLICY = 2,
  // Rebalancing moves it: every other case.
  STEAD_CAUSE_REBALANCE = 3,
} stead_cause;

// The states of a carry: which places are read and written. docs/placement.md, "Carry", has more.
typedef enum {
  // No carry is open.
  STEAD_STATE_NONE = 0,
  // The old place is read and written.
  STEAD_STATE_OLD = 1,
  // Both places are written, and the old one is read first.
  STEAD_STATE_BOTH_OLD_FIRST = 2,
  // Both places are written, and the new one is read first.
  STEAD_STATE_BOTH_NEW_FIRST = 3,
  // The new place is read and written.
  STEAD_STATE_NEW = 4,
} stead_state;

// Sizes of buffers.
typedef enum {
  // The bytes that the longest path of stead_path needs, including its NUL.
  STEAD_PATH_ROOM = 320,
  // The bytes of the longest name that stead_path_name finds.
  STEAD_NAME_ROOM = 255,
  // The bytes of a digest.
  STEAD_DIGEST_ROOM = 32,
} stead_room;

// A map: immutable and verified. Any number of threads may use it at once. The functions with an
// argument `map` of type stead_map ** give one, and stead_map_share returns one; stead_map_free
// frees it.
typedef struct stead_map stead_map;

// A map, and the map where its data was while a carry is open: it says where to read and to write.
// stead_pair_open makes it and stead_pair_free frees it. It never changes. Any number of threads
// may use it at once.
typedef struct stead_pair stead_pair;

// The difference between two maps, as a list of moves. stead_plan_between makes it and
// stead_plan_free frees it. It keeps both maps alive: you may free your handles of them first.
typedef struct stead_plan stead_plan;

// What went wrong. You own the record: put one on the stack and pass its address to as many calls
// as you like.
typedef struct {
  // A number of stead_status. It is STEAD_OK after a call that succeeded.
  int32_t status;
  // The errno of the operating system, or 0 when the failure did not come from there.
  int32_t os_errno;
  // One line that says what is wrong, where, and what to do. It is UTF-8 and ends with NUL. If
  // it is too long, the path in it loses its middle, but never the reason its end. It never
  // contains a secret.
  char message[248];
} stead_error;

// A run of points, and the policy that holds them.
typedef struct {
  // The first point.
  uint64_t first;
  // The last point, which is part of the slice.
  uint64_t last;
  // The number of the policy in this map.
  int32_t policy;
  // Always 0.
  int32_t reserved;
} stead_slice;

// A run of points, and one copy of them that moves.
typedef struct {
  // The first point.
  uint64_t first;
  // The last point, which is part of the move.
  uint64_t last;
  // The number in the old map of the node that loses the copy; -1 when the copy is new.
  int32_t from;
  // The number in the new map of the node that gets the copy; -1 when the copy is dropped.
  int32_t to;
  // A number of stead_cause.
  int32_t cause;
  // Always 0.
  int32_t reserved;
} stead_move;

// A copy of a key that moves.
typedef struct {
  // The position of the key among the keys that were given, from 0.
  uint64_t key;
  // The number in the old map of the node that loses the copy; -1 when the copy is new.
  int32_t from;
  // The number in the new map of the node that gets the copy; -1 when the copy is dropped.
  int32_t to;
} stead_affected;

// A number of points, of which there are up to 255 * 2^64: high * 2^64 + low.
typedef struct {
  // The low 64 bits.
  uint64_t low;
  // The high 64 bits.
  uint64_t high;
} stead_points;

// How much a plan moves, in points: a point of which two copies move counts twice. docs/cli.md
// explains the four.
typedef struct {
  // What rebalancing moves.
  stead_points moved;
  // The least that any method would have to move for the same shares.
  stead_points lower_bound;
  // What moves because of pins and named policies.
  stead_points by_hand;
  // The points whose primary changes although their nodes do not.
  stead_points reordered;
} stead_amounts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the number of the library's binary interface. A program runs with every library that
// returns the STEAD_ABI it was compiled with: such a library may have more functions, and never
// lacks or changes one. A binding that loads the library at run time must call this first.
int32_t stead_abi(void);

// Returns the version of the library, such as "0.1.0". Do not free it.
const char *stead_version(void);

// Returns the name of a status, such as "STEAD_CONFLICT", for logs; NULL for a number that is not
// a status. Do not free it.
const char *stead_status_name(int32_t status);

// Sets how many bytes of memory a single call may need, for all threads of the process, and
// returns the limit before. A call that reads a fleet, or that opens, builds, compares or judges
// maps, and that may need more, returns STEAD_MEMORY before it begins. What it may need is an
// upper bound: most calls need less. The limit is 4 GiB unless the environment variable
// STEAD_MEMORY_LIMIT is another number of bytes when it is first needed.
// bytes: This is the new limit. 0 changes nothing, and only asks.
uint64_t stead_memory_limit(uint64_t bytes);

// Opens and verifies a map file. Cost: one stat when this process has the file open already and it
// is unchanged. Otherwise the whole file is read and verified. A file that was replaced (by
// renaming another over it, as stead does) is opened anew, and the maps that are open keep their
// answers. If the file was overwritten in place while this process had it open, this returns
// STEAD_CHANGED. While data is carried, the answers of the map are its new places, so a program
// whose data is carried opens a pair (stead_pair_open).
// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
// map: where the handle goes; free it with stead_map_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
// STEAD_VERSION when the file is not a map, is damaged, or needs a newer stead; STEAD_CHANGED;
// STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_open(const char *path, uint32_t flags, stead_map **map, stead_error *error);

// Makes a map from the bytes of a map file, wherever they come from. It copies and verifies the
// bytes.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
// STEAD_VERSION when the bytes are not a map, are damaged, or need a newer stead; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_from_bytes(const void *bytes, size_t length, stead_map **map, stead_error *error);

// Builds the map of a fleet: the first map, or the next epoch after `previous`, which moves as
// little as possible. It writes no file. The same fleet and the same previous map give the same
// bytes on every machine.
// fleet, length: the text of the fleet, TOML or JSON, as docs/fleet.md describes it.
// name: the name of the text in messages, such as "fleet.toml". A secret_file in the fleet is read
// relative to its directory. NULL means "fleet".
// previous: the map to start from; NULL for a first map.
// max_move: how much may move in this epoch, such as "5%"; NULL for no limit. With a limit the map
// also carries its target, and building the same fleet again takes the next step.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FLEET, STEAD_IMPOSSIBLE;
// STEAD_IDENTITY when `previous` has another name, hash or key rule; STEAD_VERSION when it needs a
// newer stead than this one to build on it; STEAD_GUARDED when a carry is open in it and more than
// attributes of nodes would change; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_build(const void *fleet,
                        size_t length,
                        const char *name,
                        const stead_map *previous,
                        const char *max_move,
                        stead_map **map,
                        stead_error *error);

// Builds the map of a fleet file, as stead_map_build does with a text. Messages call the fleet by
// its path.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FLEET, STEAD_IMPOSSIBLE;
// STEAD_IDENTITY when `previous` has another name, hash or key rule; STEAD_VERSION when it needs a
// newer stead than this one to build on it; STEAD_GUARDED when a carry is open in it and more than
// attributes of nodes would change; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the
// operating system; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_build_file(const char *path,
                             const stead_map *previous,
                             const char *max_move,
                             stead_map **map,
                             stead_error *error);

// Opens and verifies a map file without the cache of open maps, and reads it into memory whatever
// its size: for a program that looks at many files once, or that only wants to know whether a file
// is a sound map.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
// STEAD_VERSION when the file is not a map, is damaged, or needs a newer stead; STEAD_CHANGED
// while somebody writes into the file; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the
// operating system; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_open_uncached(const char *path, stead_map **map, stead_error *error);

// Reads the epoch and the digest from the header of a map file without verifying it: a cheap way
// to ask whether there is a newer epoch.
// digest: room for STEAD_DIGEST_ROOM bytes, or NULL.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT when the file does not
// begin as a map; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the operating system.
int32_t stead_map_peek(const char *path, uint64_t *epoch, uint8_t *digest, stead_error *error);

// Publishes a map at `path`, for everybody who opens that file: whole or not at all, with its
// history beside it. `stead apply` does the same. When this returns STEAD_OK, the new epoch
// survives a power cut.
// previous: the map that `map` was built on; NULL for a first map. If the file at `path` is no
// longer that map, this returns STEAD_CONFLICT and changes nothing: build again, on the map that
// is there now. So of two programs that publish at the same time, one gets STEAD_CONFLICT. A
// `previous` that `map` was not built on is STEAD_INVALID, and so is NULL for a map that was built
// on the map that is there.
// allow: the words of the guards that may not refuse the change, as in stead_map_apply; NULL for
// none.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_CONFLICT; STEAD_IDENTITY when the
// file is not the newest epoch of its history, where trying again does not help; STEAD_GUARDED
// when a guard refuses the change, and then nothing was changed; STEAD_UNCERTAIN; STEAD_NOT_FOUND,
// STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_publish(const stead_map *map,
                          const stead_map *previous,
                          const char *path,
                          const char *allow,
                          stead_error *error);

// Writes a copy of a map to a file, and replaces the file that is there: whole or not at all. It
// keeps no history and detects no conflict.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_UNCERTAIN; STEAD_NOT_FOUND,
// STEAD_PERMISSION or STEAD_IO from the operating system.
STEAD_USE_RESULT
int32_t stead_map_save(const stead_map *map, const char *path, stead_error *error);

// Returns another handle of the same map, to be freed on its own; NULL when map is NULL. Nothing
// is copied.
STEAD_USE_RESULT
stead_map *stead_map_share(const stead_map *map);

// Frees a handle. The strings and bytes of the map become invalid when its last handle is freed.
// NULL is allowed and does nothing.
void stead_map_free(stead_map *map);

// Brings the map file at `path` up to a fleet: builds the map of the fleet on the map that is
// there, or a first map when there is no file, and publishes it as stead_map_publish does. When
// nothing would change, it writes nothing. `stead apply` does the same. So a mistyped path makes a
// first map there, unless the fleet says `[guard] first_map = false`.
// fleet, length, name: These are the text of the fleet and its name, as in stead_map_build.
// max_move: This text limits how much may move in this epoch, such as "5%". NULL means no limit.
// allow: These words let a change pass that a guard refuses, with commas between them:
// "drop-copies", "leave-data", "lose-domain", "move", "take-back". NULL allows none.
// docs/guards.md says what each guard refuses.
// map: The function writes a handle here, of the map that is at `path` afterwards. Free it with
// stead_map_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument or a symbolic link; STEAD_FLEET,
// STEAD_IMPOSSIBLE or STEAD_IDENTITY when the fleet is wrong or is not for this map; STEAD_FORMAT,
// STEAD_DIGEST or STEAD_VERSION when the file is no sound map; STEAD_NOT_FOUND when the directory
// is missing; STEAD_PERMISSION, STEAD_MEMORY or STEAD_IO when the system refuses; STEAD_CONFLICT
// when another program was faster (call it again); STEAD_GUARDED when a guard refuses the change,
// and then nothing was changed; STEAD_UNCERTAIN when the map is in place and may not survive a
// power cut.
STEAD_USE_RESULT
int32_t stead_map_apply(const void *fleet,
                        size_t length,
                        const char *name,
                        const char *path,
                        const char *max_move,
                        const char *allow,
                        stead_map **map,
                        stead_error *error);

// Brings the map file at `path` up to a fleet file, as stead_map_apply does with a text. Messages
// call the fleet by its path.
// fleet: This is the path of the fleet file.
// max_move, allow, map: These are as in stead_map_apply.
// Returns STEAD_OK; STEAD_INVALID, STEAD_FLEET, STEAD_IMPOSSIBLE, STEAD_IDENTITY, STEAD_FORMAT,
// STEAD_DIGEST, STEAD_VERSION, STEAD_PERMISSION, STEAD_MEMORY, STEAD_IO, STEAD_CONFLICT,
// STEAD_GUARDED and STEAD_UNCERTAIN as stead_map_apply does; STEAD_NOT_FOUND also when the fleet
// file is missing.
STEAD_USE_RESULT
int32_t stead_map_apply_file(const char *fleet,
                             const char *path,
                             const char *max_move,
                             const char *allow,
                             stead_map **map,
                             stead_error *error);

// Lists the epochs of a map file that stead_map_open_epoch can open, oldest first. The last one is
// the epoch of the file itself.
// epochs, capacity: The function writes the numbers to this array, which has room for so many.
// Numbers beyond the capacity are not written. NULL with capacity 0 asks for the count alone.
// count: The function writes here how many epochs there are, whatever the capacity.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_NOT_FOUND when there is no map;
// STEAD_PERMISSION or STEAD_IO when the system refuses. The history of a damaged file can be
// listed.
int32_t stead_map_history(const char *path, uint64_t *epochs, size_t capacity, size_t *count, stead_error *error);

// Opens and verifies an old epoch of a map file, or its newest one. The map is read into memory.
// epoch: This is a number that stead_map_history lists.
// map: The function writes the handle here. Free it with stead_map_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or when the history does not have this
// epoch; STEAD_NOT_FOUND when there is no map; STEAD_FORMAT, STEAD_DIGEST or STEAD_VERSION when
// the epoch is damaged or needs a newer stead; STEAD_PERMISSION, STEAD_MEMORY or STEAD_IO when the
// system refuses.
STEAD_USE_RESULT
int32_t stead_map_open_epoch(const char *path, uint64_t epoch, stead_map **map, stead_error *error);

// Goes back to an old epoch of a map file by publishing a next epoch, since epoch numbers only go
// up. When nothing would change, it writes nothing. `stead rollback` does the same. Restore the
// fleet as well, or a guard refuses it the next time.
// epoch: This is a number that stead_map_history lists.
// back: This text says how: "exact" publishes the slices of the old epoch again, so that every key
// lives where it lived then; "least" builds the fleet of the old epoch on the newest one, which
// moves as little as possible. NULL means "exact" for the epoch just before the newest one. An
// older epoch with NULL is refused, and the message says what both would move. Either way, nodes
// keep the attributes that they have now if data has moved since the old epoch.
// allow: These words lift guards, as in stead_map_apply. "take-back" is never needed here.
// map: The function writes a handle here, of the map that is at `path` afterwards. Free it with
// stead_map_free.
// Returns STEAD_OK; STEAD_NOT_FOUND, STEAD_FORMAT, STEAD_DIGEST, STEAD_VERSION, STEAD_PERMISSION,
// STEAD_MEMORY and STEAD_IO as stead_map_open_epoch does; STEAD_INVALID also for a symbolic link,
// or when it must be said how to go back; STEAD_IDENTITY when the epoch is of another map;
// STEAD_IMPOSSIBLE when no epoch can follow or the old fleet cannot be met; STEAD_CONFLICT,
// STEAD_GUARDED and STEAD_UNCERTAIN as stead_map_publish does.
STEAD_USE_RESULT
int32_t stead_map_rollback(const char *path,
                           uint64_t epoch,
                           const char *back,
                           const char *allow,
                           stead_map **map,
                           stead_error *error);

// Finds the node of a key. When a key has several nodes, this is the primary. While its data is
// carried, this is the new place; stead_pair_reads has those to read from.
// key, length: any bytes, taken as they are. A NUL does not end the key, and no encoding is
// guessed. NULL with length 0 is the empty key.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate(const stead_map *map, const void *key, size_t length, int32_t *node, stead_error *error);

// Returns the node that stead_map_locate finds; -1 when an argument is wrong, or when a bug in
// stead stops the call. Use this from languages in which every argument of a call costs time.
int32_t stead_map_node_of(const stead_map *map, const void *key, size_t length);

// Finds all nodes of a key, primary first.
// nodes, capacity: an array, and how many numbers it has room for. Nodes beyond the capacity are
// not written.
// count: how many nodes the key has, whatever the capacity. A call with nodes NULL and capacity 0
// asks for this number alone.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_all(const stead_map *map,
                             const void *key,
                             size_t length,
                             int32_t *nodes,
                             size_t capacity,
                             size_t *count,
                             stead_error *error);

// Finds the nodes of many keys: for each key the one that stead_map_locate finds, in less time.
// keys, length: the keys end to end, and their length in all.
// offsets: count + 1 numbers. Key i begins at offsets[i] and ends before offsets[i + 1]. The
// offsets must not decrease, and none may exceed length.
// nodes: room for count numbers, which must not overlap the keys or the offsets. On failure
// nothing is written.
// Nothing is allocated, and no thread is started: a program with several threads can give each of
// them a part of the keys.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_many(const stead_map *map,
                              const void *keys,
                              size_t length,
                              const uint64_t *offsets,
                              size_t count,
                              int32_t *nodes,
                              stead_error *error);

// Finds the nodes of many keys, as stead_map_locate_many does, for offsets of 32 bits. A string
// column of Apache Arrow has such offsets; they are int32_t there, and none is negative.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_many_32(const stead_map *map,
                                 const void *keys,
                                 size_t length,
                                 const uint32_t *offsets,
                                 size_t count,
                                 int32_t *nodes,
                                 stead_error *error);

// Finds all nodes of many keys: for each key those that stead_map_locate_all finds, in less time.
// keys, length, offsets, key_count: the keys, as keys, length, offsets and count in
// stead_map_locate_many.
// nodes, capacity: an array, and how many numbers it has room for. The nodes of key i begin at
// nodes[starts[i]] and end before nodes[starts[i + 1]]. Nodes beyond the capacity are not written.
// starts: room for key_count + 1 numbers, which are all written, whatever the capacity.
// count: how many nodes the keys have, whatever the capacity. In a map with R replicas this is R
// for each key, or another number for a key whose slice has a named policy.
// The arrays must not overlap each other, the keys or the offsets.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_all_many(const stead_map *map,
                                  const void *keys,
                                  size_t length,
                                  const uint64_t *offsets,
                                  size_t key_count,
                                  int32_t *nodes,
                                  size_t capacity,
                                  uint64_t *starts,
                                  size_t *count,
                                  stead_error *error);

// Finds up to `capacity` distinct nodes for a key, best first: its own nodes, then those that take
// over when they are down. Every client gets the same list.
// count: the length of the list. It is less than capacity only when the map has fewer nodes, so
// room for stead_map_node_count numbers is always enough. Capacity 0 gives an empty list.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
int32_t stead_map_prefer(const stead_map *map,
                         const void *key,
                         size_t length,
                         int32_t *nodes,
                         size_t capacity,
                         size_t *count,
                         stead_error *error);

// Finds the point of a key: its hash, which decides where it lives.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_point(const stead_map *map, const void *key, size_t length, uint64_t *point, stead_error *error);

// Finds the node of a point. When a point has several nodes, this is the primary.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_point(const stead_map *map, uint64_t point, int32_t *node, stead_error *error);

// Finds all nodes of a point, primary first. nodes, capacity and count are as in
// stead_map_locate_all.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_locate_all_point(const stead_map *map,
                                   uint64_t point,
                                   int32_t *nodes,
                                   size_t capacity,
                                   size_t *count,
                                   stead_error *error);

// Returns the name of the cluster; NULL when map is NULL. The string lives as long as the map.
const char *stead_map_name(const stead_map *map);

// Returns the epoch of the map, which is 1 for the first; 0 when map is NULL.
uint64_t stead_map_epoch(const stead_map *map);

// Copies the SHA-256 digest of the map. Two maps with the same digest are the same map.
// digest: room for STEAD_DIGEST_ROOM bytes.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_digest(const stead_map *map, uint8_t *digest, stead_error *error);

// Returns 1 when the two maps differ in nothing but epoch and parent, so that publishing one over
// the other would change nothing; otherwise 0; -1 when one of them is NULL.
int32_t stead_map_same(const stead_map *map, const stead_map *other);

// Gets the bytes of the map's file, which include the secret of the hash if there is one. They
// live as long as the map.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_bytes(const stead_map *map, const void **bytes, size_t *length, stead_error *error);

// Copies the digest of the map that this one was built on: zeros for a first map.
// digest: room for STEAD_DIGEST_ROOM bytes.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_parent(const stead_map *map, uint8_t *digest, stead_error *error);

// Returns the name of the map's hash, such as "md5"; NULL when map is NULL. The string lives as
// long as the map.
const char *stead_map_hash(const stead_map *map);

// Returns the key rule as a fleet writes it: "whole", or "first 2 segments"; NULL when map is
// NULL. The string lives as long as the map.
const char *stead_map_key_rule(const stead_map *map);

// Returns over how many levels of labels the copies are spread; 0 when map is NULL.
int32_t stead_map_spread_count(const stead_map *map);

// Returns the name of the label of a level of the spread, such as "zone"; NULL when there is no
// such level. Level 0 is the outermost. The string lives as long as the map.
const char *stead_map_spread(const stead_map *map, int32_t level);

// Returns how many nodes hold each point; 0 when map is NULL. A named policy may list more nodes,
// or fewer.
int32_t stead_map_replicas(const stead_map *map);

// Returns how many nodes the map has; 0 when map is NULL. Nodes are numbered from 0, in the order
// of their names.
int32_t stead_map_node_count(const stead_map *map);

// Returns the name of a node; NULL when there is no such node. The string lives as long as the
// map.
const char *stead_map_node_name(const stead_map *map, int32_t node);

// Returns the number of the node with this name; -1 when there is none.
int32_t stead_map_node_named(const stead_map *map, const char *name);

// Gets the weight of a node, in millionths.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_node_weight(const stead_map *map, int32_t node, uint64_t *millionths, stead_error *error);

// Returns 1 when the fleet has dropped the node and a gradual change still has to empty it, 0 when
// not, and -1 when there is no such node.
int32_t stead_map_node_leaving(const stead_map *map, int32_t node);

// Returns an attribute of a node, such as its address; NULL when the node has no attribute of this
// name. The string lives as long as the map.
const char *stead_map_node_attribute(const stead_map *map, int32_t node, const char *attribute);

// Returns a label of a node, such as its zone; NULL when the node has no label of this name. The
// string lives as long as the map.
const char *stead_map_node_label(const stead_map *map, int32_t node, const char *label);

// Returns how many labels a node has; -1 when there is no such node.
int32_t stead_map_node_label_count(const stead_map *map, int32_t node);

// Returns the name of a label of a node; NULL when there is no such node or label. Labels are
// numbered from 0, in the order of their names. stead_map_node_label has the value. The string
// lives as long as the map.
const char *stead_map_node_label_name(const stead_map *map, int32_t node, int32_t label);

// Returns how many attributes a node has; -1 when there is no such node.
int32_t stead_map_node_attribute_count(const stead_map *map, int32_t node);

// Returns the name of an attribute of a node; NULL when there is no such node or attribute.
// Attributes are numbered from 0, in the order of their names. stead_map_node_attribute has the
// value. The string lives as long as the map.
const char *stead_map_node_attribute_name(const stead_map *map, int32_t node, int32_t attribute);

// Returns how many policies the map has; 0 when map is NULL. Policies are numbered from 0.
int32_t stead_map_policy_count(const stead_map *map);

// Returns the name of a policy that the fleet names; NULL for a policy that stead chose, and when
// there is no such policy. The string lives as long as the map.
const char *stead_map_policy_name(const stead_map *map, int32_t policy);

// Returns the kind that the fleet gave to a policy, or "" when it gave none; NULL when there is no
// such policy. The string lives as long as the map.
const char *stead_map_policy_kind(const stead_map *map, int32_t policy);

// Gets the weight of a policy, in millionths: what a named policy takes as if it were a node; 0
// when it takes no share of its own.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_policy_weight(const stead_map *map, int32_t policy, uint64_t *millionths, stead_error *error);

// Finds the nodes of a policy, primary first. nodes, capacity and count are as in
// stead_map_locate_all.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_policy_nodes(const stead_map *map,
                               int32_t policy,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

// Returns how many slices the map has, with its pins applied; 0 when map is NULL.
size_t stead_map_slice_count(const stead_map *map);

// Gets a slice of the map, with its pins applied. Slices are numbered from 0 in the order of
// their points. Together they cover all points.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_map_slice(const stead_map *map, size_t index, stead_slice *slice, stead_error *error);

// Describes a map as JSON, in the form of `stead diff --json` (docs/cli.md): every node with its
// weight and share. Free the text with stead_text_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_VERSION when the map needs a newer
// stead than this one to judge it; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_report(const stead_map *map, char **json, stead_error *error);

// Writes the fleet of a map as TOML: its nodes, policies and pins, with everything that placement
// depends on. Building the text on this map changes nothing, except that a gradual change which is
// under way is completed, and that the map of an adopted ring gets exact shares. A secret is never
// part of the text; a build keeps the hash and the secret of the map. Free the text with
// stead_text_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_map_fleet(const stead_map *map, char **text, stead_error *error);

// Frees a text that a function of this library made. The text must be unchanged. NULL is allowed
// and does nothing.
void stead_text_free(char *text);

// Compares two maps of one cluster. Call it before a change, with a new_map that is built and not
// published yet, or afterwards. Cost: one pass over the slices of both maps.
// plan: where the handle goes; free it with stead_plan_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_IDENTITY when the maps are of two
// clusters, or have other hashes or key rules; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_plan_between(const stead_map *old_map,
                           const stead_map *new_map,
                           stead_plan **plan,
                           stead_error *error);

// Returns how many moves the plan has; 0 when plan is NULL.
size_t stead_plan_count(const stead_plan *plan);

// Gets a move. Moves are numbered from 0 in the order of their first points. Each move is one
// copy of a range of points; together they are all that has to be copied.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_plan_move(const stead_plan *plan, size_t index, stead_move *one, stead_error *error);

// Finds the numbers of the moves that affect a key: none when the key stays where it is. indexes,
// capacity and count are as nodes, capacity and count in stead_map_locate_all.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_plan_affects(const stead_plan *plan,
                           const void *key,
                           size_t length,
                           size_t *indexes,
                           size_t capacity,
                           size_t *count,
                           stead_error *error);

// Finds the numbers of the moves that contain a point, as stead_plan_affects does for a key.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_plan_affects_point(const stead_plan *plan,
                                 uint64_t point,
                                 size_t *indexes,
                                 size_t capacity,
                                 size_t *count,
                                 stead_error *error);

// Finds what moves of many keys: one row for each copy that moves, in the order of the keys, and
// none for a key that stays where it is. Each key is hashed once.
// keys, length, offsets, key_count: the keys, as keys, length, offsets and count in
// stead_map_locate_many.
// rows, capacity: an array, and how many rows it has room for. Rows beyond the capacity are not
// written.
// count: how many rows there are, whatever the capacity. In a map with R replicas a key has up to
// R rows, or more when a named policy lists more nodes.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_plan_affects_many(const stead_plan *plan,
                                const void *keys,
                                size_t length,
                                const uint64_t *offsets,
                                size_t key_count,
                                stead_affected *rows,
                                size_t capacity,
                                size_t *count,
                                stead_error *error);

// Gets how much moves, in points: exact numbers, of which stead_plan_fraction is a rounded part.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_plan_amounts(const stead_plan *plan, stead_amounts *amounts, stead_error *error);

// Returns the part of all copies that rebalancing moves, from 0 to 1; NaN when plan is NULL. All
// copies are those of the map that has more of them, as in `stead plan`.
// A map that stead did not build may give points more copies than replicas; then it can be more.
// stead_plan_report has the exact number of points.
double stead_plan_fraction(const stead_plan *plan);

// Describes a plan as JSON, in the form of `stead diff --json` (docs/cli.md): what moves, the
// least that could move, and the share of every node. Free the text with stead_text_free.
// with_moves: 1 also lists every move; 0 leaves the list out.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_VERSION when a map needs a newer
// stead than this one to judge it; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_plan_report(const stead_plan *plan, int32_t with_moves, char **json, stead_error *error);

// Frees a plan. NULL is allowed and does nothing.
void stead_plan_free(stead_plan *plan);

// Opens a map file, and, while a carry is open, the map where the data was: PATH.history/EPOCH. It
// costs two calls of stead_map_open, so open a pair anew for each request.
// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
// pair: where the handle goes; free it with stead_pair_free.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
// STEAD_VERSION when a file is not a map, is damaged, or needs a newer stead; STEAD_IDENTITY when
// the history has another map under the number of the old one; STEAD_CHANGED; STEAD_NOT_FOUND,
// also when the history lacks the old map; STEAD_PERMISSION or STEAD_IO from the operating system;
// STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_pair_open(const char *path, uint32_t flags, stead_pair **pair, stead_error *error);

// Opens a map file and an epoch of its history, as if a carry from that epoch were open in this
// state. It does not matter whether one is.
// state: STEAD_STATE_OLD to STEAD_STATE_NEW.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
// STEAD_VERSION when a file is not a map, is damaged, or needs a newer stead; STEAD_IDENTITY when
// the history has another map under this number; STEAD_CHANGED; STEAD_NOT_FOUND, also when the
// history lacks the epoch; STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_pair_open_from(const char *path,
                             uint64_t epoch,
                             int32_t state,
                             stead_pair **pair,
                             stead_error *error);

// Makes a pair of two maps, as if a carry from old_map to new_map were open in this state. The
// pair keeps both maps alive: you may free your handles of them first.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_IDENTITY when the maps are of two
// clusters, or have other hashes or key rules; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_pair_between(const stead_map *old_map,
                           const stead_map *new_map,
                           int32_t state,
                           stead_pair **pair,
                           stead_error *error);

// Returns the state, a number of stead_state: STEAD_STATE_NONE when no carry is open, and also
// when pair is NULL.
int32_t stead_pair_state(const stead_pair *pair);

// Finds the nodes to read a key from, in this order. The first node that answers decides, also
// when it answers that there is no such key. Ask the next node only when one does not answer at
// all. A new place is not among them while data is copied to it.
// nodes, capacity, count: as in stead_map_locate_all. The numbers are those of the pair.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_pair_reads(const stead_pair *pair,
                         const void *key,
                         size_t length,
                         int32_t *nodes,
                         size_t capacity,
                         size_t *count,
                         stead_error *error);

// Finds the nodes to write a key to, or to delete it from, in this order. The write is done when
// all of them have it, also those for which `nodes` had no room: while a carry is open, there are
// up to twice as many as the copies of the key. nodes, capacity, count: as in stead_pair_reads.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_pair_writes(const stead_pair *pair,
                          const void *key,
                          size_t length,
                          int32_t *nodes,
                          size_t capacity,
                          size_t *count,
                          stead_error *error);

// Finds the nodes to read the keys of a point from, as stead_pair_reads does for a key.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_pair_reads_point(const stead_pair *pair,
                               uint64_t point,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

// Finds the nodes to write the keys of a point to, as stead_pair_writes does for a key.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_pair_writes_point(const stead_pair *pair,
                                uint64_t point,
                                int32_t *nodes,
                                size_t capacity,
                                size_t *count,
                                stead_error *error);

// Returns 1 when the two maps answer differently for a key, by other nodes or by another order;
// otherwise 0, and also when no carry is open; -1 when an argument is wrong. Where it is 0, every
// state reads and writes the same nodes: a cheap test for most keys.
int32_t stead_pair_moved(const stead_pair *pair, const void *key, size_t length);

// Returns for a point what stead_pair_moved returns for a key; -1 when pair is NULL.
int32_t stead_pair_moved_point(const stead_pair *pair, uint64_t point);

// Returns how many nodes the pair has; 0 when pair is NULL. First come the nodes of the new map,
// under their numbers there, then those that only the old map has. A node that was renamed is one
// node, under its new name.
int32_t stead_pair_node_count(const stead_pair *pair);

// Returns the number of the node with this name; -1 when neither map has it.
int32_t stead_pair_node_named(const stead_pair *pair, const char *name);

// Returns the name of a node; NULL when there is no such node. The string lives as long as the
// pair.
const char *stead_pair_node_name(const stead_pair *pair, int32_t node);

// Returns the value of an attribute of a node; NULL when the node has none of this name, or when
// there is no such node. The string lives as long as the pair.
const char *stead_pair_node_attribute(const stead_pair *pair, int32_t node, const char *name);

// Returns a handle of the new map, to be freed with stead_map_free; NULL when pair is NULL.
STEAD_USE_RESULT
stead_map *stead_pair_new_map(const stead_pair *pair);

// Returns a handle of the map where the data was, to be freed with stead_map_free; NULL when no
// carry is open, and also when pair is NULL.
STEAD_USE_RESULT
stead_map *stead_pair_old_map(const stead_pair *pair);

// Returns another handle of the same pair, to be freed on its own; NULL when pair is NULL. Nothing
// is copied.
STEAD_USE_RESULT
stead_pair *stead_pair_share(const stead_pair *pair);

// Frees a handle. NULL is allowed and does nothing.
void stead_pair_free(stead_pair *pair);

// Computes the point of a key under a hash, without a map.
// hash: This is a number of stead_hash.
// secret: STEAD_SIPHASH needs 16 bytes here. Pass NULL for every other hash.
// key, length: These are the bytes of the key, as in stead_map_locate.
// point: The function writes the point here.
// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
int32_t stead_point(int32_t hash,
                    const void *secret,
                    const void *key,
                    size_t length,
                    uint64_t *point,
                    stead_error *error);

// Makes the path of a key: its directories and its file name, such as "38/37/60/frank".
// docs/paths.md has the rules: a path has no other characters than [a-z0-9_=/], never leaves the
// directory that you put it under, and no two keys have the same one.
// levels: This text says how many directories there are on each level. NULL means "64,64,128".
// fold: This is a number of stead_fold.
// path, capacity: The function writes the path and a NUL to this buffer. STEAD_PATH_ROOM bytes
// always suffice.
// count: The function writes the length of the path here, without the NUL.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or a buffer that is too small; STEAD_NAME.
int32_t stead_path(const void *key,
                   size_t length,
                   const char *levels,
                   int32_t fold,
                   char *path,
                   size_t capacity,
                   size_t *count,
                   stead_error *error);

// Finds the name that has a path: the inverse of stead_path without folding. The last parts of the
// path must be the directories of the name and its file name. What comes before them is ignored,
// so an absolute path is fine.
// path, length: These are the bytes of the path.
// levels: This text says how many directories there are on each level. NULL means "64,64,128".
// name, capacity: The function writes the bytes of the name to this buffer, and no NUL.
// STEAD_NAME_ROOM bytes always suffice.
// count: The function writes the length of the name here.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or when the buffer is too small;
// STEAD_NAME when no name has this path.
int32_t stead_path_name(const void *path,
                        size_t length,
                        const char *levels,
                        char *name,
                        size_t capacity,
                        size_t *count,
                        stead_error *error);

// Measures how evenly eight schemes, MD5 among them, spread a list of names: a report as JSON, in
// the form of `stead survey --json` (docs/cli.md). Free the text with stead_text_free.
// names, length, offsets, count: These are the names end to end, as the keys of
// stead_map_locate_many.
// members: The report also says what the directories of `levels` would hold for this many members.
// 0 leaves that out.
// levels: This text says how many directories there are on each level. NULL means "64,64,128".
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
STEAD_USE_RESULT
int32_t stead_survey(const void *names,
                     size_t length,
                     const uint64_t *offsets,
                     size_t count,
                     uint64_t members,
                     const char *levels,
                     char **json,
                     stead_error *error);

// Turns A-Z in a key into a-z and leaves all other bytes: for sites whose names ignore case. A
// site that folds must fold every key before every lookup.
// folded: The function writes `length` bytes here. This may be the key itself.
// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
int32_t stead_fold_ascii(const void *key, size_t length, void *folded, stead_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STEAD_H */
