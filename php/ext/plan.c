/* Stead\Plan. */

#include "php_stead.h"

#include "zend_interfaces.h"

typedef struct {
  stead_plan *plan;
  /* The maps, whose names the moves have. */
  zend_object *old;
  zend_object *new;
  zend_object std;
} plan_object;

static zend_object_handlers handlers;

static plan_object *plan_of(zend_object *object) {
  return (plan_object *)((char *)object - XtOffsetOf(plan_object, std));
}

static zend_object *create(zend_class_entry *class) {
  plan_object *self = zend_object_alloc(sizeof(*self), class);

  self->plan = NULL;
  self->old = self->new = NULL;
  zend_object_std_init(&self->std, class);
  self->std.handlers = &handlers;
  return &self->std;
}

static void destroy(zend_object *object) {
  plan_object *self = plan_of(object);

  if (self->plan != NULL) {
    stead.stead_plan_free(self->plan);
    OBJ_RELEASE(self->old);
    OBJ_RELEASE(self->new);
  }
  zend_object_std_dtor(object);
}

/* Calls __clone, which throws. The copy has no plan, and nobody gets it. */
static zend_object *copy(zend_object *object) {
  zend_object *made = create(object->ce);

  zend_objects_clone_members(made, object);
  return made;
}

/* Only an object that unserialize() was about to make, or that a copy was to
 * be, has no plan. */
#define THIS_PLAN                                                              \
  plan_object *self = plan_of(Z_OBJ_P(ZEND_THIS));                             \
  if (UNEXPECTED(self->plan == NULL)) {                                        \
    zend_throw_error(                                                          \
        NULL, "Stead\\Plan must not be accessed before initialization");       \
    RETURN_THROWS();                                                           \
  }

/* Puts the name of a node into a value; null for -1. Returns whether that
 * worked. */
static bool name_or_null(zval *value, zend_object *map, int32_t node) {
  ZVAL_NULL(value);
  if (node >= 0) {
    zend_string *name = stead_name_of(stead_map_of(map), node);
    if (name == NULL) {
      return false;
    }
    ZVAL_STR_COPY(value, name);
  }
  return true;
}

static const char *cause_of(int32_t cause) {
  switch (cause) {
  case STEAD_CAUSE_PIN:
    return "pin";
  case STEAD_CAUSE_POLICY:
    return "policy";
  case STEAD_CAUSE_REBALANCE:
    return "rebalance";
  default:
    return "unknown";
  }
}

/* The properties of Move and of Affected, in the order of stead.stub.php. */
enum { MOVE_FIRST, MOVE_LAST, MOVE_FROM, MOVE_TO, MOVE_CAUSE };
enum { AFFECTED_KEY, AFFECTED_FROM, AFFECTED_TO };

/* Makes a Move; returns whether that worked. */
static bool move_of(zval *made, plan_object *self, size_t index) {
  stead_move move;
  stead_error error;

  if (stead.stead_plan_move(self->plan, index, &move, &error) != STEAD_OK) {
    stead_fail(&error);
    return false;
  }
  object_init_ex(made, stead_ce_move);
  ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ_P(made), MOVE_FIRST), (zend_long)move.first);
  ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ_P(made), MOVE_LAST), (zend_long)move.last);
  ZVAL_STRING(OBJ_PROP_NUM(Z_OBJ_P(made), MOVE_CAUSE), cause_of(move.cause));
  if (name_or_null(OBJ_PROP_NUM(Z_OBJ_P(made), MOVE_FROM), self->old,
                   move.from) &&
      name_or_null(OBJ_PROP_NUM(Z_OBJ_P(made), MOVE_TO), self->new, move.to)) {
    return true;
  }
  zval_ptr_dtor(made);
  return false;
}

/* foreach over a plan makes one Move after the other. */

typedef struct {
  zend_object_iterator iterator;
  size_t at;
  zval current;
} moves_iterator;

static plan_object *iterated(zend_object_iterator *iterator) {
  return plan_of(Z_OBJ(iterator->data));
}

static void forget(zend_object_iterator *iterator) {
  moves_iterator *self = (moves_iterator *)iterator;

  zval_ptr_dtor(&self->current);
  ZVAL_UNDEF(&self->current);
}

static void iterator_free(zend_object_iterator *iterator) {
  forget(iterator);
  zval_ptr_dtor(&iterator->data);
}

static int iterator_valid(zend_object_iterator *iterator) {
  return ((moves_iterator *)iterator)->at <
                 stead.stead_plan_count(iterated(iterator)->plan)
             ? SUCCESS
             : FAILURE;
}

static zval *iterator_current(zend_object_iterator *iterator) {
  moves_iterator *self = (moves_iterator *)iterator;

  if (Z_ISUNDEF(self->current)) {
    move_of(&self->current, iterated(iterator), self->at);
  }
  return &self->current;
}

static void iterator_key(zend_object_iterator *iterator, zval *key) {
  ZVAL_LONG(key, ((moves_iterator *)iterator)->at);
}

static void iterator_next(zend_object_iterator *iterator) {
  forget(iterator);
  ((moves_iterator *)iterator)->at++;
}

static void iterator_rewind(zend_object_iterator *iterator) {
  forget(iterator);
  ((moves_iterator *)iterator)->at = 0;
}

static const zend_object_iterator_funcs iterator_functions = {
    .dtor = iterator_free,
    .valid = iterator_valid,
    .get_current_data = iterator_current,
    .get_current_key = iterator_key,
    .move_forward = iterator_next,
    .rewind = iterator_rewind,
    .invalidate_current = forget,
};

static zend_object_iterator *iterate(zend_class_entry *class, zval *object,
                                     int by_reference) {
  if (by_reference) {
    zend_throw_error(NULL,
                     "An iterator cannot be used with foreach by reference");
    return NULL;
  }
  if (plan_of(Z_OBJ_P(object))->plan == NULL) {
    zend_throw_error(NULL,
                     "Stead\\Plan must not be accessed before initialization");
    return NULL;
  }
  moves_iterator *made = emalloc(sizeof(*made));
  zend_iterator_init(&made->iterator);
  ZVAL_COPY(&made->iterator.data, object);
  made->iterator.funcs = &iterator_functions;
  made->at = 0;
  ZVAL_UNDEF(&made->current);
  return &made->iterator;
}

void stead_plan_startup(void) {
  memcpy(&handlers, &std_object_handlers, sizeof(handlers));
  handlers.offset = XtOffsetOf(plan_object, std);
  handlers.free_obj = destroy;
  handlers.clone_obj = copy;
  stead_ce_plan->create_object = create;
  stead_ce_plan->get_iterator = iterate;
}

ZEND_METHOD(Stead_Plan, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Stead_Plan, between) {
  zend_object *old, *new;
  stead_plan *plan;
  stead_error error;

  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_OBJ_OF_CLASS(old, stead_ce_map)
  Z_PARAM_OBJ_OF_CLASS(new, stead_ce_map)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  if (stead.stead_plan_between(stead_map_of(old)->map, stead_map_of(new)->map,
                               &plan, &error) != STEAD_OK) {
    stead_fail(&error);
    RETURN_THROWS();
  }
  object_init_ex(return_value, stead_ce_plan);
  plan_object *self = plan_of(Z_OBJ_P(return_value));
  self->plan = plan;
  GC_ADDREF(self->old = old);
  GC_ADDREF(self->new = new);
}

ZEND_METHOD(Stead_Plan, old) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  RETURN_OBJ_COPY(self->old);
}

ZEND_METHOD(Stead_Plan, new) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  RETURN_OBJ_COPY(self->new);
}

ZEND_METHOD(Stead_Plan, count) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  RETURN_LONG((zend_long)stead.stead_plan_count(self->plan));
}

ZEND_METHOD(Stead_Plan, getIterator) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN(void) self;
  zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}

ZEND_METHOD(Stead_Plan, moves) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  size_t count = stead.stead_plan_count(self->plan);
  array_init_size(return_value, count);
  for (size_t i = 0; i < count; i++) {
    zval move;
    if (!move_of(&move, self, i)) {
      RETURN_THROWS();
    }
    add_next_index_zval(return_value, &move);
  }
}

/* Numbers of moves. There is room for one move for each of a few replicas; a
 * named policy may need more. */
typedef struct {
  size_t few[16];
  size_t *indexes;
  size_t room;
  size_t count;
} index_list;

static void start(index_list *list) {
  list->indexes = list->few;
  list->room = sizeof(list->few) / sizeof(*list->few);
}

/* Returns whether the list was too short, and has become long enough. */
static bool grown(index_list *list) {
  if (list->count <= list->room) {
    return false;
  }
  if (list->indexes != list->few) {
    efree(list->indexes);
  }
  list->indexes = safe_emalloc(list->count, sizeof(*list->indexes), 0);
  list->room = list->count;
  return true;
}

/* Returns the moves of a list, or throws, and frees the list. */
static void moves_or_failure(zval *return_value, plan_object *self,
                             index_list *list, int32_t status,
                             const stead_error *error) {
  if (status != STEAD_OK) {
    stead_fail(error);
  } else {
    array_init_size(return_value, list->count);
    for (size_t i = 0; i < list->count; i++) {
      zval move;
      if (!move_of(&move, self, list->indexes[i])) {
        break;
      }
      add_next_index_zval(return_value, &move);
    }
  }
  if (list->indexes != list->few) {
    efree(list->indexes);
  }
}

ZEND_METHOD(Stead_Plan, affects) {
  zend_string *key;
  index_list list;
  int32_t status;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PLAN
  start(&list);
  do {
    status =
        stead.stead_plan_affects(self->plan, ZSTR_VAL(key), ZSTR_LEN(key),
                                 list.indexes, list.room, &list.count, &error);
  } while (status == STEAD_OK && grown(&list));
  moves_or_failure(return_value, self, &list, status, &error);
}

ZEND_METHOD(Stead_Plan, affectsPoint) {
  zend_long point;
  index_list list;
  int32_t status;
  stead_error error;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PLAN
  start(&list);
  do {
    status = stead.stead_plan_affects_point(self->plan, (uint64_t)point,
                                            list.indexes, list.room,
                                            &list.count, &error);
  } while (status == STEAD_OK && grown(&list));
  moves_or_failure(return_value, self, &list, status, &error);
}

/* A plan, and the rows of what moves of many keys. */
typedef struct {
  plan_object *plan;
  zval *rows;
} affected;

/* Appends what moves of the keys of a batch to the rows. */
static bool affect_batch(stead_batch *batch, void *context) {
  const affected *of = context;
  plan_object *self = of->plan;
  stead_error error;
  stead_affected *rows = NULL;
  size_t room = batch->count, count = 0;
  int32_t status;
  bool good = false;

  do {
    room = MAX(room, count);
    rows = safe_erealloc(rows, room, sizeof(*rows), 0);
    status = stead.stead_plan_affects_many(
        self->plan, batch->bytes, batch->length, batch->offsets, batch->count,
        rows, room, &count, &error);
  } while (status == STEAD_OK && count > room);
  if (status != STEAD_OK) {
    stead_fail(&error);
  } else {
    good = true;
    for (size_t i = 0; good && i < count; i++) {
      zval row;
      object_init_ex(&row, stead_ce_affected);
      ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ(row), AFFECTED_KEY),
                batch->places[rows[i].key]);
      good = name_or_null(OBJ_PROP_NUM(Z_OBJ(row), AFFECTED_FROM), self->old,
                          rows[i].from) &&
             name_or_null(OBJ_PROP_NUM(Z_OBJ(row), AFFECTED_TO), self->new,
                          rows[i].to);
      add_next_index_zval(of->rows, &row);
    }
  }
  efree(rows);
  return good;
}

/* The array keys of an array, as a list. */
static HashTable *array_keys(HashTable *array) {
  HashTable *made = zend_new_array(zend_hash_num_elements(array));
  zend_ulong index;
  zend_string *name;

  zend_hash_real_init_packed(made);
  ZEND_HASH_FOREACH_KEY(array, index, name) {
    zval key;
    if (name != NULL) {
      ZVAL_STR_COPY(&key, name);
    } else {
      ZVAL_LONG(&key, (zend_long)index);
    }
    zend_hash_next_index_insert_new(made, &key);
  }
  ZEND_HASH_FOREACH_END();
  return made;
}

ZEND_METHOD(Stead_Plan, affectsMany) {
  HashTable *keys;

  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_ARRAY_HT(keys)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PLAN
  affected of = {self, return_value};
  array_init(return_value);
  HashTable *places = array_keys(keys);
  stead_batch_walk(keys, places, affect_batch, &of);
  zend_array_destroy(places);
}

ZEND_METHOD(Stead_Plan, fraction) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  RETURN_DOUBLE(stead.stead_plan_fraction(self->plan));
}

/* Returns one of the amounts as a decimal string; it is below 2^72. */
static void amount(zval *return_value, const plan_object *self, size_t offset) {
  stead_amounts amounts;
  stead_error error;
  char digits[40], *first = digits + sizeof(digits);

  if (stead.stead_plan_amounts(self->plan, &amounts, &error) != STEAD_OK) {
    stead_fail(&error);
    return;
  }
  const stead_points *points =
      (const stead_points *)((const char *)&amounts + offset);
  unsigned __int128 rest = (unsigned __int128)points->high << 64 | points->low;
  do {
    *--first = '0' + rest % 10;
    rest /= 10;
  } while (rest > 0);
  RETVAL_STRINGL(first, digits + sizeof(digits) - first);
}

#define AMOUNT(method, field)                                                  \
  ZEND_METHOD(Stead_Plan, method) {                                            \
    ZEND_PARSE_PARAMETERS_NONE();                                              \
    THIS_PLAN                                                                  \
    amount(return_value, self, offsetof(stead_amounts, field));                \
  }

AMOUNT(moved, moved)
AMOUNT(lowerBound, lower_bound)
AMOUNT(byHand, by_hand)
AMOUNT(reordered, reordered)

static void report(zval *return_value, const plan_object *self, bool moves) {
  char *json;
  stead_error error;

  if (stead.stead_plan_report(self->plan, moves, &json, &error) == STEAD_OK) {
    stead_decode(return_value, json);
  } else {
    stead_fail(&error);
  }
}

ZEND_METHOD(Stead_Plan, report) {
  bool moves = false;

  STEAD_NOT_NULL(1, "bool");
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(moves)
  ZEND_PARSE_PARAMETERS_END();
  THIS_PLAN
  report(return_value, self, moves);
}

ZEND_METHOD(Stead_Plan, jsonSerialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  report(return_value, self, false);
}

ZEND_METHOD(Stead_Plan, __clone) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a plan never changes, so it has no copies: use the same object");
}

ZEND_METHOD(Stead_Plan, __serialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  stead_throw(STEAD_INVALID, 0,
              "a plan is memory of this process: keep its two maps, and make "
              "it again with Plan::between");
}

ZEND_METHOD(Stead_Plan, __unserialize) {
  stead_throw(
      STEAD_INVALID, 0,
      "a plan cannot be unserialized: Plan::between makes it of two maps");
}

ZEND_METHOD(Stead_Plan, __debugInfo) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_PLAN
  zval map;
  array_init(return_value);
  ZVAL_OBJ_COPY(&map, self->old);
  add_assoc_zval(return_value, "old", &map);
  ZVAL_OBJ_COPY(&map, self->new);
  add_assoc_zval(return_value, "new", &map);
  add_assoc_long(return_value, "moves",
                 (zend_long)stead.stead_plan_count(self->plan));
  add_assoc_double(return_value, "fraction",
                   stead.stead_plan_fraction(self->plan));
}
