/* The classes without memory of libstead: the records Node, Policy, Slice, Move
 * and Affected, and Fold, Path and Point. */

#include "php_stead.h"

#include "ext/standard/php_string.h"
#include "zend_enum.h"
#include "zend_smart_str.h"

/* Gives a readonly property its only value; throws when it has one, because
 * somebody called the constructor twice. */
static void set(zval *this, zend_class_entry *class, const char *name,
                zval *value) {
  zend_update_property(class, Z_OBJ_P(this), name, strlen(name), value);
}

static void set_long(zval *this, zend_class_entry *class, const char *name,
                     zend_long value) {
  zval given;
  ZVAL_LONG(&given, value);
  set(this, class, name, &given);
}

static void set_str(zval *this, zend_class_entry *class, const char *name,
                    zend_string *value) {
  zval given;
  if (value == NULL) {
    ZVAL_NULL(&given);
  } else {
    ZVAL_STR(&given, value);
  }
  set(this, class, name, &given);
}

ZEND_METHOD(Stead_Policy, __construct) {
  zend_string *name, *kind, *weight;
  zval *nodes;

  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(4, 4)
  Z_PARAM_STR_OR_NULL(name)
  Z_PARAM_STR(kind)
  Z_PARAM_STR_OR_NULL(weight)
  Z_PARAM_ARRAY(nodes)
  ZEND_PARSE_PARAMETERS_END();
  set_str(ZEND_THIS, stead_ce_policy, "name", name);
  set_str(ZEND_THIS, stead_ce_policy, "kind", kind);
  set_str(ZEND_THIS, stead_ce_policy, "weight", weight);
  set(ZEND_THIS, stead_ce_policy, "nodes", nodes);
}

ZEND_METHOD(Stead_Slice, __construct) {
  zend_long first, last;
  zval *nodes;
  zend_string *policy;

  STEAD_NOT_NULL(1, "int");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(4, 4)
  Z_PARAM_LONG(first)
  Z_PARAM_LONG(last)
  Z_PARAM_ARRAY(nodes)
  Z_PARAM_STR_OR_NULL(policy)
  ZEND_PARSE_PARAMETERS_END();
  set_long(ZEND_THIS, stead_ce_slice, "first", first);
  set_long(ZEND_THIS, stead_ce_slice, "last", last);
  set(ZEND_THIS, stead_ce_slice, "nodes", nodes);
  set_str(ZEND_THIS, stead_ce_slice, "policy", policy);
}

ZEND_METHOD(Stead_Move, __construct) {
  zend_long first, last;
  zend_string *from, *to, *cause;

  STEAD_NOT_NULL(1, "int");
  STEAD_NOT_NULL(2, "int");
  STEAD_NOT_NULL(5, "string");
  ZEND_PARSE_PARAMETERS_START(5, 5)
  Z_PARAM_LONG(first)
  Z_PARAM_LONG(last)
  Z_PARAM_STR_OR_NULL(from)
  Z_PARAM_STR_OR_NULL(to)
  Z_PARAM_STR(cause)
  ZEND_PARSE_PARAMETERS_END();
  set_long(ZEND_THIS, stead_ce_move, "first", first);
  set_long(ZEND_THIS, stead_ce_move, "last", last);
  set_str(ZEND_THIS, stead_ce_move, "from", from);
  set_str(ZEND_THIS, stead_ce_move, "to", to);
  set_str(ZEND_THIS, stead_ce_move, "cause", cause);
}

ZEND_METHOD(Stead_Affected, __construct) {
  zend_string *key, *from, *to;
  zend_long number;

  STEAD_NOT_NULL(1, "string|int");
  ZEND_PARSE_PARAMETERS_START(3, 3)
  Z_PARAM_STR_OR_LONG(key, number)
  Z_PARAM_STR_OR_NULL(from)
  Z_PARAM_STR_OR_NULL(to)
  ZEND_PARSE_PARAMETERS_END();
  if (key == NULL) {
    set_long(ZEND_THIS, stead_ce_affected, "key", number);
  } else {
    set_str(ZEND_THIS, stead_ce_affected, "key", key);
  }
  set_str(ZEND_THIS, stead_ce_affected, "from", from);
  set_str(ZEND_THIS, stead_ce_affected, "to", to);
}

ZEND_METHOD(Stead_Fold, of) {
  zend_string *key;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(key)
  ZEND_PARSE_PARAMETERS_END();
  if (zend_string_equals_literal(
          Z_STR_P(zend_enum_fetch_case_name(Z_OBJ_P(ZEND_THIS))), "None")) {
    RETURN_STR_COPY(key);
  }
  /* only A-Z, in every locale */
  zend_string *folded = zend_string_init(ZSTR_VAL(key), ZSTR_LEN(key), 0);
  for (size_t i = 0; i < ZSTR_LEN(folded); i++) {
    if (ZSTR_VAL(folded)[i] >= 'A' && ZSTR_VAL(folded)[i] <= 'Z') {
      ZSTR_VAL(folded)[i] |= 0x20;
    }
  }
  RETURN_STR(folded);
}

/* Returns the levels as text, for stead_path; NULL for the default. The caller
 * frees it. Sets `good` to false, and throws, when the levels have a wrong
 * type. */
static zend_string *written(HashTable *list, zend_string *text, bool *good) {
  smart_str levels = {0};
  zval *level;

  *good = true;
  if (list == NULL) {
    *good = text == NULL || stead_ends(text, "the levels");
    return text == NULL ? NULL : zend_string_copy(text);
  }
  ZEND_HASH_FOREACH_VAL(list, level) {
    ZVAL_DEREF(level);
    if (Z_TYPE_P(level) != IS_LONG) {
      zend_type_error("a level is an int, not %s", stead_type_of(level));
      *good = false;
      break;
    }
    if (levels.s != NULL) {
      smart_str_appendc(&levels, ',');
    }
    smart_str_append_long(&levels, Z_LVAL_P(level));
  }
  ZEND_HASH_FOREACH_END();
  return smart_str_extract(&levels);
}

ZEND_METHOD(Stead_Path, of) {
  zend_string *key, *text = NULL;
  HashTable *list = NULL;
  zend_object *fold = NULL;
  bool good;
  char path[STEAD_PATH_ROOM];
  size_t length;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 3)
  Z_PARAM_STR(key)
  Z_PARAM_OPTIONAL
  Z_PARAM_ARRAY_HT_OR_STR_OR_NULL(list, text)
  Z_PARAM_OBJ_OF_CLASS(fold, stead_ce_fold)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  zend_string *levels = written(list, text, &good);
  if (good) {
    bool ascii =
        fold != NULL && zend_string_equals_literal(
                            Z_STR_P(zend_enum_fetch_case_name(fold)), "Ascii");
    if (stead.stead_path(ZSTR_VAL(key), ZSTR_LEN(key),
                         levels == NULL ? NULL : ZSTR_VAL(levels),
                         ascii ? STEAD_FOLD_ASCII : STEAD_FOLD_NONE, path,
                         sizeof(path), &length, &error) == STEAD_OK) {
      RETVAL_STRINGL(path, length);
    } else {
      stead_fail(&error);
    }
  }
  if (levels != NULL) {
    zend_string_release(levels);
  }
}

ZEND_METHOD(Stead_Path, name) {
  zend_string *path, *text = NULL;
  HashTable *list = NULL;
  bool good;
  char name[STEAD_NAME_ROOM];
  size_t length;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 2)
  Z_PARAM_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_ARRAY_HT_OR_STR_OR_NULL(list, text)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  zend_string *levels = written(list, text, &good);
  if (good) {
    if (stead.stead_path_name(ZSTR_VAL(path), ZSTR_LEN(path),
                              levels == NULL ? NULL : ZSTR_VAL(levels), name,
                              sizeof(name), &length, &error) == STEAD_OK) {
      RETVAL_STRINGL(name, length);
    } else {
      stead_fail(&error);
    }
  }
  if (levels != NULL) {
    zend_string_release(levels);
  }
}

ZEND_METHOD(Stead_Path, survey) {
  HashTable *names, *list = NULL;
  zend_string *text = NULL;
  zend_long members = 0;
  bool no_members = true, good;
  zval *name;
  stead_batch batch;
  char *json;
  stead_error error;

  ZEND_PARSE_PARAMETERS_START(1, 3)
  Z_PARAM_ARRAY_HT(names)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG_OR_NULL(members, no_members)
  Z_PARAM_ARRAY_HT_OR_STR_OR_NULL(list, text)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded()) {
    RETURN_THROWS();
  }
  if (members < 0) {
    stead_throw(STEAD_INVALID, 0,
                "members is " ZEND_LONG_FMT
                ", and a number of members is at least 0",
                members);
    RETURN_THROWS();
  }
  zend_string *levels = written(list, text, &good);
  stead_batch_start(&batch, zend_hash_num_elements(names));
  ZEND_HASH_FOREACH_VAL(names, name) {
    ZVAL_DEREF(name);
    if (good && Z_TYPE_P(name) != IS_STRING) {
      stead_wrong_key("name", "names", names, name);
      good = false;
    }
    if (!good) {
      break;
    }
    stead_batch_add(&batch, Z_STR_P(name));
  }
  ZEND_HASH_FOREACH_END();
  if (good) {
    if (stead.stead_survey(batch.bytes, batch.length, batch.offsets,
                           batch.count, (uint64_t)members,
                           levels == NULL ? NULL : ZSTR_VAL(levels), &json,
                           &error) == STEAD_OK) {
      stead_decode(return_value, json);
    } else {
      stead_fail(&error);
    }
  }
  stead_batch_free(&batch);
  if (levels != NULL) {
    zend_string_release(levels);
  }
}

ZEND_METHOD(Stead_Point, hex) {
  zend_long point;

  STEAD_NOT_NULL(1, "int");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_LONG(point)
  ZEND_PARSE_PARAMETERS_END();
  RETURN_STR(strpprintf(0, "%016" PRIx64, (uint64_t)point));
}

ZEND_METHOD(Stead_Point, fromHex) {
  zend_string *digits;
  uint64_t point = 0;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(digits)
  ZEND_PARSE_PARAMETERS_END();
  bool good = ZSTR_LEN(digits) == 16;
  for (size_t i = 0; good && i < 16; i++) {
    char digit = ZSTR_VAL(digits)[i];
    good = (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') ||
           (digit >= 'A' && digit <= 'F');
    point =
        point << 4 | (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
  }
  if (!good) {
    zend_string *shown = php_addcslashes(digits, "\0..\37\"\\\177..\377",
                                         sizeof("\0..\37\"\\\177..\377") - 1);
    stead_throw(STEAD_INVALID, 0,
                "a point is written as 16 hex digits, not \"%s\"",
                ZSTR_VAL(shown));
    zend_string_release(shown);
    RETURN_THROWS();
  }
  RETURN_LONG((zend_long)point);
}

ZEND_METHOD(Stead_Point, compare) {
  zend_long first, second;

  STEAD_NOT_NULL(1, "int");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_LONG(first)
  Z_PARAM_LONG(second)
  ZEND_PARSE_PARAMETERS_END();
  RETURN_LONG((uint64_t)first<(uint64_t)second ? -1 : (uint64_t)first>(uint64_t)
                  second);
}
