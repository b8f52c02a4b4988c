/* Keys of an array, end to end, for calls that take many keys. */

#include "php_stead.h"

void stead_batch_start(stead_batch *batch, size_t room) {
  *batch = (stead_batch){.room = room};
  batch->offsets = safe_emalloc(room + 1, sizeof(*batch->offsets), 0);
  batch->places = safe_emalloc(room, sizeof(*batch->places), 0);
  batch->offsets[0] = 0;
}

/* Copies the bytes of a key. Nearly all keys are short, and these few moves are
 * quicker than memcpy, which has to find out how many there are. */
static zend_always_inline void copy(char *to, const char *from, size_t length) {
  if (length >= 8 && length <= 16) {
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, from + length - 8, 8);
    memcpy(to, &first, 8);
    memcpy(to + length - 8, &last, 8);
  } else if (length >= 4 && length < 8) {
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + length - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + length - 4, &last, 4);
  } else {
    memcpy(to, from, length);
  }
}

static zend_never_inline void widen(stead_batch *batch, size_t length) {
  batch->space = 2 * zend_safe_addmult(1, length, batch->length, "stead") +
                 16 * batch->room;
  batch->bytes = erealloc(batch->bytes, batch->space);
}

static zend_always_inline void add(stead_batch *batch, const zend_string *key,
                                   zval *place) {
  if (UNEXPECTED(ZSTR_LEN(key) > batch->space - batch->length)) {
    widen(batch, ZSTR_LEN(key));
  }
  copy(batch->bytes + batch->length, ZSTR_VAL(key), ZSTR_LEN(key));
  batch->length += ZSTR_LEN(key);
  batch->places[batch->count] = place;
  batch->offsets[++batch->count] = batch->length;
}

void stead_batch_add(stead_batch *batch, const zend_string *key) {
  add(batch, key, NULL);
}

void stead_batch_free(stead_batch *batch) {
  efree(batch->offsets);
  efree(batch->places);
  if (batch->bytes != NULL) {
    efree(batch->bytes);
  }
}

void stead_wrong_key(const char *what, const char *array, HashTable *keys,
                     const zval *wrong) {
  zend_ulong index;
  zend_string *name, *place = NULL;
  zval *key;

  ZEND_HASH_FOREACH_KEY_VAL(keys, index, name, key) {
    ZVAL_DEREF(key);
    if (key == wrong) {
      place = name != NULL ? zend_string_copy(name)
                           : zend_long_to_str((zend_long)index);
      break;
    }
  }
  ZEND_HASH_FOREACH_END();
  zend_type_error("a %s is a string, not $%s[%s], which is %s", what, array,
                  ZSTR_VAL(place), stead_type_of(wrong));
  zend_string_release(place);
}

/* The first value of an array, and the distance to the next one: a list has
 * values since PHP 8.2, and buckets otherwise, which begin with their values.
 */
static zval *values(HashTable *array, size_t *stride) {
  *stride = sizeof(Bucket);
#if PHP_VERSION_ID >= 80200
  if (HT_IS_PACKED(array)) {
    *stride = sizeof(zval);
  }
#endif
  return (zval *)array->arData;
}

bool stead_batch_walk(HashTable *keys, HashTable *beside,
                      stead_batch_work *work, void *context) {
  stead_batch batch;
  size_t stride, room = MIN(zend_hash_num_elements(keys), STEAD_BATCH);
  char *place = (char *)values(beside, &stride);
  bool good = true;
  zval *key;

  stead_batch_start(&batch, room);
  ZEND_HASH_FOREACH_VAL(keys, key) {
    while (UNEXPECTED(Z_TYPE_P((zval *)place) == IS_UNDEF)) {
      place += stride;
    }
    ZVAL_DEREF(key);
    if (EXPECTED(Z_TYPE_P(key) == IS_STRING)) {
      add(&batch, Z_STR_P(key), (zval *)place);
      if (batch.count == room) {
        if (!(good = work(&batch, context))) {
          break;
        }
        batch.count = batch.length = 0;
      }
    } else if (Z_TYPE_P(key) != IS_NULL) {
      stead_wrong_key("key", "keys", keys, key);
      good = false;
      break;
    }
    place += stride;
  }
  ZEND_HASH_FOREACH_END();
  if (good && batch.count > 0) {
    good = work(&batch, context);
  }
  stead_batch_free(&batch);
  return good;
}
