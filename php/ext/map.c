/* Stead\Map and Stead\Node. */

#include "php_stead.h"

#include "ext/json/php_json.h"
#include "zend_smart_str.h"

static zend_object_handlers handlers;

static zend_object *create(zend_class_entry *class) {
  stead_map_object *self = zend_object_alloc(sizeof(*self), class);

  self->map = NULL;
  self->names = NULL;
  self->nodes = 0;
  zend_object_std_init(&self->std, class);
  self->std.handlers = &handlers;
  return &self->std;
}

static void destroy(zend_object *object) {
  stead_map_object *self = stead_map_of(object);

  if (self->names != NULL) {
    for (int32_t i = 0; i < self->nodes; i++) {
      if (self->names[i] != NULL) {
        zend_string_release(self->names[i]);
      }
    }
    efree(self->names);
  }
  if (self->map != NULL) {
    stead.stead_map_free(self->map);
  }
  zend_object_std_dtor(object);
}

/* Calls __clone, which throws. The copy has no map, and nobody gets it. */
static zend_object *copy(zend_object *object) {
  zend_object *made = create(object->ce);

  zend_objects_clone_members(made, object);
  return made;
}

void stead_map_startup(void) {
  memcpy(&handlers, &std_object_handlers, sizeof(handlers));
  handlers.offset = XtOffsetOf(stead_map_object, std);
  handlers.free_obj = destroy;
  handlers.clone_obj = copy;
  stead_ce_map->create_object = create;
}

/* Only an object that unserialize() was about to make, or that a copy was to
 * be, has no map. */
static void no_map(void) {
  zend_throw_error(NULL,
                   "Stead\\Map must not be accessed before initialization");
}

#define THIS_MAP                                                               \
  stead_map_object *self = stead_map_of(Z_OBJ_P(ZEND_THIS));                   \
  if (UNEXPECTED(self->map == NULL)) {                                         \
    no_map();                                                                  \
    RETURN_THROWS();                                                           \
  }

/* Returns the map of an argument; throws when it has none. */
static stead_map *given(zend_object *object, bool *good) {
  if (object == NULL) {
    return NULL;
  }
  stead_map *map = stead_map_of(object)->map;
  if (map == NULL) {
    no_map();
    *good = false;
  }
  return map;
}

static void returned(zval *return_value, int32_t status, stead_map *map,
                     const stead_error *error) {
  if (status == STEAD_OK) {
    object_init_ex(return_value, stead_ce_map);
    stead_map_of(Z_OBJ_P(return_value))->map = map;
  } else {
    stead_fail(error);
  }
}

ZEND_METHOD(Stead_Map, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Stead_Map, open) {
  zend_string *path;
  bool copy = false;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "bool");
  ZEND_PARSE_PARAMETERS_START(1, 2)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(copy)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_map_open(
      ZSTR_VAL(path), copy ? STEAD_OPEN_COPY : STEAD_OPEN_SHARED, &map, &error);
  returned(return_value, status, map, &error);
}

ZEND_METHOD(Stead_Map, openUncached) {
  zend_string *path;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(path)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_map_open_uncached(ZSTR_VAL(path), &map, &error);
  returned(return_value, status, map, &error);
}

/* Calls one of the two functions that take a path and an epoch. */
static void of_epoch(INTERNAL_FUNCTION_PARAMETERS,
                     __typeof__(stead_map_open_epoch) *made) {
  zend_string *path;
  zend_long epoch;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(path)
  Z_PARAM_LONG(epoch)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  int32_t status = made(ZSTR_VAL(path), (uint64_t)epoch, &map, &error);
  returned(return_value, status, map, &error);
}

ZEND_METHOD(Stead_Map, openEpoch) {
  of_epoch(INTERNAL_FUNCTION_PARAM_PASSTHRU, stead.stead_map_open_epoch);
}

ZEND_METHOD(Stead_Map, rollback) {
  of_epoch(INTERNAL_FUNCTION_PARAM_PASSTHRU, stead.stead_map_rollback);
}

ZEND_METHOD(Stead_Map, history) {
  zend_string *path;
  uint64_t few[64], *epochs = few;
  size_t room = sizeof(few) / sizeof(*few), count;
  int32_t status;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(path)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  while ((status = stead.stead_map_history(ZSTR_VAL(path), epochs, room, &count,
                                           &error)) == STEAD_OK &&
         count > room) {
    room = count;
    epochs =
        safe_erealloc(epochs == few ? NULL : epochs, room, sizeof(*epochs), 0);
  }
  if (status == STEAD_OK) {
    array_init_size(return_value, count);
    for (size_t i = 0; i < count; i++) {
      add_next_index_long(return_value, (zend_long)epochs[i]);
    }
  } else {
    stead_fail(&error);
  }
  if (epochs != few) {
    efree(epochs);
  }
}

ZEND_METHOD(Stead_Map, fromBytes) {
  zend_string *bytes;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(bytes)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_map_from_bytes(ZSTR_VAL(bytes), ZSTR_LEN(bytes),
                                              &map, &error);
  returned(return_value, status, map, &error);
}

/* Whether a text has a character that every fleet has, and hardly any path. */
static bool looks_like_a_fleet(const zend_string *text) {
  for (size_t i = 0; i < ZSTR_LEN(text); i++) {
    if (ZSTR_VAL(text)[i] == '\n' || ZSTR_VAL(text)[i] == '{' ||
        ZSTR_VAL(text)[i] == '=') {
      return true;
    }
  }
  return false;
}

/* Throws what is wrong with a fleet. The message names the place in the array,
 * or what to call for a file. */
static void fail_fleet(const stead_error *error, const stead_fleet_text *array,
                       const zend_string *text, const char *name,
                       const char *instead) {
  if (array != NULL) {
    zend_string *message = stead_fleet_placed(array, error->message, name);
    stead_throw_str(error->status, error->os_errno, message);
    zend_string_release(message);
  } else if (error->status == STEAD_FLEET && !looks_like_a_fleet(text)) {
    stead_throw(error->status, error->os_errno,
                "%s; this string is read as a fleet's text: Map::%s reads a "
                "file",
                error->message, instead);
  } else {
    stead_fail(error);
  }
}

ZEND_METHOD(Stead_Map, build) {
  zend_string *text = NULL, *max_move = NULL, *name = NULL;
  HashTable *array = NULL;
  zend_object *previous = NULL;
  stead_fleet_text written = {0};
  stead_map *map;
  stead_error error;
  bool good = true;

  STEAD_NOT_NULL(1, "array|string");
  ZEND_PARSE_PARAMETERS_START(1, 4)
  Z_PARAM_ARRAY_HT_OR_STR(array, text)
  Z_PARAM_OPTIONAL
  Z_PARAM_OBJ_OF_CLASS_OR_NULL(previous, stead_ce_map)
  Z_PARAM_STR_OR_NULL(max_move)
  Z_PARAM_STR_OR_NULL(name)
  ZEND_PARSE_PARAMETERS_END();
  stead_map *before = given(previous, &good);
  if (!good || !stead_loaded()) {
    RETURN_THROWS();
  }
  if ((array == NULL || stead_fleet_write(&written, array)) &&
      (name == NULL || stead_ends(name, "the fleet's name")) &&
      (max_move == NULL || stead_ends(max_move, "maxMove"))) {
    const zend_string *fleet = array != NULL ? written.text : text;
    const char *named = name == NULL ? "fleet" : ZSTR_VAL(name);
    if (stead.stead_map_build(ZSTR_VAL(fleet), ZSTR_LEN(fleet), named, before,
                              max_move == NULL ? NULL : ZSTR_VAL(max_move),
                              &map, &error) == STEAD_OK) {
      returned(return_value, STEAD_OK, map, &error);
    } else {
      fail_fleet(&error, array != NULL ? &written : NULL, text, named,
                 "buildFile");
    }
  }
  stead_fleet_free(&written);
}

ZEND_METHOD(Stead_Map, buildFile) {
  zend_string *path, *max_move = NULL;
  zend_object *previous = NULL;
  stead_map *map;
  stead_error error;
  bool good = true;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 3)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_OBJ_OF_CLASS_OR_NULL(previous, stead_ce_map)
  Z_PARAM_STR_OR_NULL(max_move)
  ZEND_PARSE_PARAMETERS_END();
  stead_map *before = given(previous, &good);
  if (!good || !stead_loaded() ||
      (max_move != NULL && !stead_ends(max_move, "maxMove")) ||
      !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_map_build_file(
      ZSTR_VAL(path), before, max_move == NULL ? NULL : ZSTR_VAL(max_move),
      &map, &error);
  returned(return_value, status, map, &error);
}

ZEND_METHOD(Stead_Map, apply) {
  zend_string *text = NULL, *path, *max_move = NULL, *name = NULL;
  HashTable *array = NULL;
  stead_fleet_text written = {0};
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "array|string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 4)
  Z_PARAM_ARRAY_HT_OR_STR(array, text)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(max_move)
  Z_PARAM_STR_OR_NULL(name)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  if ((array == NULL || stead_fleet_write(&written, array)) &&
      (name == NULL || stead_ends(name, "the fleet's name")) &&
      (max_move == NULL || stead_ends(max_move, "maxMove")) &&
      stead_ends(path, "the path")) {
    const zend_string *fleet = array != NULL ? written.text : text;
    const char *named = name == NULL ? "fleet" : ZSTR_VAL(name);
    if (stead.stead_map_apply(ZSTR_VAL(fleet), ZSTR_LEN(fleet), named,
                              ZSTR_VAL(path),
                              max_move == NULL ? NULL : ZSTR_VAL(max_move),
                              &map, &error) == STEAD_OK) {
      returned(return_value, STEAD_OK, map, &error);
    } else {
      fail_fleet(&error, array != NULL ? &written : NULL, text, named,
                 "applyFile");
    }
  }
  stead_fleet_free(&written);
}

ZEND_METHOD(Stead_Map, applyFile) {
  zend_string *fleet, *path, *max_move = NULL;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 3)
  Z_PARAM_STR(fleet)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(max_move)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() ||
      (max_move != NULL && !stead_ends(max_move, "maxMove")) ||
      !stead_ends(fleet, "the fleet's path") || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_map_apply_file(
      ZSTR_VAL(fleet), ZSTR_VAL(path),
      max_move == NULL ? NULL : ZSTR_VAL(max_move), &map, &error);
  returned(return_value, status, map, &error);
}

ZEND_METHOD(Stead_Map, peek) {
  zend_string *path;
  uint64_t epoch;
  uint8_t digest[STEAD_DIGEST_ROOM];
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(path)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  if (stead.stead_map_peek(ZSTR_VAL(path), &epoch, digest, &error) !=
      STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  array_init_size(return_value, 2);
  add_next_index_long(return_value, (zend_long)epoch);
  add_next_index_stringl(return_value, (char *)digest, sizeof(digest));
}

/* Makes the string of a name, and keeps it. */
static zend_never_inline zend_string *new_name(stead_map_object *self,
                                               int32_t node) {
  if (self->map == NULL) {
    no_map();
    return NULL;
  }
  const char *name = stead.stead_map_node_name(self->map, node);
  if (name == NULL) {
    stead_throw(STEAD_INTERNAL, 0,
                "libstead answered with node %d, which the map does not have: "
                "a fault in stead, please report it",
                node);
    return NULL;
  }
  if (self->names == NULL) {
    self->nodes = stead.stead_map_node_count(self->map);
    self->names = ecalloc(self->nodes, sizeof(*self->names));
  }
  return self->names[node] = zend_string_init(name, strlen(name), 0);
}

zend_string *stead_name_of(stead_map_object *self, int32_t node) {
  if (EXPECTED(node >= 0 && node < self->nodes && self->names[node] != NULL)) {
    return self->names[node];
  }
  return new_name(self, node);
}

ZEND_METHOD(Stead_Map, locate) {
  zend_string *key;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  /* Without a map, and after a fault in libstead, the answer is -1, which is no
   * node's number: then stead_name_of throws. */
  stead_map_object *self = stead_map_of(Z_OBJ_P(ZEND_THIS));
  zend_string *name = stead_name_of(
      self, stead.stead_map_node_of(self->map, ZSTR_VAL(key), ZSTR_LEN(key)));
  if (UNEXPECTED(name == NULL)) {
    RETURN_THROWS();
  }
  RETURN_STR_COPY(name);
}

/* A list of numbers of nodes, which grows when a call says that there are more.
 */
typedef struct {
  int32_t few[32];
  int32_t *nodes;
  size_t room;
  size_t count;
} node_list;

static void start(node_list *list) {
  list->nodes = list->few;
  list->room = sizeof(list->few) / sizeof(*list->few);
  list->count = 0;
}

/* Returns whether the list was too short, and has become long enough. */
static bool grown(node_list *list) {
  if (list->count <= list->room) {
    return false;
  }
  if (list->nodes != list->few) {
    efree(list->nodes);
  }
  list->nodes = safe_emalloc(list->count, sizeof(*list->nodes), 0);
  list->room = list->count;
  return true;
}

static void free_list(node_list *list) {
  if (list->nodes != list->few) {
    efree(list->nodes);
  }
}

/* Returns the names of a list of nodes, and frees the list. */
static void names_of(zval *return_value, stead_map_object *self,
                     node_list *list) {
  array_init_size(return_value, list->count);
  for (size_t i = 0; i < list->count; i++) {
    zend_string *name = stead_name_of(self, list->nodes[i]);
    if (name == NULL) {
      break;
    }
    add_next_index_str(return_value, zend_string_copy(name));
  }
  free_list(list);
}

/* Throws when the status says so; otherwise returns the names. */
static void names_or_failure(zval *return_value, stead_map_object *self,
                             node_list *list, int32_t status,
                             const stead_error *error) {
  if (status == STEAD_OK) {
    names_of(return_value, self, list);
  } else {
    free_list(list);
    stead_fail(error);
  }
}

ZEND_METHOD(Stead_Map, locateAll) {
  zend_string *key;
  node_list list;
  stead_error error;
  int32_t status;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  start(&list);
  do {
    status =
        stead.stead_map_locate_all(self->map, ZSTR_VAL(key), ZSTR_LEN(key),
                                   list.nodes, list.room, &list.count, &error);
  } while (status == STEAD_OK && grown(&list));
  names_or_failure(return_value, self, &list, status, &error);
}

ZEND_METHOD(Stead_Map, locatePoint) {
  zend_long point;
  int32_t node;
  stead_error error;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  if (stead.stead_map_locate_point(self->map, (uint64_t)point, &node, &error) !=
      STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  zend_string *name = stead_name_of(self, node);
  if (name == NULL) {
    RETURN_THROWS();
  }
  RETURN_STR_COPY(name);
}

ZEND_METHOD(Stead_Map, locateAllPoint) {
  zend_long point;
  node_list list;
  stead_error error;
  int32_t status;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  start(&list);
  do {
    status = stead.stead_map_locate_all_point(
        self->map, (uint64_t)point, list.nodes, list.room, &list.count, &error);
  } while (status == STEAD_OK && grown(&list));
  names_or_failure(return_value, self, &list, status, &error);
}

void stead_batch_start(stead_batch *batch, size_t room) {
  *batch = (stead_batch){.room = room};
  batch->offsets = safe_emalloc(room + 1, sizeof(*batch->offsets), 0);
  batch->places = safe_emalloc(room, sizeof(*batch->places), 0);
  batch->offsets[0] = 0;
}

void stead_batch_add(stead_batch *batch, const zend_string *key,
                     zend_ulong index, zend_string *name) {
  if (batch->length + ZSTR_LEN(key) > batch->space) {
    batch->space = 2 * (batch->length + ZSTR_LEN(key)) + 1024;
    batch->bytes = erealloc(batch->bytes, batch->space);
  }
  memcpy(batch->bytes + batch->length, ZSTR_VAL(key), ZSTR_LEN(key));
  batch->length += ZSTR_LEN(key);
  if (name != NULL) {
    ZVAL_STR(&batch->places[batch->count], name);
  } else {
    ZVAL_LONG(&batch->places[batch->count], (zend_long)index);
  }
  batch->offsets[++batch->count] = batch->length;
}

void stead_batch_clear(stead_batch *batch) { batch->count = batch->length = 0; }

void stead_batch_free(stead_batch *batch) {
  efree(batch->offsets);
  efree(batch->places);
  if (batch->bytes != NULL) {
    efree(batch->bytes);
  }
}

void stead_wrong_key(const char *what, const char *array, const zval *key,
                     zend_ulong index, const zend_string *name) {
  zend_string *place = name != NULL ? zend_string_copy((zend_string *)name)
                                    : zend_long_to_str((zend_long)index);

  zend_type_error("a %s is a string, not $%s[%s], which is %s", what, array,
                  ZSTR_VAL(place), stead_type_of(key));
  zend_string_release(place);
}

/* Puts the names of the nodes of a batch into the result; returns whether that
 * worked. */
static bool locate_batch(stead_map_object *self, stead_batch *batch,
                         int32_t *nodes, HashTable *found) {
  stead_error error;

  if (stead.stead_map_locate_many(self->map, batch->bytes, batch->length,
                                  batch->offsets, batch->count, nodes,
                                  &error) != STEAD_OK) {
    stead_fail(&error);
    return false;
  }
  for (size_t i = 0; i < batch->count; i++) {
    zend_string *name = stead_name_of(self, nodes[i]);
    zval value;
    if (name == NULL) {
      return false;
    }
    ZVAL_STR_COPY(&value, name);
    if (Z_TYPE(batch->places[i]) == IS_LONG) {
      zend_hash_index_update(found, Z_LVAL(batch->places[i]), &value);
    } else {
      zend_hash_update(found, Z_STR(batch->places[i]), &value);
    }
  }
  stead_batch_clear(batch);
  return true;
}

ZEND_METHOD(Stead_Map, locateMany) {
  HashTable *keys;
  zval *key;
  zend_ulong index;
  zend_string *name;
  stead_batch batch;
  bool good = true;

  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_ARRAY_HT(keys)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  size_t room = MIN(zend_hash_num_elements(keys), STEAD_BATCH);
  int32_t *nodes = safe_emalloc(room, sizeof(*nodes), 0);
  stead_batch_start(&batch, room);
  /* A copy of the keys, whose values are then replaced: so null stays null, and
   * the order stays. */
  RETVAL_ARR(zend_array_dup(keys));
  ZEND_HASH_FOREACH_KEY_VAL(keys, index, name, key) {
    ZVAL_DEREF(key);
    if (EXPECTED(Z_TYPE_P(key) == IS_STRING)) {
      stead_batch_add(&batch, Z_STR_P(key), index, name);
      if (batch.count == room &&
          !(good =
                locate_batch(self, &batch, nodes, Z_ARRVAL_P(return_value)))) {
        break;
      }
    } else if (Z_TYPE_P(key) != IS_NULL) {
      stead_wrong_key("key", "keys", key, index, name);
      good = false;
      break;
    }
  }
  ZEND_HASH_FOREACH_END();
  if (good && batch.count > 0) {
    locate_batch(self, &batch, nodes, Z_ARRVAL_P(return_value));
  }
  stead_batch_free(&batch);
  efree(nodes);
}

ZEND_METHOD(Stead_Map, prefer) {
  zend_string *key;
  zend_long n;
  node_list list;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(key)
  Z_PARAM_LONG(n)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  if (n < 0) {
    stead_throw(STEAD_INVALID, 0,
                "n is " ZEND_LONG_FMT ", and a number of nodes is at least 0",
                n);
    RETURN_THROWS();
  }
  start(&list);
  list.count = MIN(n, stead.stead_map_node_count(self->map));
  size_t wanted = list.count;
  grown(&list);
  int32_t status =
      stead.stead_map_prefer(self->map, ZSTR_VAL(key), ZSTR_LEN(key),
                             list.nodes, wanted, &list.count, &error);
  names_or_failure(return_value, self, &list, status, &error);
}

ZEND_METHOD(Stead_Map, point) {
  zend_string *key;
  uint64_t point;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  if (stead.stead_map_point(self->map, ZSTR_VAL(key), ZSTR_LEN(key), &point,
                            &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  RETURN_LONG((zend_long)point);
}

ZEND_METHOD(Stead_Map, name) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  RETURN_STRING(stead.stead_map_name(self->map));
}

ZEND_METHOD(Stead_Map, epoch) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  RETURN_LONG((zend_long)stead.stead_map_epoch(self->map));
}

/* Returns the digest that one of two calls copies. */
static void digest_of(zval *return_value, const stead_map *map,
                      __typeof__(stead_map_digest) *copied) {
  uint8_t digest[STEAD_DIGEST_ROOM];
  stead_error error;

  if (copied(map, digest, &error) == STEAD_OK) {
    RETVAL_STRINGL((char *)digest, sizeof(digest));
  } else {
    stead_fail(&error);
  }
}

ZEND_METHOD(Stead_Map, digest) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  digest_of(return_value, self->map, stead.stead_map_digest);
}

ZEND_METHOD(Stead_Map, parent) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  digest_of(return_value, self->map, stead.stead_map_parent);
}

ZEND_METHOD(Stead_Map, replicas) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  RETURN_LONG(stead.stead_map_replicas(self->map));
}

ZEND_METHOD(Stead_Map, hash) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  RETURN_STRING(stead.stead_map_hash(self->map));
}

ZEND_METHOD(Stead_Map, keyRule) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  RETURN_STRING(stead.stead_map_key_rule(self->map));
}

ZEND_METHOD(Stead_Map, spread) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  int32_t count = stead.stead_map_spread_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    add_next_index_string(return_value, stead.stead_map_spread(self->map, i));
  }
}

/* Returns a weight as an exact decimal. */
static zend_string *decimal(uint64_t millionths) {
  zend_string *text = strpprintf(0, "%" PRIu64 ".%06" PRIu64,
                                 millionths / 1000000, millionths % 1000000);

  while (ZSTR_VAL(text)[ZSTR_LEN(text) - 1] == '0') {
    ZSTR_LEN(text)--;
  }
  if (ZSTR_VAL(text)[ZSTR_LEN(text) - 1] == '.') {
    ZSTR_LEN(text)--;
  }
  ZSTR_VAL(text)[ZSTR_LEN(text)] = '\0';
  return text;
}

/* The properties of Node, in the order of stead.stub.php. */
enum { NODE_NAME, NODE_WEIGHT, NODE_MAP };

/* Makes a Node; returns whether that worked. */
static bool node_of(zval *made, zval *map, int32_t node) {
  stead_map_object *self = stead_map_of(Z_OBJ_P(map));
  uint64_t millionths;
  stead_error error;
  zend_string *name = stead_name_of(self, node);

  if (name == NULL) {
    return false;
  }
  if (stead.stead_map_node_weight(self->map, node, &millionths, &error) !=
      STEAD_OK) {
    stead_fail(&error);
    return false;
  }
  object_init_ex(made, stead_ce_node);
  ZVAL_STR_COPY(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_NAME), name);
  ZVAL_STR(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_WEIGHT), decimal(millionths));
  ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_MAP), map);
  return true;
}

ZEND_METHOD(Stead_Map, nodes) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  int32_t count = stead.stead_map_node_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    zval node;
    if (!node_of(&node, ZEND_THIS, i)) {
      RETURN_THROWS();
    }
    add_next_index_zval(return_value, &node);
  }
}

static int32_t number_of(const stead_map_object *self,
                         const zend_string *name) {
  return strlen(ZSTR_VAL(name)) == ZSTR_LEN(name)
             ? stead.stead_map_node_named(self->map, ZSTR_VAL(name))
             : -1;
}

ZEND_METHOD(Stead_Map, node) {
  zend_string *name;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(name)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  int32_t node = number_of(self, name);
  if (node < 0) {
    RETURN_NULL();
  }
  node_of(return_value, ZEND_THIS, node);
}

/* Returns an attribute or a label of a node, which one of two calls finds. */
static void text_of(zval *return_value, stead_map_object *self,
                    zend_string *node, zend_string *name, const char *what,
                    __typeof__(stead_map_node_label) *found) {
  int32_t number = number_of(self, node);

  if (number < 0) {
    stead_throw(STEAD_INVALID, 0,
                "this map has no node \"%s\"; nodes() lists those that it has",
                ZSTR_VAL(node));
  } else if (stead_ends(name, what)) {
    const char *text = found(self->map, number, ZSTR_VAL(name));
    if (text != NULL) {
      RETVAL_STRING(text);
    }
  }
}

#define LABELS                                                                 \
  stead.stead_map_node_label, stead.stead_map_node_label_count,                \
      stead.stead_map_node_label_name
#define ATTRIBUTES                                                             \
  stead.stead_map_node_attribute, stead.stead_map_node_attribute_count,        \
      stead.stead_map_node_attribute_name

ZEND_METHOD(Stead_Map, attribute) {
  zend_string *node, *attribute;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(node)
  Z_PARAM_STR(attribute)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  text_of(return_value, self, node, attribute, "the attribute's name",
          stead.stead_map_node_attribute);
}

ZEND_METHOD(Stead_Map, label) {
  zend_string *node, *label;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(node)
  Z_PARAM_STR(label)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  text_of(return_value, self, node, label, "the label's name",
          stead.stead_map_node_label);
}

/* Returns the nodes of a policy. */
static void policy_nodes(zval *return_value, stead_map_object *self,
                         int32_t policy) {
  node_list list;
  stead_error error;
  int32_t status;

  start(&list);
  do {
    status = stead.stead_map_policy_nodes(self->map, policy, list.nodes,
                                          list.room, &list.count, &error);
  } while (status == STEAD_OK && grown(&list));
  names_or_failure(return_value, self, &list, status, &error);
}

static void text_or_null(zval *value, const char *text) {
  if (text == NULL) {
    ZVAL_NULL(value);
  } else {
    ZVAL_STRING(value, text);
  }
}

/* The properties of Policy and of Slice, in the order of stead.stub.php. */
enum { POLICY_NAME, POLICY_KIND, POLICY_WEIGHT, POLICY_NODES };
enum { SLICE_FIRST, SLICE_LAST, SLICE_NODES, SLICE_POLICY };

ZEND_METHOD(Stead_Map, policies) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  int32_t count = stead.stead_map_policy_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    zval policy, nodes;
    uint64_t weight;
    stead_error error;
    ZVAL_UNDEF(&nodes);
    policy_nodes(&nodes, self, i);
    if (EG(exception) || stead.stead_map_policy_weight(self->map, i, &weight,
                                                       &error) != STEAD_OK) {
      zval_ptr_dtor(&nodes);
      if (!EG(exception)) {
        stead_fail(&error);
      }
      RETURN_THROWS();
    }
    object_init_ex(&policy, stead_ce_policy);
    text_or_null(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_NAME),
                 stead.stead_map_policy_name(self->map, i));
    text_or_null(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_KIND),
                 stead.stead_map_policy_kind(self->map, i));
    if (weight == 0) {
      ZVAL_NULL(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_WEIGHT));
    } else {
      ZVAL_STR(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_WEIGHT), decimal(weight));
    }
    ZVAL_COPY_VALUE(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_NODES), &nodes);
    add_next_index_zval(return_value, &policy);
  }
}

ZEND_METHOD(Stead_Map, slices) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  /* The nodes and the name of each policy are made once, since many slices
   * share a policy. */
  int32_t policies = stead.stead_map_policy_count(self->map);
  zval *lists = safe_emalloc(2 * policies, sizeof(*lists), 0);
  for (int32_t i = 0; i < 2 * policies; i++) {
    ZVAL_UNDEF(&lists[i]);
  }
  size_t count = stead.stead_map_slice_count(self->map);
  array_init_size(return_value, count);
  for (size_t i = 0; i < count; i++) {
    stead_slice slice;
    stead_error error;
    zval made;
    if (stead.stead_map_slice(self->map, i, &slice, &error) != STEAD_OK) {
      stead_fail(&error);
      break;
    }
    zval *nodes = &lists[2 * slice.policy], *name = nodes + 1;
    if (Z_ISUNDEF_P(nodes)) {
      policy_nodes(nodes, self, slice.policy);
      text_or_null(name, stead.stead_map_policy_name(self->map, slice.policy));
      if (EG(exception)) {
        break;
      }
    }
    object_init_ex(&made, stead_ce_slice);
    ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ(made), SLICE_FIRST), (zend_long)slice.first);
    ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ(made), SLICE_LAST), (zend_long)slice.last);
    ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ(made), SLICE_NODES), nodes);
    ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ(made), SLICE_POLICY), name);
    add_next_index_zval(return_value, &made);
  }
  for (int32_t i = 0; i < 2 * policies; i++) {
    zval_ptr_dtor(&lists[i]);
  }
  efree(lists);
}

ZEND_METHOD(Stead_Map, publish) {
  zend_string *path;
  zend_object *previous = NULL;
  stead_error error;
  bool good = true;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 2)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_OBJ_OF_CLASS_OR_NULL(previous, stead_ce_map)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  stead_map *before = given(previous, &good);
  if (!good || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  if (stead.stead_map_publish(self->map, before, ZSTR_VAL(path), &error) !=
      STEAD_OK) {
    stead_fail(&error);
  }
}

ZEND_METHOD(Stead_Map, save) {
  zend_string *path;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(path)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  if (stead_ends(path, "the path") &&
      stead.stead_map_save(self->map, ZSTR_VAL(path), &error) != STEAD_OK) {
    stead_fail(&error);
  }
}

ZEND_METHOD(Stead_Map, toBytes) {
  const void *bytes;
  size_t length;
  stead_error error;

  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  if (stead.stead_map_bytes(self->map, &bytes, &length, &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  RETURN_STRINGL(bytes, length);
}

ZEND_METHOD(Stead_Map, fleet) {
  char *text;
  stead_error error;

  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  if (stead.stead_map_fleet(self->map, &text, &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  RETVAL_STRING(text);
  stead.stead_text_free(text);
}

ZEND_METHOD(Stead_Map, same) {
  zend_object *other;
  bool good = true;

  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_OBJ_OF_CLASS(other, stead_ce_map)
  ZEND_PARSE_PARAMETERS_END();
  THIS_MAP
  stead_map *map = given(other, &good);
  if (good) {
    RETURN_BOOL(stead.stead_map_same(self->map, map) == 1);
  }
}

ZEND_METHOD(Stead_Map, report) {
  char *json;
  stead_error error;

  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  if (stead.stead_map_report(self->map, &json, &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  stead_decode(return_value, json);
}

ZEND_METHOD(Stead_Map, jsonSerialize) {
  zim_Stead_Map_report(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

ZEND_METHOD(Stead_Map, __clone) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a map never changes, so it has no copies: use the same object");
}

ZEND_METHOD(Stead_Map, __serialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a map is memory of this process: keep its toBytes(), and make "
              "it again with Map::fromBytes");
}

ZEND_METHOD(Stead_Map, __unserialize) {
  stead_throw(
      STEAD_INVALID, 0,
      "a map cannot be unserialized: Map::fromBytes makes it of its bytes");
}

ZEND_METHOD(Stead_Map, __debugInfo) {
  static const char digits[] = "0123456789abcdef";
  uint8_t digest[STEAD_DIGEST_ROOM];
  char hex[2 * sizeof(digest)];

  ZEND_PARSE_PARAMETERS_NONE();
  THIS_MAP
  stead.stead_map_digest(self->map, digest, NULL);
  for (size_t i = 0; i < sizeof(digest); i++) {
    hex[2 * i] = digits[digest[i] >> 4];
    hex[2 * i + 1] = digits[digest[i] & 15];
  }
  array_init(return_value);
  add_assoc_string(return_value, "name", stead.stead_map_name(self->map));
  add_assoc_long(return_value, "epoch",
                 (zend_long)stead.stead_map_epoch(self->map));
  add_assoc_stringl(return_value, "digest", hex, sizeof(hex));
}

ZEND_METHOD(Stead_Node, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

/* The map and the number of a Node; throws when somebody made the object
 * without a map. */
#define THIS_NODE                                                              \
  zval *map_of_node = OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), NODE_MAP);              \
  if (Z_TYPE_P(map_of_node) != IS_OBJECT) {                                    \
    zend_throw_error(                                                          \
        NULL, "Stead\\Node must not be accessed before initialization");       \
    RETURN_THROWS();                                                           \
  }                                                                            \
  stead_map_object *self = stead_map_of(Z_OBJ_P(map_of_node));                 \
  zend_string *node = Z_STR_P(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), NODE_NAME));

/* Lists all labels, or all attributes, of a node. */
static void list_texts(zval *return_value, const stead_map_object *self,
                       const zend_string *name,
                       __typeof__(stead_map_node_label) *found,
                       __typeof__(stead_map_node_label_count) *counted,
                       __typeof__(stead_map_node_label_name) *named) {
  int32_t node = number_of(self, name), count = counted(self->map, node);

  array_init_size(return_value, MAX(count, 0));
  for (int32_t i = 0; i < count; i++) {
    const char *key = named(self->map, node, i);
    zval value;
    ZVAL_STRING(&value, found(self->map, node, key));
    /* a name of digits becomes an int, as everywhere in PHP */
    zend_symtable_str_update(Z_ARRVAL_P(return_value), key, strlen(key),
                             &value);
  }
}

ZEND_METHOD(Stead_Node, label) {
  zend_string *label;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(label)
  ZEND_PARSE_PARAMETERS_END();
  THIS_NODE
  text_of(return_value, self, node, label, "the label's name",
          stead.stead_map_node_label);
}

ZEND_METHOD(Stead_Node, labels) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  list_texts(return_value, self, node, LABELS);
}

ZEND_METHOD(Stead_Node, attribute) {
  zend_string *attribute;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(attribute)
  ZEND_PARSE_PARAMETERS_END();
  THIS_NODE
  text_of(return_value, self, node, attribute, "the attribute's name",
          stead.stead_map_node_attribute);
}

ZEND_METHOD(Stead_Node, attributes) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  list_texts(return_value, self, node, ATTRIBUTES);
}

ZEND_METHOD(Stead_Node, leaving) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  RETURN_BOOL(stead.stead_map_node_leaving(self->map, number_of(self, node)) ==
              1);
}

/* Name, weight, labels and attributes, for json_encode and for var_dump. */
static void whole_node(zval *return_value, const zval *this,
                       const stead_map_object *self, const zend_string *node) {
  zval labels, attributes;

  array_init(return_value);
  Z_TRY_ADDREF_P(OBJ_PROP_NUM(Z_OBJ_P(this), NODE_NAME));
  add_assoc_zval(return_value, "name", OBJ_PROP_NUM(Z_OBJ_P(this), NODE_NAME));
  Z_TRY_ADDREF_P(OBJ_PROP_NUM(Z_OBJ_P(this), NODE_WEIGHT));
  add_assoc_zval(return_value, "weight",
                 OBJ_PROP_NUM(Z_OBJ_P(this), NODE_WEIGHT));
  list_texts(&labels, self, node, LABELS);
  add_assoc_zval(return_value, "labels", &labels);
  list_texts(&attributes, self, node, ATTRIBUTES);
  add_assoc_zval(return_value, "attributes", &attributes);
}

ZEND_METHOD(Stead_Node, jsonSerialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  whole_node(return_value, ZEND_THIS, self, node);
  /* without labels, JSON has {} and not [] */
  zval *part;
  ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(return_value), part) {
    if (Z_TYPE_P(part) == IS_ARRAY) {
      convert_to_object(part);
    }
  }
  ZEND_HASH_FOREACH_END();
}

ZEND_METHOD(Stead_Node, __debugInfo) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  whole_node(return_value, ZEND_THIS, self, node);
}
