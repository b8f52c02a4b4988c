#define FFI_SCOPE "stead"
#define FFI_LIB "libstead.so.1"
typedef enum {
  STEAD_ABI = 1,
} stead_abi_number;

typedef enum {
  STEAD_OK = 0,
  STEAD_INVALID = 1,
  STEAD_FLEET = 2,
  STEAD_IMPOSSIBLE = 3,
  STEAD_FORMAT = 4,
  STEAD_DIGEST = 5,
  STEAD_VERSION = 6,
  STEAD_IDENTITY = 7,
  STEAD_NOT_FOUND = 8,
  STEAD_IO = 9,
  STEAD_CONFLICT = 10,
  STEAD_UNCERTAIN = 11,
  STEAD_CHANGED = 12,
  STEAD_NAME = 13,
  STEAD_INTERNAL = 15,
  STEAD_PERMISSION = 16,
  STEAD_MEMORY = 17,
  STEAD_GUARDED = 18,
} stead_status;

typedef enum {
  STEAD_OPEN_SHARED = 0,
  STEAD_OPEN_COPY = 1,
} stead_open_flags;

typedef enum {
  STEAD_MD5 = 1,
  STEAD_SHA1 = 2,
  STEAD_XXH3 = 3,
  STEAD_SIPHASH = 4,
  STEAD_MD5_LE32 = 5,
  STEAD_MD5_BE32 = 6,
  STEAD_CRC32 = 7,
  STEAD_CRC32_15 = 8,
  STEAD_CRC16_TAG = 9,
  STEAD_FNV1_32 = 10,
  STEAD_FNV1_32_SIGNED = 11,
  STEAD_FNV1A_32 = 12,
  STEAD_FNV1A_32_SIGNED = 13,
  STEAD_FNV1_64 = 14,
  STEAD_FNV1_64_SIGNED = 15,
  STEAD_FNV1A_64 = 16,
  STEAD_FNV1A_64_SIGNED = 17,
  STEAD_ONE_AT_A_TIME = 18,
  STEAD_ONE_AT_A_TIME_SIGNED = 19,
  STEAD_FNV1A_FOLD16 = 20,
  STEAD_RIAK = 21,
  STEAD_RIAK_TYPED = 22,
  STEAD_DJB2 = 23,
  STEAD_DECIMAL = 24,
  STEAD_XXH64 = 25,
} stead_hash;

typedef enum {
  STEAD_FOLD_NONE = 0,
  STEAD_FOLD_ASCII = 1,
} stead_fold;

typedef enum {
  STEAD_CAUSE_PIN = 1,
  STEAD_CAUSE_POLICY = 2,
  STEAD_CAUSE_REBALANCE = 3,
} stead_cause;

typedef enum {
  STEAD_STATE_NONE = 0,
  STEAD_STATE_OLD = 1,
  STEAD_STATE_BOTH_OLD_FIRST = 2,
  STEAD_STATE_BOTH_NEW_FIRST = 3,
  STEAD_STATE_NEW = 4,
} stead_state;

typedef enum {
  STEAD_PATH_ROOM = 320,
  STEAD_NAME_ROOM = 255,
  STEAD_DIGEST_ROOM = 32,
} stead_room;

typedef struct stead_map stead_map;

typedef struct stead_pair stead_pair;

typedef struct stead_plan stead_plan;

typedef struct {
  int32_t status;
  int32_t os_errno;
  char message[248];
} stead_error;

typedef struct {
  uint64_t first;
  uint64_t last;
  int32_t policy;
  int32_t reserved;
} stead_slice;

typedef struct {
  uint64_t first;
  uint64_t last;
  int32_t from;
  int32_t to;
  int32_t cause;
  int32_t reserved;
} stead_move;

typedef struct {
  uint64_t key;
  int32_t from;
  int32_t to;
} stead_affected;

typedef struct {
  uint64_t low;
  uint64_t high;
} stead_points;

typedef struct {
  stead_points moved;
  stead_points lower_bound;
  stead_points by_hand;
  stead_points reordered;
} stead_amounts;

int32_t stead_abi(void);

const char *stead_version(void);

const char *stead_status_name(int32_t status);

uint64_t stead_memory_limit(uint64_t bytes);

int32_t stead_map_open(const char *path, uint32_t flags, stead_map **map, stead_error *error);

int32_t stead_map_from_bytes(const void *bytes, size_t length, stead_map **map, stead_error *error);

int32_t stead_map_build(const void *fleet,
                        size_t length,
                        const char *name,
                        const stead_map *previous,
                        const char *max_move,
                        stead_map **map,
                        stead_error *error);

int32_t stead_map_build_file(const char *path,
                             const stead_map *previous,
                             const char *max_move,
                             stead_map **map,
                             stead_error *error);

int32_t stead_map_open_uncached(const char *path, stead_map **map, stead_error *error);

int32_t stead_map_peek(const char *path, uint64_t *epoch, uint8_t *digest, stead_error *error);

int32_t stead_map_publish(const stead_map *map,
                          const stead_map *previous,
                          const char *path,
                          const char *allow,
                          stead_error *error);

int32_t stead_map_save(const stead_map *map, const char *path, stead_error *error);

stead_map *stead_map_share(const stead_map *map);

void stead_map_free(stead_map *map);

int32_t stead_map_apply(const void *fleet,
                        size_t length,
                        const char *name,
                        const char *path,
                        const char *max_move,
                        const char *allow,
                        stead_map **map,
                        stead_error *error);

int32_t stead_map_apply_file(const char *fleet,
                             const char *path,
                             const char *max_move,
                             const char *allow,
                             stead_map **map,
                             stead_error *error);

int32_t stead_map_history(const char *path, uint64_t *epochs, size_t capacity, size_t *count, stead_error *error);

int32_t stead_map_open_epoch(const char *path, uint64_t epoch, stead_map **map, stead_error *error);

int32_t stead_map_rollback(const char *path,
                           uint64_t epoch,
                           const char *back,
                           const char *allow,
                           stead_map **map,
                           stead_error *error);

int32_t stead_map_locate(const stead_map *map, const void *key, size_t length, int32_t *node, stead_error *error);

int32_t stead_map_node_of(const stead_map *map, const void *key, size_t length);

int32_t stead_map_locate_all(const stead_map *map,
                             const void *key,
                             size_t length,
                             int32_t *nodes,
                             size_t capacity,
                             size_t *count,
                             stead_error *error);

int32_t stead_map_locate_many(const stead_map *map,
                              const void *keys,
                              size_t length,
                              const uint64_t *offsets,
                              size_t count,
                              int32_t *nodes,
                              stead_error *error);

int32_t stead_map_locate_many_32(const stead_map *map,
                                 const void *keys,
                                 size_t length,
                                 const uint32_t *offsets,
                                 size_t count,
                                 int32_t *nodes,
                                 stead_error *error);

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

int32_t stead_map_prefer(const stead_map *map,
                         const void *key,
                         size_t length,
                         int32_t *nodes,
                         size_t capacity,
                         size_t *count,
                         stead_error *error);

int32_t stead_map_point(const stead_map *map, const void *key, size_t length, uint64_t *point, stead_error *error);

int32_t stead_map_locate_point(const stead_map *map, uint64_t point, int32_t *node, stead_error *error);

int32_t stead_map_locate_all_point(const stead_map *map,
                                   uint64_t point,
                                   int32_t *nodes,
                                   size_t capacity,
                                   size_t *count,
                                   stead_error *error);

const char *stead_map_name(const stead_map *map);

uint64_t stead_map_epoch(const stead_map *map);

int32_t stead_map_digest(const stead_map *map, uint8_t *digest, stead_error *error);

int32_t stead_map_same(const stead_map *map, const stead_map *other);

int32_t stead_map_bytes(const stead_map *map, const void **bytes, size_t *length, stead_error *error);

int32_t stead_map_parent(const stead_map *map, uint8_t *digest, stead_error *error);

const char *stead_map_hash(const stead_map *map);

const char *stead_map_key_rule(const stead_map *map);

int32_t stead_map_spread_count(const stead_map *map);

const char *stead_map_spread(const stead_map *map, int32_t level);

int32_t stead_map_replicas(const stead_map *map);

int32_t stead_map_node_count(const stead_map *map);

const char *stead_map_node_name(const stead_map *map, int32_t node);

int32_t stead_map_node_named(const stead_map *map, const char *name);

int32_t stead_map_node_weight(const stead_map *map, int32_t node, uint64_t *millionths, stead_error *error);

int32_t stead_map_node_leaving(const stead_map *map, int32_t node);

const char *stead_map_node_attribute(const stead_map *map, int32_t node, const char *attribute);

const char *stead_map_node_label(const stead_map *map, int32_t node, const char *label);

int32_t stead_map_node_label_count(const stead_map *map, int32_t node);

const char *stead_map_node_label_name(const stead_map *map, int32_t node, int32_t label);

int32_t stead_map_node_attribute_count(const stead_map *map, int32_t node);

const char *stead_map_node_attribute_name(const stead_map *map, int32_t node, int32_t attribute);

int32_t stead_map_policy_count(const stead_map *map);

const char *stead_map_policy_name(const stead_map *map, int32_t policy);

const char *stead_map_policy_kind(const stead_map *map, int32_t policy);

int32_t stead_map_policy_weight(const stead_map *map, int32_t policy, uint64_t *millionths, stead_error *error);

int32_t stead_map_policy_nodes(const stead_map *map,
                               int32_t policy,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

size_t stead_map_slice_count(const stead_map *map);

int32_t stead_map_slice(const stead_map *map, size_t index, stead_slice *slice, stead_error *error);

int32_t stead_map_report(const stead_map *map, char **json, stead_error *error);

int32_t stead_map_fleet(const stead_map *map, char **text, stead_error *error);

void stead_text_free(char *text);

int32_t stead_plan_between(const stead_map *old_map, const stead_map *new_map, stead_plan **plan, stead_error *error);

size_t stead_plan_count(const stead_plan *plan);

int32_t stead_plan_move(const stead_plan *plan, size_t index, stead_move *one, stead_error *error);

int32_t stead_plan_affects(const stead_plan *plan,
                           const void *key,
                           size_t length,
                           size_t *indexes,
                           size_t capacity,
                           size_t *count,
                           stead_error *error);

int32_t stead_plan_affects_point(const stead_plan *plan,
                                 uint64_t point,
                                 size_t *indexes,
                                 size_t capacity,
                                 size_t *count,
                                 stead_error *error);

int32_t stead_plan_affects_many(const stead_plan *plan,
                                const void *keys,
                                size_t length,
                                const uint64_t *offsets,
                                size_t key_count,
                                stead_affected *rows,
                                size_t capacity,
                                size_t *count,
                                stead_error *error);

int32_t stead_plan_amounts(const stead_plan *plan, stead_amounts *amounts, stead_error *error);

double stead_plan_fraction(const stead_plan *plan);

int32_t stead_plan_report(const stead_plan *plan, int32_t with_moves, char **json, stead_error *error);

void stead_plan_free(stead_plan *plan);

int32_t stead_pair_open(const char *path, uint32_t flags, stead_pair **pair, stead_error *error);

int32_t stead_pair_open_from(const char *path, uint64_t epoch, int32_t state, stead_pair **pair, stead_error *error);

int32_t stead_pair_between(const stead_map *old_map,
                           const stead_map *new_map,
                           int32_t state,
                           stead_pair **pair,
                           stead_error *error);

int32_t stead_pair_state(const stead_pair *pair);

int32_t stead_pair_reads(const stead_pair *pair,
                         const void *key,
                         size_t length,
                         int32_t *nodes,
                         size_t capacity,
                         size_t *count,
                         stead_error *error);

int32_t stead_pair_writes(const stead_pair *pair,
                          const void *key,
                          size_t length,
                          int32_t *nodes,
                          size_t capacity,
                          size_t *count,
                          stead_error *error);

int32_t stead_pair_reads_point(const stead_pair *pair,
                               uint64_t point,
                               int32_t *nodes,
                               size_t capacity,
                               size_t *count,
                               stead_error *error);

int32_t stead_pair_writes_point(const stead_pair *pair,
                                uint64_t point,
                                int32_t *nodes,
                                size_t capacity,
                                size_t *count,
                                stead_error *error);

int32_t stead_pair_moved(const stead_pair *pair, const void *key, size_t length);

int32_t stead_pair_moved_point(const stead_pair *pair, uint64_t point);

int32_t stead_pair_node_count(const stead_pair *pair);

int32_t stead_pair_node_named(const stead_pair *pair, const char *name);

const char *stead_pair_node_name(const stead_pair *pair, int32_t node);

const char *stead_pair_node_attribute(const stead_pair *pair, int32_t node, const char *name);

stead_map *stead_pair_new_map(const stead_pair *pair);

stead_map *stead_pair_old_map(const stead_pair *pair);

stead_pair *stead_pair_share(const stead_pair *pair);

void stead_pair_free(stead_pair *pair);

int32_t stead_point(int32_t hash,
                    const void *secret,
                    const void *key,
                    size_t length,
                    uint64_t *point,
                    stead_error *error);

int32_t stead_path(const void *key,
                   size_t length,
                   const char *levels,
                   int32_t fold,
                   char *path,
                   size_t capacity,
                   size_t *count,
                   stead_error *error);

int32_t stead_path_name(const void *path,
                        size_t length,
                        const char *levels,
                        char *name,
                        size_t capacity,
                        size_t *count,
                        stead_error *error);

int32_t stead_survey(const void *names,
                     size_t length,
                     const uint64_t *offsets,
                     size_t count,
                     uint64_t members,
                     const char *levels,
                     char **json,
                     stead_error *error);

int32_t stead_fold_ascii(const void *key, size_t length, void *folded, stead_error *error);
