/* Keys of an array, end to end, for calls that take many keys. */

#include "php_stead.h"

void stead_batch_start(stead_batch *batch, size_t room) {
  *batch = (stead_batch){.room = room};
  batch->offsets = safe_emalloc(room + 1, sizeof(*batch->offsets), 0);
  batch->places = safe_emalloc(room, sizeof(*batch->places), 0);
  batch->offsets[0] = 0;
}

void stead_batch_add(stead_batch *batch, const zend_string *key,
                     zend_ulong index, zend_string *name) {
  if (batch->length + ZSTR_LEN(key) > batch->space) {
    batch->space = 2 * (batch->length + ZSTR_LEN(key)) + 1024;
    batch->bytes = erealloc(batch->bytes, batch->space);
  }
  memcpy(batch->bytes + batch->length, ZSTR_VAL(key), ZSTR_LEN(key));
  batch->length += ZSTR_LEN(key);
  if (name != NULL) {
    ZVAL_STR(&batch->places[batch->count], name);
  } else {
    ZVAL_LONG(&batch->places[batch->count], (zend_long)index);
  }
  batch->offsets[++batch->count] = batch->length;
}

void stead_batch_clear(stead_batch *batch) { batch->count = batch->length = 0; }

void stead_batch_free(stead_batch *batch) {
  efree(batch->offsets);
  efree(batch->places);
  if (batch->bytes != NULL) {
    efree(batch->bytes);
  }
}

void stead_wrong_key(const char *what, const char *array, const zval *key,
                     zend_ulong index, const zend_string *name) {
  zend_string *place = name != NULL ? zend_string_copy((zend_string *)name)
                                    : zend_long_to_str((zend_long)index);

  zend_type_error("a %s is a string, not $%s[%s], which is %s", what, array,
                  ZSTR_VAL(place), stead_type_of(key));
  zend_string_release(place);
}
