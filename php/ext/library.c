/* libstead: finds it, loads it and resolves its functions, once, when PHP
 * starts. */

#include "php_stead.h"

#include "php_ini.h"

#include <dlfcn.h>
#include <sys/stat.h>

#define SONAME "libstead.so.1"

libstead stead;

/* The library that was loaded, and why it was not. Both are written only while
 * PHP starts. */
static char *loaded_file;
static char *refused;

static void refuse(const char *format, ...) {
  va_list arguments;

  va_start(arguments, format);
  free(refused);
  if (vasprintf(&refused, format, arguments) < 0) {
    refused = NULL;
  }
  va_end(arguments);
}

/* Returns whether the functions of a library are all there, and are those of
 * our stead.h. */
static bool resolve(void *handle, const char *file) {
  libstead found;

  found.stead_abi = (__typeof__(found.stead_abi))dlsym(handle, "stead_abi");
  if (found.stead_abi != NULL && found.stead_abi() != STEAD_ABI) {
    refuse("%s has the binary interface %d, and this extension needs %d: "
           "install both of one version",
           file, found.stead_abi(), STEAD_ABI);
    return false;
  }
#define STEAD(name)                                                            \
  found.name = (__typeof__(found.name))dlsym(handle, #name);                   \
  if (found.name == NULL) {                                                    \
    refuse("%s is not libstead, or an older one (it lacks %s): install "       \
           "library and extension of one version",                             \
           file, #name);                                                       \
    return false;                                                              \
  }
#include "libstead.inc"
#undef STEAD
  stead = found;
  return true;
}

/* Returns the likely reason why a file that somebody named cannot be loaded. */
static const char *reason(const char *file) {
  struct stat found;

  if (stat(file, &found) != 0) {
    return "there is no such file";
  }
  if (S_ISDIR(found.st_mode)) {
    return "it is a directory; name the file in it, such as " SONAME;
  }
  return "it is no library, not for this processor, lacks another library, or "
         "may not be read";
}

void stead_load(void) {
  const char *whose = "the environment's STEAD_LIBRARY";
  const char *file = getenv("STEAD_LIBRARY");

  if (file == NULL || *file == '\0') {
    whose = "php.ini's stead.library";
    file = zend_ini_string_ex("stead.library", sizeof("stead.library") - 1, 0,
                              NULL);
    if (file == NULL || *file == '\0' || strcmp(file, SONAME) == 0) {
      whose = NULL;
      file = SONAME;
    }
  }
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *why = dlerror();
    if (whose == NULL) {
      refuse("libstead is not found: neither STEAD_LIBRARY in the environment "
             "nor stead.library in php.ini names it, and the "
             "system does not know it (%s): install it (make install and "
             "ldconfig, or a package such as libstead1), or name its file, and "
             "restart PHP",
             why);
    } else {
      refuse("%s, %s, cannot be loaded: %s (%s)", file, whose, reason(file),
             why);
    }
  } else if (resolve(handle, file)) {
    /* The library stays loaded until the process ends: its maps are cached
     * beyond the end of requests. */
    loaded_file = strdup(file);
    return;
  } else {
    dlclose(handle);
  }
  php_error_docref(NULL, E_WARNING, "%s",
                   refused != NULL ? refused : "out of memory");
}

bool stead_loaded(void) {
  if (EXPECTED(loaded_file != NULL)) {
    return true;
  }
  stead_throw_library(refused != NULL ? refused : "libstead is not loaded");
  return false;
}

ZEND_METHOD(Stead_Library, backend) {
  ZEND_PARSE_PARAMETERS_NONE();
  RETURN_STRING("extension");
}

ZEND_METHOD(Stead_Library, load) {
  zend_string *file = NULL;

  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(file)
  ZEND_PARSE_PARAMETERS_END();

  if (stead_loaded() && file != NULL &&
      !zend_string_equals_cstr(file, loaded_file, strlen(loaded_file))) {
    zend_string *message = strpprintf(
        0,
        "libstead is loaded already, %s: the extension loads it when PHP "
        "starts; write stead.library = %s into php.ini, and restart",
        loaded_file, ZSTR_VAL(file));
    stead_throw_library(ZSTR_VAL(message));
    zend_string_release(message);
  }
}

ZEND_METHOD(Stead_Library, file) {
  ZEND_PARSE_PARAMETERS_NONE();
  if (stead_loaded()) {
    RETURN_STRING(loaded_file);
  }
}

ZEND_METHOD(Stead_Library, version) {
  ZEND_PARSE_PARAMETERS_NONE();
  if (stead_loaded()) {
    RETURN_STRING(stead.stead_version());
  }
}
