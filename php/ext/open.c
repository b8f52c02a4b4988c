/* Stead\Map: opening, building and applying, old epochs. */

#include "php_stead.h"

static void returned(zval *return_value, int32_t status, stead_map *map,
                     const stead_error *error) {
  if (status == STEAD_OK) {
    object_init_ex(return_value, stead_ce_map);
    stead_map_of(Z_OBJ_P(return_value))->map = map;
  } else {
    stead_fail(error);
  }
}

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

ZEND_METHOD(Stead_Map, openEpoch) {
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
  int32_t status =
      stead.stead_map_open_epoch(ZSTR_VAL(path), (uint64_t)epoch, &map, &error);
  returned(return_value, status, map, &error);
}

ZEND_METHOD(Stead_Map, rollback) {
  zend_string *path, *back = NULL;
  zend_long epoch;
  stead_map *map;
  stead_error error;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "int");
  ZEND_PARSE_PARAMETERS_START(2, 3)
  Z_PARAM_STR(path)
  Z_PARAM_LONG(epoch)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(back)
  ZEND_PARSE_PARAMETERS_END();
  if (!stead_loaded() || !stead_ends(path, "the path") ||
      (back && !stead_ends(back, "back"))) {
    RETURN_THROWS();
  }
  int32_t status =
      stead.stead_map_rollback(ZSTR_VAL(path), (uint64_t)epoch,
                               back ? ZSTR_VAL(back) : NULL, &map, &error);
  returned(return_value, status, map, &error);
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
  stead_map *before = stead_map_given(previous, &good);
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
  stead_map *before = stead_map_given(previous, &good);
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
