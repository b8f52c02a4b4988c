/* The extension "stead": where does this key live? It registers the classes and
 * loads libstead. */

#include "php_stead.h"

#include "ext/json/php_json.h"
#include "ext/spl/spl_exceptions.h"
#include "ext/standard/info.h"
#include "php_ini.h"
#include "zend_enum.h"
#include "zend_interfaces.h"

#include "stead_arginfo.h"

zend_class_entry *stead_ce_exception;
zend_class_entry *stead_ce_library_exception;
zend_class_entry *stead_ce_status;
zend_class_entry *stead_ce_fold;
zend_class_entry *stead_ce_map;
zend_class_entry *stead_ce_node;
zend_class_entry *stead_ce_policy;
zend_class_entry *stead_ce_slice;
zend_class_entry *stead_ce_pair;
zend_class_entry *stead_ce_plan;
zend_class_entry *stead_ce_move;
zend_class_entry *stead_ce_affected;

/* The class of the exceptions for each status; NULL where there is none. */
static zend_class_entry *classes[STEAD_GUARDED + 1];

zend_class_entry *stead_class_of(int32_t status) {
  /* a newer library may have more */
  return status >= 0 && status <= STEAD_GUARDED && classes[status] != NULL
             ? classes[status]
             : stead_ce_exception;
}

PHP_INI_BEGIN()
PHP_INI_ENTRY("stead.library", "libstead.so.1", PHP_INI_SYSTEM, NULL)
PHP_INI_END()

static PHP_MINIT_FUNCTION(stead) {
  REGISTER_INI_ENTRIES();

  stead_ce_status = register_class_Stead_Status();
  stead_ce_fold = register_class_Stead_Fold();
  /* PHP 8.1 and 8.2 forget this for the enums of extensions */
  stead_ce_status->ce_flags |= ZEND_ACC_FINAL;
  stead_ce_fold->ce_flags |= ZEND_ACC_FINAL;
  stead_ce_exception = register_class_Stead_Exception(spl_ce_RuntimeException);
  register_class_Stead_Library();
  stead_ce_map = register_class_Stead_Map(php_json_serializable_ce);
  stead_ce_node = register_class_Stead_Node(php_json_serializable_ce);
  stead_ce_policy = register_class_Stead_Policy();
  stead_ce_slice = register_class_Stead_Slice();
  stead_ce_pair = register_class_Stead_Pair();
  stead_ce_plan = register_class_Stead_Plan(
      zend_ce_countable, zend_ce_aggregate, php_json_serializable_ce);
  stead_ce_move = register_class_Stead_Move();
  stead_ce_affected = register_class_Stead_Affected();
  register_class_Stead_Path();
  register_class_Stead_Point();
  stead_map_startup();
  stead_pair_startup();
  stead_plan_startup();

  zend_class_entry *top = stead_ce_exception;
  classes[STEAD_INVALID] = register_class_Stead_Exception_InvalidException(top);
  classes[STEAD_FLEET] = register_class_Stead_Exception_FleetException(top);
  classes[STEAD_IMPOSSIBLE] =
      register_class_Stead_Exception_ImpossibleException(top);
  classes[STEAD_FORMAT] = register_class_Stead_Exception_FormatException(top);
  classes[STEAD_DIGEST] =
      register_class_Stead_Exception_DigestException(classes[STEAD_FORMAT]);
  classes[STEAD_VERSION] = register_class_Stead_Exception_VersionException(top);
  classes[STEAD_IDENTITY] =
      register_class_Stead_Exception_IdentityException(top);
  classes[STEAD_IO] = register_class_Stead_Exception_IoException(top);
  classes[STEAD_NOT_FOUND] =
      register_class_Stead_Exception_NotFoundException(classes[STEAD_IO]);
  classes[STEAD_PERMISSION] =
      register_class_Stead_Exception_PermissionDeniedException(
          classes[STEAD_IO]);
  classes[STEAD_CONFLICT] =
      register_class_Stead_Exception_ConflictException(top);
  classes[STEAD_UNCERTAIN] =
      register_class_Stead_Exception_UncertainException(classes[STEAD_IO]);
  classes[STEAD_CHANGED] = register_class_Stead_Exception_ChangedException(top);
  classes[STEAD_NAME] = register_class_Stead_Exception_PathNameException(top);
  classes[STEAD_INTERNAL] =
      register_class_Stead_Exception_InternalException(top);
  classes[STEAD_MEMORY] =
      register_class_Stead_Exception_OutOfMemoryException(top);
  classes[STEAD_GUARDED] = register_class_Stead_Exception_GuardedException(top);
  stead_ce_library_exception =
      register_class_Stead_Exception_LibraryException(top);

  /* After the classes: with a library that is missing, PHP starts all the same,
   * and the classes say why they cannot work. */
  stead_load();
  return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(stead) {
  UNREGISTER_INI_ENTRIES();
  return SUCCESS;
}

static PHP_MINFO_FUNCTION(stead) {
  php_info_print_table_start();
  php_info_print_table_row(2, "stead", "enabled");
  php_info_print_table_row(2, "extension", PHP_STEAD_VERSION);
  php_info_print_table_row(2, "libstead",
                           stead.stead_version == NULL ? "not loaded"
                                                       : stead.stead_version());
  php_info_print_table_end();
  DISPLAY_INI_ENTRIES();
}

static const zend_module_dep dependencies[] = {
    ZEND_MOD_REQUIRED("json") ZEND_MOD_REQUIRED("spl") ZEND_MOD_END};

zend_module_entry stead_module_entry = {STANDARD_MODULE_HEADER_EX,
                                        NULL,
                                        dependencies,
                                        "stead",
                                        NULL,
                                        PHP_MINIT(stead),
                                        PHP_MSHUTDOWN(stead),
                                        NULL,
                                        NULL,
                                        PHP_MINFO(stead),
                                        PHP_STEAD_VERSION,
                                        STANDARD_MODULE_PROPERTIES};

#ifdef COMPILE_DL_STEAD
ZEND_GET_MODULE(stead)
#endif
