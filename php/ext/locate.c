/* Stead\Map: where keys live. */

#include "php_stead.h"

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

void stead_list_start(stead_node_list *list) {
  list->nodes = list->few;
  list->room = sizeof(list->few) / sizeof(*list->few);
  list->count = 0;
}

bool stead_list_grown(stead_node_list *list) {
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

void stead_list_free(stead_node_list *list) {
  if (list->nodes != list->few) {
    efree(list->nodes);
  }
}

/* Returns the names of a list of nodes, and frees the list. */
static void names_of(zval *return_value, stead_map_object *self,
                     stead_node_list *list) {
  array_init_size(return_value, list->count);
  for (size_t i = 0; i < list->count; i++) {
    zend_string *name = stead_name_of(self, list->nodes[i]);
    if (name == NULL) {
      break;
    }
    add_next_index_str(return_value, zend_string_copy(name));
  }
  stead_list_free(list);
}

void stead_list_names(zval *return_value, stead_map_object *self,
                      stead_node_list *list, int32_t status,
                      const stead_error *error) {
  if (status == STEAD_OK) {
    names_of(return_value, self, list);
  } else {
    stead_list_free(list);
    stead_fail(error);
  }
}

ZEND_METHOD(Stead_Map, locateAll) {
  zend_string *key;
  stead_node_list list;
  stead_error error;
  int32_t status;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  stead_list_start(&list);
  do {
    status =
        stead.stead_map_locate_all(self->map, ZSTR_VAL(key), ZSTR_LEN(key),
                                   list.nodes, list.room, &list.count, &error);
  } while (status == STEAD_OK && stead_list_grown(&list));
  stead_list_names(return_value, self, &list, status, &error);
}

ZEND_METHOD(Stead_Map, locatePoint) {
  zend_long point;
  int32_t node;
  stead_error error;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
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
  stead_node_list list;
  stead_error error;
  int32_t status;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  stead_list_start(&list);
  do {
    status = stead.stead_map_locate_all_point(
        self->map, (uint64_t)point, list.nodes, list.room, &list.count, &error);
  } while (status == STEAD_OK && stead_list_grown(&list));
  stead_list_names(return_value, self, &list, status, &error);
}

/* What is beside the keys of locateMany and locateAllMany: an array with the
 * same array keys, whose values are then replaced. Null stays null. */
static HashTable *answers(HashTable *keys) {
  if (!HT_IS_PACKED(keys) || !HT_IS_WITHOUT_HOLES(keys)) {
    return zend_array_dup(keys);
  }
  /* a list, as nearly all arrays of keys are: no string needs to be copied */
  uint32_t count = zend_hash_num_elements(keys);
  HashTable *made = zend_new_array(count);
  zend_hash_real_init_packed(made);
  ZEND_HASH_FILL_PACKED(made) {
    for (uint32_t i = 0; i < count; i++) {
      ZEND_HASH_FILL_SET_NULL();
      ZEND_HASH_FILL_NEXT();
    }
  }
  ZEND_HASH_FILL_END();
  made->nNextFreeElement = keys->nNextFreeElement;
  return made;
}

/* Replaces a value of such an array. */
static zend_always_inline void replace(zval *place, zval *value) {
  if (UNEXPECTED(Z_REFCOUNTED_P(place))) {
    zval_ptr_dtor(place);
  }
  ZVAL_COPY_VALUE(place, value);
}

/* Puts the primary of each key of a batch into the result. */
static bool locate_batch(stead_batch *batch, void *context) {
  stead_map_object *self = context;
  int32_t nodes[STEAD_BATCH];
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
    if (UNEXPECTED(name == NULL)) {
      return false;
    }
    ZVAL_STR_COPY(&value, name);
    replace(batch->places[i], &value);
  }
  return true;
}

/* Puts the nodes of each key of a batch into the result, each key's as a list.
 */
static bool locate_all_batch(stead_batch *batch, void *context) {
  stead_map_object *self = context;
  uint64_t starts[STEAD_BATCH + 1];
  int32_t *nodes = NULL;
  stead_error error;
  size_t count = batch->count * stead.stead_map_replicas(self->map), room;
  int32_t status;
  bool good = true;

  /* a named policy may need more */
  do {
    room = count;
    nodes = safe_erealloc(nodes, room, sizeof(*nodes), 0);
    status = stead.stead_map_locate_all_many(
        self->map, batch->bytes, batch->length, batch->offsets, batch->count,
        nodes, room, starts, &count, &error);
  } while (status == STEAD_OK && count > room);
  if (status != STEAD_OK) {
    stead_fail(&error);
    good = false;
  }
  for (size_t i = 0; good && i < batch->count; i++) {
    zval list;
    array_init_size(&list, starts[i + 1] - starts[i]);
    for (uint64_t n = starts[i]; good && n < starts[i + 1]; n++) {
      zend_string *name = stead_name_of(self, nodes[n]);
      if ((good = name != NULL)) {
        add_next_index_str(&list, zend_string_copy(name));
      }
    }
    replace(batch->places[i], &list);
  }
  efree(nodes);
  return good;
}

static void many(INTERNAL_FUNCTION_PARAMETERS, stead_batch_work *work) {
  HashTable *keys;

  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_ARRAY_HT(keys)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  RETVAL_ARR(answers(keys));
  stead_batch_walk(keys, Z_ARRVAL_P(return_value), work, self);
}

ZEND_METHOD(Stead_Map, locateMany) {
  many(INTERNAL_FUNCTION_PARAM_PASSTHRU, locate_batch);
}

ZEND_METHOD(Stead_Map, locateAllMany) {
  many(INTERNAL_FUNCTION_PARAM_PASSTHRU, locate_all_batch);
}

ZEND_METHOD(Stead_Map, prefer) {
  zend_string *key;
  zend_long n;
  stead_node_list list;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(key)
  Z_PARAM_LONG(n)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  if (n < 0) {
    stead_throw(STEAD_INVALID, 0,
                "n is " ZEND_LONG_FMT ", and a number of nodes is at least 0",
                n);
    RETURN_THROWS();
  }
  stead_list_start(&list);
  list.count = MIN(n, stead.stead_map_node_count(self->map));
  size_t wanted = list.count;
  stead_list_grown(&list);
  int32_t status =
      stead.stead_map_prefer(self->map, ZSTR_VAL(key), ZSTR_LEN(key),
                             list.nodes, wanted, &list.count, &error);
  stead_list_names(return_value, self, &list, status, &error);
}

ZEND_METHOD(Stead_Map, point) {
  zend_string *key;
  uint64_t point;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  if (stead.stead_map_point(self->map, ZSTR_VAL(key), ZSTR_LEN(key), &point,
                            &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  RETURN_LONG((zend_long)point);
}
