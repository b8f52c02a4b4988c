/* Converts a fleet that is an array to a JSON text of the same shape, so that
 * every rule and every message is that of a fleet file. php/src/Fleet.php does
 * the same in PHP.
 *
 * Each value is on its own line of the text, and messages name the place in the
 * array instead of the line. Numbers are written as exact decimals: an int as
 * it is, a float as the shortest decimal that converts to the same float. */

#include "php_stead.h"

#include "ext/json/php_json.h"
#include "ext/standard/php_string.h"
#include "zend_smart_str.h"
#include "zend_strtod.h"

/* The greatest depth of nested arrays; a fleet needs four. */
#define DEEPEST 32

static bool write_value(stead_fleet_text *fleet, smart_str *text, zval *value,
                        zend_string *place, bool table, int depth);

/* Notes the place of the next line. */
static void note(stead_fleet_text *fleet, zend_string *place) {
  if (fleet->count == fleet->room) {
    fleet->room = fleet->room == 0 ? 64 : 2 * fleet->room;
    fleet->places =
        safe_erealloc(fleet->places, fleet->room, sizeof(*fleet->places), 0);
  }
  fleet->places[fleet->count++] = zend_string_copy(place);
}

static bool write_string(smart_str *text, zend_string *string,
                         zend_string *place) {
  zval value;

  ZVAL_STR(&value, string);
  if (php_json_encode(text, &value,
                      PHP_JSON_UNESCAPED_SLASHES |
                          PHP_JSON_UNESCAPED_UNICODE) == SUCCESS) {
    return true;
  }
  stead_throw(STEAD_FLEET, 0, "%s: a text is not UTF-8", ZSTR_VAL(place));
  return false;
}

/* Writes the decimal of a float, which depends neither on php.ini's precision
 * nor on the locale. */
static bool write_float(smart_str *text, double value, zend_string *place) {
  for (int places = 0; places <= 20 && zend_finite(value); places++) {
    zend_string *decimal = strpprintf(0, "%.*F", places, value);
    bool same = zend_strtod(ZSTR_VAL(decimal), NULL) == value;
    if (same) {
      smart_str_append(text, decimal);
    }
    zend_string_release(decimal);
    if (same) {
      return true;
    }
  }
  smart_str shown = {0};
  if (zend_isnan(value)) {
    smart_str_appends(&shown, "\"NAN\"");
  } else if (!zend_finite(value)) {
    smart_str_appends(&shown, value > 0 ? "\"INF\"" : "\"-INF\"");
  } else {
    zval number;
    ZVAL_DOUBLE(&number, value);
    php_json_encode(&shown, &number, 0);
  }
  smart_str_0(&shown);
  stead_throw(STEAD_FLEET, 0, "%s: %s is not a number that a fleet can have",
              ZSTR_VAL(place), ZSTR_VAL(shown.s));
  smart_str_free(&shown);
  return false;
}

static bool write_list(stead_fleet_text *fleet, smart_str *text,
                       HashTable *list, zend_string *place, int depth) {
  zval *value;
  zend_ulong i = 0;
  bool good = true;

  smart_str_appendc(text, '[');
  ZEND_HASH_FOREACH_VAL(list, value) {
    zend_string *inner =
        strpprintf(0, "%s[" ZEND_ULONG_FMT "]", ZSTR_VAL(place), i);
    note(fleet, inner);
    smart_str_appends(text, i++ == 0 ? "\n" : ",\n");
    good = write_value(fleet, text, value, inner, false, depth);
    zend_string_release(inner);
    if (!good) {
      return false;
    }
  }
  ZEND_HASH_FOREACH_END();
  smart_str_appendc(text, ']');
  return true;
}

/* Whether the values of this name are never lists, even if they are empty or
 * their keys are 0, 1, ... */
static bool is_table(const zend_string *key) {
  return zend_string_equals_literal(key, "labels") ||
         zend_string_equals_literal(key, "attributes");
}

static bool write_table(stead_fleet_text *fleet, smart_str *text,
                        HashTable *table, zend_string *place, int depth) {
  zval *value;
  zend_ulong index;
  zend_string *name;
  bool first = true, good = true;

  smart_str_appendc(text, '{');
  ZEND_HASH_FOREACH_KEY_VAL(table, index, name, value) {
    zend_string *key = name != NULL ? zend_string_copy(name)
                                    : zend_long_to_str((zend_long)index);
    zend_string *shown =
        php_addcslashes(key, "\0..\37'\\\177", sizeof("\0..\37'\\\177") - 1);
    zend_string *inner =
        strpprintf(0, "%s['%s']", ZSTR_VAL(place), ZSTR_VAL(shown));
    zend_string_release(shown);
    note(fleet, inner);
    smart_str_appends(text, first ? "\n" : ",\n");
    first = false;
    good = write_string(text, key, place);
    if (good) {
      smart_str_appends(text, ": ");
      good = write_value(fleet, text, value, inner, is_table(key), depth);
    }
    zend_string_release(inner);
    zend_string_release(key);
    if (!good) {
      return false;
    }
  }
  ZEND_HASH_FOREACH_END();
  smart_str_appendc(text, '}');
  return true;
}

static bool write_value(stead_fleet_text *fleet, smart_str *text, zval *value,
                        zend_string *place, bool table, int depth) {
  ZVAL_DEREF(value);
  switch (Z_TYPE_P(value)) {
  case IS_ARRAY:
    if (depth == 0) {
      stead_throw(STEAD_FLEET, 0, "%s: arrays lie too deep in each other",
                  ZSTR_VAL(place));
      return false;
    }
    return zend_array_is_list(Z_ARRVAL_P(value)) && !table
               ? write_list(fleet, text, Z_ARRVAL_P(value), place, depth - 1)
               : write_table(fleet, text, Z_ARRVAL_P(value), place, depth - 1);
  case IS_STRING:
    return write_string(text, Z_STR_P(value), place);
  case IS_LONG:
    smart_str_append_long(text, Z_LVAL_P(value));
    return true;
  case IS_TRUE:
  case IS_FALSE:
    smart_str_appends(text, Z_TYPE_P(value) == IS_TRUE ? "true" : "false");
    return true;
  case IS_DOUBLE:
    return write_float(text, Z_DVAL_P(value), place);
  default:
    zend_type_error(
        "%s: a fleet has string, int, float, bool and array, not %s",
        ZSTR_VAL(place), stead_type_of(value));
    return false;
  }
}

bool stead_fleet_write(stead_fleet_text *fleet, HashTable *array) {
  smart_str text = {0};
  zend_string *place = zend_string_init("fleet", sizeof("fleet") - 1, 0);

  *fleet = (stead_fleet_text){0};
  note(fleet, place);
  bool good = write_table(fleet, &text, array, place, DEEPEST);
  zend_string_release(place);
  if (good) {
    fleet->text = smart_str_extract(&text);
  } else {
    smart_str_free(&text);
  }
  return good;
}

void stead_fleet_free(stead_fleet_text *fleet) {
  for (size_t i = 0; i < fleet->count; i++) {
    zend_string_release(fleet->places[i]);
  }
  if (fleet->places != NULL) {
    efree(fleet->places);
  }
  if (fleet->text != NULL) {
    zend_string_release(fleet->text);
  }
}

/* Returns the place of a line whose number is at `digits`, and how long the
 * number is; NULL when there is none. */
static zend_string *place_of(const stead_fleet_text *fleet, const char *digits,
                             size_t *length) {
  *length = strspn(digits, "0123456789");
  if (*length == 0 || *length > 9) {
    return NULL;
  }
  size_t line = strtoul(digits, NULL, 10);
  return line >= 1 && line <= fleet->count ? fleet->places[line - 1] : NULL;
}

zend_string *stead_fleet_placed(const stead_fleet_text *fleet,
                                const char *message, const char *name) {
  static const char in_line[] = "in line ";
  smart_str text = {0};
  size_t length = strlen(name);
  zend_string *place;

  /* `fleet:3: ` at the beginning, and `in line 3` anywhere */
  if (strncmp(message, name, length) == 0 && message[length] == ':') {
    size_t digits;
    place = place_of(fleet, message + length + 1, &digits);
    if (place != NULL && strncmp(message + length + 1 + digits, ": ", 2) == 0) {
      smart_str_append(&text, place);
      message += length + 1 + digits;
    }
  }
  while (*message != '\0') {
    const char *next = strstr(message, in_line);
    if (next == NULL) {
      break;
    }
    smart_str_appendl(&text, message, next - message);
    place = place_of(fleet, next + sizeof(in_line) - 1, &length);
    if (place != NULL) {
      smart_str_appends(&text, "in ");
      smart_str_append(&text, place);
      message = next + sizeof(in_line) - 1 + length;
    } else {
      smart_str_appends(&text, in_line);
      message = next + sizeof(in_line) - 1;
    }
  }
  smart_str_appends(&text, message);
  return smart_str_extract(&text);
}
