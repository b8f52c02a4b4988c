/* The exceptions: one class for each status of libstead. */

#include "php_stead.h"

#include "ext/json/php_json.h"
#include "ext/standard/php_string.h"
#include "zend_enum.h"

/* The name of a case of Status; NULL for a status that a newer library added.
 */
static const char *case_of(zend_long status) {
  switch (status) {
  case STEAD_INVALID:
    return "Invalid";
  case STEAD_FLEET:
    return "Fleet";
  case STEAD_IMPOSSIBLE:
    return "Impossible";
  case STEAD_FORMAT:
    return "Format";
  case STEAD_DIGEST:
    return "Digest";
  case STEAD_VERSION:
    return "Version";
  case STEAD_IDENTITY:
    return "Identity";
  case STEAD_NOT_FOUND:
    return "NotFound";
  case STEAD_IO:
    return "Io";
  case STEAD_CONFLICT:
    return "Conflict";
  case STEAD_UNCERTAIN:
    return "Uncertain";
  case STEAD_CHANGED:
    return "Changed";
  case STEAD_NAME:
    return "Name";
  case STEAD_INTERNAL:
    return "Internal";
  case STEAD_PERMISSION:
    return "Permission";
  case STEAD_MEMORY:
    return "Memory";
  case STEAD_GUARDED:
    return "Guarded";
  default:
    return NULL;
  }
}

/* Gives the properties of an exception their only values. */
static void fill(zend_object *object, zend_long status, zend_long os_errno) {
  const char *name = case_of(status);

  if (name == NULL) {
    zend_update_property_null(stead_ce_exception, object, "status",
                              sizeof("status") - 1);
  } else {
    zval value;
    ZVAL_OBJ(&value, zend_enum_get_case_cstr(stead_ce_status, name));
    zend_update_property(stead_ce_exception, object, "status",
                         sizeof("status") - 1, &value);
  }
  zend_update_property_long(stead_ce_exception, object, "errno",
                            sizeof("errno") - 1, os_errno);
}

static zend_object *made(int32_t status, int32_t os_errno,
                         zend_string *message) {
  zval exception;

  object_init_ex(&exception, stead_class_of(status));
  zend_update_property_str(zend_ce_exception, Z_OBJ(exception), "message",
                           sizeof("message") - 1, message);
  zend_update_property_long(zend_ce_exception, Z_OBJ(exception), "code",
                            sizeof("code") - 1, status);
  fill(Z_OBJ(exception), status, os_errno);
  return Z_OBJ(exception);
}

void stead_throw_str(int32_t status, int32_t os_errno, zend_string *message) {
  zval exception;

  ZVAL_OBJ(&exception, made(status, os_errno, message));
  zend_throw_exception_object(&exception);
}

void stead_throw(int32_t status, int32_t os_errno, const char *format, ...) {
  va_list arguments;

  va_start(arguments, format);
  zend_string *message = zend_vstrpprintf(0, format, arguments);
  va_end(arguments);
  stead_throw_str(status, os_errno, message);
  zend_string_release(message);
}

void stead_throw_library(const char *message) {
  zend_object *exception =
      zend_throw_exception(stead_ce_library_exception, message, 0);

  fill(exception, 0, 0);
}

void stead_fail(const stead_error *error) {
  stead_throw(error->status, error->os_errno, "%s", error->message);
}

bool stead_ends(const zend_string *text, const char *what) {
  if (EXPECTED(strlen(ZSTR_VAL(text)) == ZSTR_LEN(text))) {
    return true;
  }
  zend_string *shown = php_addcslashes((zend_string *)text, "\0..\37\"\\\177",
                                       sizeof("\0..\37\"\\\177") - 1);
  stead_throw(STEAD_INVALID, 0, "%s has a NUL byte: %s", what, ZSTR_VAL(shown));
  zend_string_release(shown);
  return false;
}

const char *stead_type_of(const zval *value) {
  return Z_TYPE_P(value) == IS_OBJECT ? ZSTR_VAL(Z_OBJCE_P(value)->name)
                                      : zend_zval_type_name(value);
}

void stead_decode(zval *return_value, char *json) {
  php_json_decode_ex(return_value, json, strlen(json),
                     PHP_JSON_OBJECT_AS_ARRAY | PHP_JSON_THROW_ON_ERROR,
                     PHP_JSON_PARSER_DEFAULT_DEPTH);
  stead.stead_text_free(json);
}

ZEND_METHOD(Stead_Exception, __construct) {
  zend_string *message;
  zend_long status = 0, os_errno = 0;
  zend_object *previous = NULL;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "int");
  STEAD_NOT_NULL(3, "int");
  ZEND_PARSE_PARAMETERS_START(1, 4)
  Z_PARAM_STR(message)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(status)
  Z_PARAM_LONG(os_errno)
  Z_PARAM_OBJ_OF_CLASS_OR_NULL(previous, zend_ce_throwable)
  ZEND_PARSE_PARAMETERS_END();

  zend_object *object = Z_OBJ_P(ZEND_THIS);
  zend_update_property_str(zend_ce_exception, object, "message",
                           sizeof("message") - 1, message);
  zend_update_property_long(zend_ce_exception, object, "code",
                            sizeof("code") - 1, status);
  if (previous != NULL) {
    zval value;
    ZVAL_OBJ(&value, previous);
    zend_update_property(zend_ce_exception, object, "previous",
                         sizeof("previous") - 1, &value);
  }
  fill(object, status, os_errno);
}

ZEND_METHOD(Stead_Exception, of) {
  zend_object *status_case = NULL;
  zend_long status = 0, os_errno = 0;
  zend_string *message;

  STEAD_NOT_NULL(1, "Stead\\Status|int");
  STEAD_NOT_NULL(2, "string");
  STEAD_NOT_NULL(3, "int");
  ZEND_PARSE_PARAMETERS_START(2, 3)
  Z_PARAM_OBJ_OF_CLASS_OR_LONG(status_case, stead_ce_status, status)
  Z_PARAM_STR(message)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(os_errno)
  ZEND_PARSE_PARAMETERS_END();
  if (status_case != NULL) {
    status = Z_LVAL_P(zend_enum_fetch_case_value(status_case));
  }
  RETURN_OBJ(made((int32_t)status, (int32_t)os_errno, message));
}
