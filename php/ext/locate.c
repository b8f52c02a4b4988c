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

static void free_list(stead_node_list *list) {
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
  free_list(list);
}

void stead_list_names(zval *return_value, stead_map_object *self,
                      stead_node_list *list, int32_t status,
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
  STEAD_THIS_MAP
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
