/* Stead\Pair: where to read and to write while a carry is open. */

#include "php_stead.h"

typedef struct {
  stead_pair *pair;
  zend_object std;
} pair_object;

static zend_object_handlers handlers;

static const char *const states[] = {
    [STEAD_STATE_OLD] = "old",
    [STEAD_STATE_BOTH_OLD_FIRST] = "both_old_first",
    [STEAD_STATE_BOTH_NEW_FIRST] = "both_new_first",
    [STEAD_STATE_NEW] = "new"};

static pair_object *pair_of(zend_object *object) {
  return (pair_object *)((char *)object - XtOffsetOf(pair_object, std));
}

static zend_object *create(zend_class_entry *class) {
  pair_object *self = zend_object_alloc(sizeof(*self), class);

  self->pair = NULL;
  zend_object_std_init(&self->std, class);
  self->std.handlers = &handlers;
  return &self->std;
}

static void destroy(zend_object *object) {
  pair_object *self = pair_of(object);

  if (self->pair != NULL) {
    stead.stead_pair_free(self->pair);
  }
  zend_object_std_dtor(object);
}

/* Calls __clone, which throws. The copy has no pair, and nobody gets it. */
static zend_object *copy(zend_object *object) {
  zend_object *made = create(object->ce);

  zend_objects_clone_members(made, object);
  return made;
}

/* Only an object that unserialize() was about to make, or that a copy was to
 * be, has no pair. */
#define THIS_PAIR                                                              \
  pair_object *self = pair_of(Z_OBJ_P(ZEND_THIS));                             \
  if (UNEXPECTED(self->pair == NULL)) {                                        \
    zend_throw_error(                                                          \
        NULL, "Stead\\Pair must not be accessed before initialization");       \
    RETURN_THROWS();                                                           \
  }

void stead_pair_startup(void) {
  memcpy(&handlers, &std_object_handlers, sizeof(handlers));
  handlers.offset = XtOffsetOf(pair_object, std);
  handlers.free_obj = destroy;
  handlers.clone_obj = copy;
  stead_ce_pair->create_object = create;
}

/* Returns the number of a state; 0 with an exception when there is none. */
static int32_t number_of(const zend_string *state) {
  for (int32_t i = STEAD_STATE_OLD; i <= STEAD_STATE_NEW; i++) {
    if (zend_string_equals_cstr(state, states[i], strlen(states[i]))) {
      return i;
    }
  }
  stead_throw(STEAD_INVALID, 0,
              "\"%s\" is no state of a carry; write one of old, "
              "both_old_first, both_new_first, new",
              ZSTR_VAL(state));
  return 0;
}

static void returned(zval *return_value, int32_t status, stead_pair *pair,
                     const stead_error *error) {
  if (status == STEAD_OK) {
    object_init_ex(return_value, stead_ce_pair);
    pair_of(Z_OBJ_P(return_value))->pair = pair;
  } else {
    stead_fail(error);
  }
}

ZEND_METHOD(Stead_Pair, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Stead_Pair, open) {
  zend_string *path, *state = NULL;
  bool copy = false, no_epoch = true;
  zend_long epoch = 0;
  stead_pair *pair;
  stead_error error;
  int32_t status;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "bool");
  ZEND_PARSE_PARAMETERS_START(1, 4)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(copy)
  Z_PARAM_LONG_OR_NULL(epoch, no_epoch)
  Z_PARAM_STR_OR_NULL(state)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path")) {
    RETURN_THROWS();
  }
  if (no_epoch != (state == NULL)) {
    stead_throw(STEAD_INVALID, 0,
                "epoch and state belong together; give both, or none");
    RETURN_THROWS();
  }
  if (no_epoch) {
    status = stead.stead_pair_open(ZSTR_VAL(path),
                                   copy ? STEAD_OPEN_COPY : STEAD_OPEN_SHARED,
                                   &pair, &error);
  } else {
    int32_t number = number_of(state);
    if (number == 0) {
      RETURN_THROWS();
    }
    status = stead.stead_pair_open_from(ZSTR_VAL(path), (uint64_t)epoch, number,
                                        &pair, &error);
  }
  returned(return_value, status, pair, &error);
}

ZEND_METHOD(Stead_Pair, between) {
  zend_object *old, *new;
  zend_string *state;
  stead_pair *pair;
  stead_error error;

  STEAD_NOT_NULL(3, "string");
  ZEND_PARSE_PARAMETERS_START(3, 3)
  Z_PARAM_OBJ_OF_CLASS(old, stead_ce_map)
  Z_PARAM_OBJ_OF_CLASS(new, stead_ce_map)
  Z_PARAM_STR(state)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  int32_t number = number_of(state);
  if (number == 0) {
    RETURN_THROWS();
  }
  int32_t status = stead.stead_pair_between(
      stead_map_of(old)->map, stead_map_of(new)->map, number, &pair, &error);
  returned(return_value, status, pair, &error);
}

ZEND_METHOD(Stead_Pair, state) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PAIR
  int32_t state = stead.stead_pair_state(self->pair);
  if (state >= STEAD_STATE_OLD && state <= STEAD_STATE_NEW) {
    RETURN_STRING(states[state]);
  }
}

/* Makes a Map of a handle; null of NULL. */
static void map_or_null(zval *made, stead_map *map) {
  ZVAL_NULL(made);
  if (map != NULL) {
    object_init_ex(made, stead_ce_map);
    stead_map_of(Z_OBJ_P(made))->map = map;
  }
}

ZEND_METHOD(Stead_Pair, new) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PAIR
  map_or_null(return_value, stead.stead_pair_new_map(self->pair));
}

ZEND_METHOD(Stead_Pair, old) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PAIR
  map_or_null(return_value, stead.stead_pair_old_map(self->pair));
}

/* Returns the names of a list of nodes, or throws, and frees the list. */
static void names_of(zval *return_value, const pair_object *self,
                     stead_node_list *list, int32_t status,
                     const stead_error *error) {
  if (status != STEAD_OK) {
    stead_fail(error);
  } else {
    array_init_size(return_value, list->count);
    for (size_t i = 0; i < list->count; i++) {
      const char *name = stead.stead_pair_node_name(self->pair, list->nodes[i]);
      add_next_index_string(return_value, name == NULL ? "" : name);
    }
  }
  stead_list_free(list);
}

#define OF_KEY(method, call)                                                   \
  ZEND_METHOD(Stead_Pair, method) {                                            \
    zend_string *key;                                                          \
    stead_node_list list;                                                      \
    stead_error error;                                                         \
    int32_t status;                                                            \
                                                                               \
    STEAD_NOT_NULL(1, "string");                                               \
    ZEND_PARSE_PARAMETERS_START(1, 1)                                          \
    Z_PARAM_STR(key)                                                           \
    ZEND_PARSE_PARAMETERS_END();                                               \
    THIS_PAIR                                                                  \
    stead_list_start(&list);                                                   \
    do {                                                                       \
      status = stead.call(self->pair, ZSTR_VAL(key), ZSTR_LEN(key),            \
                          list.nodes, list.room, &list.count, &error);         \
    } while (status == STEAD_OK && stead_list_grown(&list));                   \
    names_of(return_value, self, &list, status, &error);                       \
  }

#define OF_POINT(method, call)                                                 \
  ZEND_METHOD(Stead_Pair, method) {                                            \
    zend_long point;                                                           \
    stead_node_list list;                                                      \
    stead_error error;                                                         \
    int32_t status;                                                            \
                                                                               \
    STEAD_NOT_NULL(1, "int");                                                  \
    ZEND_PARSE_PARAMETERS_START(1, 1)                                          \
    Z_PARAM_LONG(point)                                                        \
    ZEND_PARSE_PARAMETERS_END();                                               \
    THIS_PAIR                                                                  \
    stead_list_start(&list);                                                   \
    do {                                                                       \
      status = stead.call(self->pair, (uint64_t)point, list.nodes, list.room,  \
                          &list.count, &error);                                \
    } while (status == STEAD_OK && stead_list_grown(&list));                   \
    names_of(return_value, self, &list, status, &error);                       \
  }

OF_KEY(reads, stead_pair_reads)
OF_KEY(writes, stead_pair_writes)
OF_POINT(readsPoint, stead_pair_reads_point)
OF_POINT(writesPoint, stead_pair_writes_point)

ZEND_METHOD(Stead_Pair, moved) {
  zend_string *key;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PAIR
  RETURN_BOOL(
      stead.stead_pair_moved(self->pair, ZSTR_VAL(key), ZSTR_LEN(key)) == 1);
}

ZEND_METHOD(Stead_Pair, movedPoint) {
  zend_long point;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PAIR
  RETURN_BOOL(stead.stead_pair_moved_point(self->pair, (uint64_t)point) == 1);
}

ZEND_METHOD(Stead_Pair, attribute) {
  zend_string *node, *attribute;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(node)
  Z_PARAM_STR(attribute)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PAIR
  if (!stead_ends(node, "the node's name")) {
    RETURN_THROWS();
  }
  int32_t number = stead.stead_pair_node_named(self->pair, ZSTR_VAL(node));
  if (number < 0) {
    stead_throw(STEAD_INVALID, 0, "this pair has no node \"%s\"",
                ZSTR_VAL(node));
    RETURN_THROWS();
  }
  if (!stead_ends(attribute, "the attribute's name")) {
    RETURN_THROWS();
  }
  const char *text =
      stead.stead_pair_node_attribute(self->pair, number, ZSTR_VAL(attribute));
  if (text != NULL) {
    RETURN_STRING(text);
  }
}

ZEND_METHOD(Stead_Pair, __clone) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a pair never changes, so it has no copies: use the same object");
}

ZEND_METHOD(Stead_Pair, __serialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a pair is memory of this process: keep its two maps, and make "
              "it again with Pair::between");
}

ZEND_METHOD(Stead_Pair, __unserialize) {
  stead_throw(STEAD_INVALID, 0,
              "a pair cannot be unserialized: Pair::open and Pair::between "
              "make one");
}

ZEND_METHOD(Stead_Pair, __debugInfo) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PAIR
  zval value;
  int32_t state = stead.stead_pair_state(self->pair);
  array_init(return_value);
  map_or_null(&value, stead.stead_pair_old_map(self->pair));
  add_assoc_zval(return_value, "old", &value);
  map_or_null(&value, stead.stead_pair_new_map(self->pair));
  add_assoc_zval(return_value, "new", &value);
  if (state >= STEAD_STATE_OLD && state <= STEAD_STATE_NEW) {
    add_assoc_string(return_value, "state", states[state]);
  } else {
    add_assoc_null(return_value, "state");
  }
}
