/* Stead\Map: the object, what it says of itself, and where it is written to. */

#include "php_stead.h"

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

void stead_no_map(void) {
  zend_throw_error(NULL,
                   "Stead\\Map must not be accessed before initialization");
}

stead_map *stead_map_given(zend_object *object, bool *good) {
  if (object == NULL) {
    return NULL;
  }
  stead_map *map = stead_map_of(object)->map;
  if (map == NULL) {
    stead_no_map();
    *good = false;
  }
  return map;
}

ZEND_METHOD(Stead_Map, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

/* Makes the string of a name, and keeps it. */
static zend_never_inline zend_string *new_name(stead_map_object *self,
                                               int32_t node) {
  if (self->map == NULL) {
    stead_no_map();
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
  /* interned, so that the many copies in long answers are not counted */
  return self->names[node] = zend_string_init_interned(name, strlen(name), 0);
}

zend_string *stead_name_of(stead_map_object *self, int32_t node) {
  if (EXPECTED(node >= 0 && node < self->nodes && self->names[node] != NULL)) {
    return self->names[node];
  }
  return new_name(self, node);
}

ZEND_METHOD(Stead_Map, name) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  RETURN_STRING(stead.stead_map_name(self->map));
}

ZEND_METHOD(Stead_Map, epoch) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
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
  STEAD_THIS_MAP
  digest_of(return_value, self->map, stead.stead_map_digest);
}

ZEND_METHOD(Stead_Map, parent) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  digest_of(return_value, self->map, stead.stead_map_parent);
}

ZEND_METHOD(Stead_Map, replicas) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  RETURN_LONG(stead.stead_map_replicas(self->map));
}

ZEND_METHOD(Stead_Map, hash) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  RETURN_STRING(stead.stead_map_hash(self->map));
}

ZEND_METHOD(Stead_Map, keyRule) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  RETURN_STRING(stead.stead_map_key_rule(self->map));
}

ZEND_METHOD(Stead_Map, spread) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  int32_t count = stead.stead_map_spread_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    add_next_index_string(return_value, stead.stead_map_spread(self->map, i));
  }
}

ZEND_METHOD(Stead_Map, publish) {
  zend_string *path, *allow = NULL;
  zend_object *previous = NULL;
  stead_error error;
  bool good = true;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 3)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_OBJ_OF_CLASS_OR_NULL(previous, stead_ce_map)
  Z_PARAM_STR_OR_NULL(allow)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  stead_map *before = stead_map_given(previous, &good);
  if (!good || (allow != NULL && !stead_ends(allow, "allow")) ||
      !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  if (stead.stead_map_publish(self->map, before, ZSTR_VAL(path),
                              allow == NULL ? NULL : ZSTR_VAL(allow),
                              &error) != STEAD_OK) {
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
  STEAD_THIS_MAP
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
  STEAD_THIS_MAP
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
  STEAD_THIS_MAP
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
  STEAD_THIS_MAP
  stead_map *map = stead_map_given(other, &good);
  if (good) {
    RETURN_BOOL(stead.stead_map_same(self->map, map) == 1);
  }
}

ZEND_METHOD(Stead_Map, report) {
  char *json;
  stead_error error;

  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
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
  STEAD_THIS_MAP
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
