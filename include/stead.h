// stead: where does this key live?
//
// The same answer, to the byte, in C, Python, PHP, Perl, Rust and the shell; and a safe way to change it. This header is the
// manual of the C library and was made from its sources: change those.
//
//     key --hash--> point --slices--> policy --> nodes
//
// A map is a file that says which nodes (servers, mount points, shards) hold which keys. `stead apply fleet.toml members.map`
// makes one, and so does stead_map_build. A whole program:
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
// CALLS. The object comes first, then what goes in, then what comes out, then the error record. A function that can fail returns
// a number of stead_status, fills the record (which may be NULL), and writes its outputs only when that number is STEAD_OK. A
// function that returns a value of its own says what it returns when its arguments are wrong. Every pointer may be NULL only
// where its function says so; NULL elsewhere is STEAD_INVALID and not a crash. No signal handler is set, no thread is started, no
// environment variable is read, the locale means nothing, and nothing is printed but the text of a fault of stead's own (STEAD_INTERNAL),
// which goes to standard error.
//
// KEYS are bytes with a length: nothing is trimmed, folded or decoded. A newline that slips in moves the key.
//
// NODES are numbers of one map, from 0 in the order of their names, and -1 for none. A number means nothing in another map, and
// another node in another epoch: keep names (stead_map_node_name), or numbers together with their map.
//
// STRINGS of a map are UTF-8, end in NUL, and live as long as its handle. A text that a function makes (JSON) is ended with
// stead_text_free. Paths of files are bytes that end in NUL.
//
// THREADS. A function that takes a const handle may be called from any number of threads at once with the same handle, and
// everything that opens or builds maps from any thread. A handle is ended once, when nobody uses it any more; a thread that
// wants one of its own takes stead_map_share. Each stead_error belongs to one thread at a time.
//
// FORK. A child may use the handles of its parent and open maps, also when the parent had threads. Maps are read only: nothing
// is shared that a child could spoil.
//
// FILES. Maps are published by renaming a new file over the old one, as stead_map_publish, `stead apply`, mv, rsync and install do.
// Open the map again for each request or so: it costs one stat while nothing has changed (16 files for each process), and
// gives the new epoch as soon as it is there. An open map never changes. Do not write over its file in place (cp, rsync
// --inplace): the next open says STEAD_CHANGED, and a map larger than 1 MiB, which is mapped, is lost for those who have it open:
// its answers mean nothing, and if the file got shorter, reading what is gone ends the process with SIGBUS. STEAD_OPEN_COPY
// keeps off both.
//
// TRUST. A map that is damaged, truncated or made by an enemy is an error when it is opened, never a crash. Nobody can be
// protected from pointers that are wrong without being NULL, or from handles that were ended: those are undefined behaviour.
//
// VERSIONS. libstead.so.1 keeps the functions, structures and numbers of this header for ever; later versions add to them. A
// fault of stead's own never unwinds into C: it becomes STEAD_INTERNAL.

#ifndef STEAD_H
#define STEAD_H

#include <stddef.h>
#include <stdint.h>

// The number that a program was built for; see stead_abi.
typedef enum {
  // This header's.
  STEAD_ABI = 1,
} stead_abi_number;

// What a function returns: STEAD_OK, or what went wrong. The numbers never change and are the same
// in every language. 14 was never returned, and is not used again.
typedef enum {
  // Done.
  STEAD_OK = 0,
  // An argument is wrong: NULL, out of range, not of this map.
  STEAD_INVALID = 1,
  // The fleet has a mistake; the message begins with FILE:LINE.
  STEAD_FLEET = 2,
  // The fleet is well written and cannot be met.
  STEAD_IMPOSSIBLE = 3,
  // The file is not a map, or its structure is damaged.
  STEAD_FORMAT = 4,
  // The file is a map whose digest does not fit its bytes.
  STEAD_DIGEST = 5,
  // The map needs a newer stead.
  STEAD_VERSION = 6,
  // The map belongs to another cluster, or has another hash.
  STEAD_IDENTITY = 7,
  // A file is missing.
  STEAD_NOT_FOUND = 8,
  // The operating system refused to read or write.
  STEAD_IO = 9,
  // Somebody else changed the map meanwhile; nothing was changed here.
  STEAD_CONFLICT = 10,
  // The new map is in place, but may not survive a power cut: do not publish again, sync the
  // disk.
  STEAD_UNCERTAIN = 11,
  // A file was overwritten in place while it was open; open maps keep their answers, but for
  // mapped ones (see FILES).
  STEAD_CHANGED = 12,
  // A key has no path: its file name would be too long.
  STEAD_NAME = 13,
  // A fault in stead itself: please report it.
  STEAD_INTERNAL = 15,
} stead_status;

// How stead_map_open opens; add them up.
typedef enum {
  // A file up to 1 MiB is read into memory; a larger one is mapped, and its memory shared with
  // all who have it open.
  STEAD_OPEN_SHARED = 0,
  // Read the file into memory whatever its size, so that nobody who truncates it in place can
  // end this process.
  STEAD_OPEN_COPY = 1,
} stead_open_flags;

// The hashes of keys, for stead_point.
typedef enum {
  // The first 8 bytes of MD5, big-endian: what a map has unless its fleet says otherwise.
  STEAD_MD5 = 1,
  // The first 8 bytes of SHA-1, big-endian.
  STEAD_SHA1 = 2,
  // XXH3, 64 bits, seed 0.
  STEAD_XXH3 = 3,
  // SipHash-2-4 under a secret of 16 bytes.
  STEAD_SIPHASH = 4,
  // The first 4 bytes of MD5, little-endian, 32 bits: ketama. From here on the hashes of adopted
  // rings; docs/placement.md has their rules.
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
  // The same where char is signed, as on x86.
  STEAD_FNV1_32_SIGNED = 11,
  // FNV-1a, 32 bits.
  STEAD_FNV1A_32 = 12,
  // The same where char is signed.
  STEAD_FNV1A_32_SIGNED = 13,
  // The low 32 bits of FNV-1, 64 bits: libmemcached.
  STEAD_FNV1_64 = 14,
  // The same where char is signed.
  STEAD_FNV1_64_SIGNED = 15,
  // The low 32 bits of FNV-1a, 64 bits: libmemcached.
  STEAD_FNV1A_64 = 16,
  // The same where char is signed.
  STEAD_FNV1A_64_SIGNED = 17,
  // Jenkins' one-at-a-time, 32 bits: libmemcached.
  STEAD_ONE_AT_A_TIME = 18,
  // The same where char is signed.
  STEAD_ONE_AT_A_TIME_SIGNED = 19,
  // FNV-1a, 32 bits, its halves xored to 16: carbon.
  STEAD_FNV1A_FOLD16 = 20,
  // The first 8 bytes of the SHA-1 that Riak has for the key BUCKET/KEY.
  STEAD_RIAK = 21,
  // The same for TYPE/BUCKET/KEY.
  STEAD_RIAK_TYPED = 22,
  // Bernstein's hash * 33 + byte, 64 bits.
  STEAD_DJB2 = 23,
  // The digits at the start of the key as a number, 64 bits: sharding by `user_id % n`.
  STEAD_DECIMAL = 24,
  // XXH64, 64 bits, seed 0: Envoy.
  STEAD_XXH64 = 25,
} stead_hash;

// What happens to the letters of a key before anything else, for stead_path.
typedef enum {
  // Nothing.
  STEAD_FOLD_NONE = 0,
  // A-Z become a-z; all other bytes stay.
  STEAD_FOLD_ASCII = 1,
} stead_fold;

// Why a range moves.
typedef enum {
  // A pin of either map covers it.
  STEAD_CAUSE_PIN = 1,
  // A named policy got other nodes by hand.
  STEAD_CAUSE_POLICY = 2,
  // The rest.
  STEAD_CAUSE_REBALANCE = 3,
} stead_cause;

// Room for what has a limit.
typedef enum {
  // Bytes that every path of stead_path fits in, with its NUL.
  STEAD_PATH_ROOM = 320,
  // Bytes of a digest.
  STEAD_DIGEST_ROOM = 32,
} stead_room;

// A map: immutable, verified, safe to ask from any number of threads. Made by stead_map_open and
// its like, ended by stead_map_free.
typedef struct stead_map stead_map;

// What differs between two maps. Made by stead_plan_between, ended by stead_plan_free. It keeps
// both maps by itself.
typedef struct stead_plan stead_plan;

// What went wrong. It is yours: put one on the stack and hand its address to as many calls as you
// like.
typedef struct {
  // A number of stead_status; STEAD_OK after a call that did what it should.
  int32_t status;
  // What the operating system said (errno), or 0.
  int32_t os_errno;
  // One line that says what is wrong, where, and what to do: UTF-8, ends in NUL, cut when it is
  // longer. No secrets.
  char message[248];
} stead_error;

// A run of points, and the policy that holds it.
typedef struct {
  // The first point.
  uint64_t first;
  // The last point; it belongs to the slice.
  uint64_t last;
  // The number of the policy in this map.
  int32_t policy;
  // 0.
  int32_t reserved;
} stead_slice;

// A run of points of which one copy moves.
typedef struct {
  // The first point.
  uint64_t first;
  // The last point; it belongs to the move.
  uint64_t last;
  // The node that loses the copy, by its number in the old map; -1 when a copy is added.
  int32_t from;
  // The node that gets it, by its number in the new map; -1 when a copy is dropped.
  int32_t to;
  // A number of stead_cause.
  int32_t cause;
  // 0.
  int32_t reserved;
} stead_move;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The number of the library's binary interface. A program may run with every library that gives
// the STEAD_ABI it was built for; functions are added to it, and never changed or taken away.
// Bindings that load the library at run time ask this first.
int32_t stead_abi(void);

// The version of the library, such as "0.1.0". It need not be freed.
const char *stead_version(void);

// The name of a status, such as "STEAD_CONFLICT", for logs; NULL for a number that is none. It
// need not be freed.
const char *stead_status_name(int32_t status);

// Opens a map file. Cost: one stat when this process has it open already and it is unchanged;
// otherwise the file is read and all of it verified. A file that was replaced (by renaming another
// over it, as stead does) is opened anew, while maps that are open keep their answers; one that
// was overwritten in place is STEAD_CHANGED.
// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
int32_t stead_map_open(const char *path, uint32_t flags, stead_map **map, stead_error *error);

// The map of the bytes of a map file, wherever they come from. They are copied and verified.
int32_t stead_map_from_bytes(const void *bytes, size_t length, stead_map **map, stead_error *error);

// Builds the map of a fleet: the first one, or the next epoch of `previous`, from which as little
// as is possible moves. Nothing is written. The same fleet and the same previous map give the same
// bytes on every machine.
// fleet, length: the text, TOML or JSON, as docs/fleet.md describes it. name: what messages call
// it ("fleet.toml"), and where a secret_file is looked for; NULL is "fleet".
// previous: NULL for a first map.
// max_move: NULL, or how much may move in this epoch, such as "5%": the map then carries its
// target, and building the same fleet again takes the next step.
int32_t stead_map_build(const void *fleet,
                        size_t length,
                        const char *name,
                        const stead_map *previous,
                        const char *max_move,
                        stead_map **map,
                        stead_error *error);

// As stead_map_build, of a fleet file.
int32_t stead_map_build_file(const char *path,
                             const stead_map *previous,
                             const char *max_move,
                             stead_map **map,
                             stead_error *error);

// Verifies a map file, digest and structure, without the cache: STEAD_OK, or what is wrong with
// it.
int32_t stead_map_verify(const char *path, stead_error *error);

// Epoch and digest (STEAD_DIGEST_ROOM bytes) from the header of a map file, which is not verified:
// a cheap way to ask whether a newer epoch is there. digest may be NULL.
int32_t stead_map_peek(const char *path, uint64_t *epoch, uint8_t *digest, stead_error *error);

// Publishes a map to those who open `path`: whole or not at all, with its history beside it, if
// `previous`, on which it was built, is still there (NULL: if there is no map yet). When this
// returns STEAD_OK, the new epoch survives a power cut. Of two who publish at once one gets
// STEAD_CONFLICT and changes nothing: build again on the map that is there now. A map that was
// built on another than `previous` is STEAD_INVALID. The program `stead apply` does the same.
int32_t stead_map_publish(const stead_map *map, const stead_map *previous, const char *path, stead_error *error);

// Writes a copy of a map to a file, whole or not at all, in place of what is there; it knows no
// history and no conflicts.
int32_t stead_map_save(const stead_map *map, const char *path, stead_error *error);

// Another handle of the same map, to be ended on its own; NULL of NULL. Cost: nothing is copied.
stead_map *stead_map_share(const stead_map *map);

// Ends a handle. Strings and bytes of the map that no other handle holds are gone with it. NULL is
// fine.
void stead_map_free(stead_map *map);

// The node of a key: its primary, when there are several.
// key, length: any bytes, taken as they are: no NUL ends them, no encoding is guessed. NULL with
// length 0 is the empty key.
int32_t stead_map_locate(const stead_map *map, const void *key, size_t length, int32_t *node, stead_error *error);

// The node of a key as stead_map_locate gives it, as the value; -1 when map or key is NULL, and at
// a fault of stead's own. For languages in which a call costs time for each argument.
int32_t stead_map_node_of(const stead_map *map, const void *key, size_t length);

// All nodes of a key, primary first.
// nodes, capacity: where they go; those that there is no room for are not written.
// count: how many there are, so that a call with NULL and 0 asks how much room is needed.
int32_t stead_map_locate_all(const stead_map *map,
                             const void *key,
                             size_t length,
                             int32_t *nodes,
                             size_t capacity,
                             size_t *count,
                             stead_error *error);

// The nodes of many keys: of each the one that stead_map_locate gives.
// keys, length: the keys end to end.
// offsets: count + 1 numbers, of which key i lies from offsets[i] to before offsets[i + 1]; they
// may not fall, and the last may not be above length.
// nodes: count numbers. All or nothing is written.
int32_t stead_map_locate_many(const stead_map *map,
                              const void *keys,
                              size_t length,
                              const uint64_t *offsets,
                              size_t count,
                              int32_t *nodes,
                              stead_error *error);

// Up to `capacity` distinct nodes for a key, best first: its own nodes, then those that take over
// when they are down. All clients get the same list.
// count: how many there are in it: fewer than capacity only when the map has fewer nodes.
int32_t stead_map_prefer(const stead_map *map,
                         const void *key,
                         size_t length,
                         int32_t *nodes,
                         size_t capacity,
                         size_t *count,
                         stead_error *error);

// The point of a key: its hash, by which it is located.
int32_t stead_map_point(const stead_map *map, const void *key, size_t length, uint64_t *point, stead_error *error);

// All nodes of a point, as stead_map_locate_all gives them for a key of this point.
int32_t stead_map_locate_point(const stead_map *map,
                               uint64_t point,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

// The name of the cluster. It lives as long as the map, as all strings of a map do. NULL when map
// is NULL.
const char *stead_map_name(const stead_map *map);

// The number of this version of the map, from 1; 0 when map is NULL.
uint64_t stead_map_epoch(const stead_map *map);

// The SHA-256 of the map, STEAD_DIGEST_ROOM bytes: two maps with one digest are the same.
int32_t stead_map_digest(const stead_map *map, uint8_t *digest, stead_error *error);

// Whether two maps are equal but for epoch and parent, so that publishing the one over the other
// would change nothing: 1 or 0; -1 when one is NULL.
int32_t stead_map_same(const stead_map *map, const stead_map *other);

// The bytes of the map's file. They live as long as the map.
int32_t stead_map_bytes(const stead_map *map, const void **bytes, size_t *length, stead_error *error);

// How many nodes hold each point; 0 when map is NULL. A named policy may list more or fewer.
int32_t stead_map_replicas(const stead_map *map);

// How many nodes the map has; their numbers go from 0 and follow their names. 0 when map is NULL.
int32_t stead_map_node_count(const stead_map *map);

// The name of a node; NULL when there is no such node. It lives as long as the map.
const char *stead_map_node_name(const stead_map *map, int32_t node);

// The number of the node of a name; -1 when there is none.
int32_t stead_map_node_named(const stead_map *map, const char *name);

// The weight of a node, in millionths.
int32_t stead_map_node_weight(const stead_map *map, int32_t node, uint64_t *millionths, stead_error *error);

// An attribute of a node, such as its address; NULL when it has none of this name. It lives as
// long as the map.
const char *stead_map_node_attribute(const stead_map *map, int32_t node, const char *attribute);

// A label of a node, such as its zone; NULL when it has none of this name. It lives as long as the
// map.
const char *stead_map_node_label(const stead_map *map, int32_t node, const char *label);

// How many policies the map has; their numbers go from 0. 0 when map is NULL.
int32_t stead_map_policy_count(const stead_map *map);

// The name of a policy that the fleet names; NULL for one that stead chose, and when there is no
// such policy. It lives as long as the map.
const char *stead_map_policy_name(const stead_map *map, int32_t policy);

// The kind that the fleet gave a policy, "" when it gave none; NULL when there is no such policy.
// It lives as long as the map.
const char *stead_map_policy_kind(const stead_map *map, int32_t policy);

// The nodes of a policy, primary first; nodes, capacity and count are as in stead_map_locate_all.
int32_t stead_map_policy_nodes(const stead_map *map,
                               int32_t policy,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

// How many slices the map has, pins applied. 0 when map is NULL.
size_t stead_map_slice_count(const stead_map *map);

// A slice of the map, pins applied. Slices are numbered from 0, by their points, and cover the
// whole space.
int32_t stead_map_slice(const stead_map *map, size_t index, stead_slice *slice, stead_error *error);

// What is in a map, as JSON, in the shape of `stead diff --json` (docs/cli.md): every node with
// its weight and share. End the text with stead_text_free.
int32_t stead_map_report(const stead_map *map, char **json, stead_error *error);

// Ends a text that a function gave. NULL is fine.
void stead_text_free(char *text);

// What differs between two maps of one cluster: before anything is done (new_map is built and not
// published), or afterwards. Cost: one pass over the slices of both.
int32_t stead_plan_between(const stead_map *old_map, const stead_map *new_map, stead_plan **plan, stead_error *error);

// How many moves there are; 0 when plan is NULL.
size_t stead_plan_count(const stead_plan *plan);

// A move, numbered from 0, by first point. All moves together are what has to be copied, one for
// each copy.
int32_t stead_plan_move(const stead_plan *plan, size_t index, stead_move *one, stead_error *error);

// The numbers of the moves that concern a key, which are none for a key that stays. indexes,
// capacity and count are as in stead_map_locate_all.
int32_t stead_plan_moves_of(const stead_plan *plan,
                            const void *key,
                            size_t length,
                            size_t *indexes,
                            size_t capacity,
                            size_t *count,
                            stead_error *error);

// Which part of all copies rebalancing moves, from 0 to 1; NaN when plan is NULL.
// stead_plan_report has the exact number of points.
double stead_plan_fraction(const stead_plan *plan);

// The plan as JSON, in the shape of `stead diff --json` (docs/cli.md): what moves, the least that
// could, every node's share. with_moves: 1 lists every move, too. End the text with
// stead_text_free.
int32_t stead_plan_report(const stead_plan *plan, int32_t with_moves, char **json, stead_error *error);

// Ends a plan. NULL is fine.
void stead_plan_free(stead_plan *plan);

// The point of a key under a hash, without a map.
// hash: a number of stead_hash. secret: 16 bytes for STEAD_SIPHASH, NULL for the others.
int32_t stead_point(int32_t hash,
                    const void *secret,
                    const void *key,
                    size_t length,
                    uint64_t *point,
                    stead_error *error);

// The directories and the file name of a key, such as "38/37/60/frank", by docs/paths.md: made of
// [a-z0-9_=/], never leaving the directory it is put under, two keys never the same.
// levels: the number of directories on each level, such as "64,64,128"; NULL is that.
// fold: a number of stead_fold.
// path, capacity: where it goes, with a NUL; STEAD_PATH_ROOM always suffices. count: its length
// without the NUL.
int32_t stead_path(const void *key,
                   size_t length,
                   const char *levels,
                   int32_t fold,
                   char *path,
                   size_t capacity,
                   size_t *count,
                   stead_error *error);

// Makes A-Z of a key a-z and leaves all other bytes: for sites whose names ignore case. Fold
// before locating, and then everywhere.
// folded: `length` bytes; it may be the key itself.
int32_t stead_fold_ascii(const void *key, size_t length, void *folded, stead_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STEAD_H */
