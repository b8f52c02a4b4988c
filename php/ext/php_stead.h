/* What the files of the extension share: the loaded library, the classes, and
 * the exceptions. */

#ifndef PHP_STEAD_H
#define PHP_STEAD_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "php.h"
#include "zend_exceptions.h"

#include <stead.h>

#define PHP_STEAD_VERSION "0.1.0"

extern zend_module_entry stead_module_entry;
#define phpext_stead_ptr &stead_module_entry

/* library.c: libstead, which is loaded once, when PHP starts. Nothing writes
 * into the table afterwards, so threads share it. libstead.inc lists
 * the functions, and each has the type that stead.h declares. */

typedef struct {
#define STEAD(name) __typeof__(name) *name;
#include "libstead.inc"
#undef STEAD
} libstead;

extern libstead stead;

/* Loads the library; warns when that fails. */
void stead_load(void);
/* Whether the library is there; throws when it is not. Every function that is
 * not called on a map or a plan asks this. */
bool stead_loaded(void);

/* The classes, which stead.c registers. */

extern zend_class_entry *stead_ce_exception;
extern zend_class_entry *stead_ce_library_exception;
extern zend_class_entry *stead_ce_status;
extern zend_class_entry *stead_ce_fold;
extern zend_class_entry *stead_ce_map;
extern zend_class_entry *stead_ce_node;
extern zend_class_entry *stead_ce_policy;
extern zend_class_entry *stead_ce_slice;
extern zend_class_entry *stead_ce_pair;
extern zend_class_entry *stead_ce_plan;
extern zend_class_entry *stead_ce_move;
extern zend_class_entry *stead_ce_affected;

void stead_map_startup(void);
void stead_pair_startup(void);
void stead_plan_startup(void);

/* failure.c: the exceptions. An exception that C throws has the file and the
 * line of the PHP code that called. */

/* Throws the exception for an error record of libstead. */
void stead_fail(const stead_error *error);
/* Throws the exception for a status, with a message. */
void stead_throw(int32_t status, int32_t os_errno, const char *format, ...)
    ZEND_ATTRIBUTE_FORMAT(printf, 3, 4);
void stead_throw_library(const char *message);
void stead_throw_str(int32_t status, int32_t os_errno, zend_string *message);
/* The class of the exceptions for a status. */
zend_class_entry *stead_class_of(int32_t status);

/* Refuses null for an argument that may not be null, and returns from the
 * function. In files without strict_types, PHP turns null into "" or 0 for
 * functions of extensions, and refuses it for functions of packages. */
#define STEAD_NOT_NULL(n, type)                                                \
  if (ZEND_NUM_ARGS() >= (n) &&                                                \
      UNEXPECTED(Z_TYPE_P(ZEND_CALL_ARG(execute_data, (n))) == IS_NULL)) {     \
    zend_argument_type_error((n), "must be of type " type ", null given");     \
    RETURN_THROWS();                                                           \
  }

/* Returns whether a text that ends with a NUL in C has no other NUL; throws
 * when it has one. */
bool stead_ends(const zend_string *text, const char *what);
/* The name of a value's type, as get_debug_type says it. */
const char *stead_type_of(const zval *value);
/* Decodes JSON of libstead into an array, and frees the text. */
void stead_decode(zval *return_value, char *json);

/* fleet.c: a fleet that is an array, as text of the same shape. */

typedef struct {
  zend_string *text;
  /* The place in the array for each line of the text. */
  zend_string **places;
  size_t count;
  size_t room;
} stead_fleet_text;

/* Returns whether the text was made; throws when it was not. Either way
 * stead_fleet_free must be called. */
bool stead_fleet_write(stead_fleet_text *fleet, HashTable *array);
void stead_fleet_free(stead_fleet_text *fleet);
/* Returns the message with places in the array instead of line numbers. */
zend_string *stead_fleet_placed(const stead_fleet_text *fleet,
                                const char *message, const char *name);

/* map.c: the object. */

typedef struct {
  stead_map *map;
  /* The names of nodes by their numbers. Each is made when it is first needed,
   * because each request opens the map and needs only one or two names. */
  zend_string **names;
  int32_t nodes;
  zend_object std;
} stead_map_object;

static zend_always_inline stead_map_object *stead_map_of(zend_object *object) {
  return (stead_map_object *)((char *)object -
                              XtOffsetOf(stead_map_object, std));
}

/* Returns the name of a node by its number, which the map owns; NULL with an
 * exception when there is none. */
zend_string *stead_name_of(stead_map_object *map, int32_t node);

/* Throws, for a map that has none: the object that unserialize() was about to
 * make, or that a copy was to be. */
void stead_no_map(void);
/* Returns the map of an argument; throws when it has none. */
stead_map *stead_map_given(zend_object *object, bool *good);

#define STEAD_THIS_MAP                                                         \
  stead_map_object *self = stead_map_of(Z_OBJ_P(ZEND_THIS));                   \
  if (UNEXPECTED(self->map == NULL)) {                                         \
    stead_no_map();                                                            \
    RETURN_THROWS();                                                           \
  }

/* locate.c: a list of numbers of nodes, which grows when a call says that there
 * are more. */

typedef struct {
  int32_t few[32];
  int32_t *nodes;
  size_t room;
  size_t count;
} stead_node_list;

void stead_list_start(stead_node_list *list);
/* Returns whether the list was too short, and has become long enough. */
bool stead_list_grown(stead_node_list *list);
void stead_list_free(stead_node_list *list);
/* Throws when the status says so; otherwise returns the names. Either way the
 * list is freed. */
void stead_list_names(zval *return_value, stead_map_object *self,
                      stead_node_list *list, int32_t status,
                      const stead_error *error);

/* batch.c: keys of an array, end to end, for calls that take many keys. */

typedef struct {
  uint64_t *offsets;
  char *bytes;
  /* The place beside each key. */
  zval **places;
  size_t count;
  size_t room;
  size_t length;
  size_t space;
} stead_batch;

void stead_batch_start(stead_batch *batch, size_t room);
void stead_batch_add(stead_batch *batch, const zend_string *key);
void stead_batch_free(stead_batch *batch);

/* Does something with the keys of a batch; returns whether that worked, and
 * throws when it did not. */
typedef bool stead_batch_work(stead_batch *batch, void *context);

/* Walks through an array of keys, and works on batches of them. Null is left
 * out; everything else but a string is refused. `beside` has as many values as
 * `keys`, in the same order; the places of a batch point into it. Returns
 * whether all of it worked. */
bool stead_batch_walk(HashTable *keys, HashTable *beside,
                      stead_batch_work *work, void *context);

/* Throws the TypeError for a key, or a name, of an array that is no string. */
void stead_wrong_key(const char *what, const char *array, HashTable *keys,
                     const zval *wrong);

/* The number of keys in one call. Their bytes, offsets, places and nodes stay
 * in the nearest caches of the processor. */
#define STEAD_BATCH 2048

#endif
