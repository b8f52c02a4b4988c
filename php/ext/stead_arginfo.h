/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 827cba1a2bb847fc24d5ca32dcad57f550ea7f1b */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Fold_of, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Exception___construct, 0, 0, 1)
	ZEND_ARG_TYPE_INFO(0, message, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, status, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, errno, IS_LONG, 0, "0")
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, previous, Throwable, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Exception_of, 0, 2, Stead\\Exception, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, status, Stead\\Status, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_INFO(0, message, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, errno, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Library_backend, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Library_load, 0, 0, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, file, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Library_file arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Library_version arginfo_class_Stead_Library_backend

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Map___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_open, 0, 1, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, copy, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_openUncached, 0, 1, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_openEpoch, 0, 2, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, epoch, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_fromBytes, 0, 1, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, bytes, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_build, 0, 1, Stead\\Map, 0)
	ZEND_ARG_TYPE_MASK(0, fleet, MAY_BE_STRING|MAY_BE_ARRAY, NULL)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, previous, Stead\\Map, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, maxMove, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_buildFile, 0, 1, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, previous, Stead\\Map, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, maxMove, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_apply, 0, 2, Stead\\Map, 0)
	ZEND_ARG_TYPE_MASK(0, fleet, MAY_BE_STRING|MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, maxMove, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, allow, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_applyFile, 0, 2, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, fleet, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, maxMove, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, allow, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_history, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_rollback, 0, 2, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, epoch, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, back, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, allow, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_peek arginfo_class_Stead_Map_history

#define arginfo_class_Stead_Map_locate arginfo_class_Stead_Fold_of

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_locateAll, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_locateMany, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_locateAllMany arginfo_class_Stead_Map_locateMany

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_prefer, 0, 2, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, n, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_point, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_locatePoint, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, point, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_locateAllPoint, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, point, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_name arginfo_class_Stead_Library_backend

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_epoch, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_digest arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Map_parent arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Map_replicas arginfo_class_Stead_Map_epoch

#define arginfo_class_Stead_Map_hash arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Map_keyRule arginfo_class_Stead_Library_backend

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_spread, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_nodes arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Map_node, 0, 1, Stead\\\116ode, 1)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_attribute, 0, 2, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, node, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, attribute, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_label, 0, 2, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, node, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, label, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_policies arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Map_slices arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_publish, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, previous, Stead\\Map, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, allow, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_save, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_toBytes arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Map_fleet arginfo_class_Stead_Library_backend

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map_same, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_OBJ_INFO(0, other, Stead\\Map, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map_report arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Map_jsonSerialize arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map___clone, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map___serialize arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Map___unserialize, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, data, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Map___debugInfo arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Node___construct arginfo_class_Stead_Map___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Node_label, 0, 1, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, label, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Node_labels arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Node_attribute, 0, 1, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, attribute, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Node_attributes arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Node_leaving, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Node_jsonSerialize arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Node___debugInfo arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Policy___construct, 0, 0, 4)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, kind, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, weight, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, nodes, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Slice___construct, 0, 0, 4)
	ZEND_ARG_TYPE_INFO(0, first, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, last, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, nodes, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, policy, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Plan___construct arginfo_class_Stead_Map___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Plan_between, 0, 2, Stead\\Plan, 0)
	ZEND_ARG_OBJ_INFO(0, old, Stead\\Map, 0)
	ZEND_ARG_OBJ_INFO(0, new, Stead\\Map, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Plan_old, 0, 0, Stead\\Map, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Plan_new arginfo_class_Stead_Plan_old

#define arginfo_class_Stead_Plan_count arginfo_class_Stead_Map_epoch

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Plan_getIterator, 0, 0, Iterator, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Plan_moves arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Plan_affects arginfo_class_Stead_Map_locateAll

#define arginfo_class_Stead_Plan_affectsPoint arginfo_class_Stead_Map_locateAllPoint

#define arginfo_class_Stead_Plan_affectsMany arginfo_class_Stead_Map_locateMany

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Plan_fraction, 0, 0, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Plan_moved arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Plan_lowerBound arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Plan_byHand arginfo_class_Stead_Library_backend

#define arginfo_class_Stead_Plan_reordered arginfo_class_Stead_Library_backend

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Plan_report, 0, 0, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, moves, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Plan_jsonSerialize arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Plan___clone arginfo_class_Stead_Map___clone

#define arginfo_class_Stead_Plan___serialize arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Plan___unserialize arginfo_class_Stead_Map___unserialize

#define arginfo_class_Stead_Plan___debugInfo arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Pair___construct arginfo_class_Stead_Map___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Pair_open, 0, 1, Stead\\Pair, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, copy, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, epoch, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, state, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Pair_between, 0, 3, Stead\\Pair, 0)
	ZEND_ARG_OBJ_INFO(0, old, Stead\\Map, 0)
	ZEND_ARG_OBJ_INFO(0, new, Stead\\Map, 0)
	ZEND_ARG_TYPE_INFO(0, state, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Pair_state, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Pair_new arginfo_class_Stead_Plan_old

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Stead_Pair_old, 0, 0, Stead\\Map, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Pair_reads arginfo_class_Stead_Map_locateAll

#define arginfo_class_Stead_Pair_writes arginfo_class_Stead_Map_locateAll

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Pair_moved, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Pair_readsPoint arginfo_class_Stead_Map_locateAllPoint

#define arginfo_class_Stead_Pair_writesPoint arginfo_class_Stead_Map_locateAllPoint

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Pair_movedPoint, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, point, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Pair_attribute arginfo_class_Stead_Map_attribute

#define arginfo_class_Stead_Pair___clone arginfo_class_Stead_Map___clone

#define arginfo_class_Stead_Pair___serialize arginfo_class_Stead_Map_spread

#define arginfo_class_Stead_Pair___unserialize arginfo_class_Stead_Map___unserialize

#define arginfo_class_Stead_Pair___debugInfo arginfo_class_Stead_Map_spread

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Move___construct, 0, 0, 5)
	ZEND_ARG_TYPE_INFO(0, first, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, last, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, from, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, to, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, cause, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Stead_Affected___construct, 0, 0, 3)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_LONG|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_INFO(0, from, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, to, IS_STRING, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Path_of, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, levels, MAY_BE_STRING|MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, fold, Stead\\Fold, 0, "Stead\\Fold::None")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Path_name, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, levels, MAY_BE_STRING|MAY_BE_ARRAY|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Path_survey, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, names, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, members, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_MASK(0, levels, MAY_BE_STRING|MAY_BE_ARRAY|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Stead_Point_hex arginfo_class_Stead_Map_locatePoint

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Point_fromHex, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, digits, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Stead_Point_compare, 0, 2, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, first, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, second, IS_LONG, 0)
ZEND_END_ARG_INFO()


ZEND_METHOD(Stead_Fold, of);
ZEND_METHOD(Stead_Exception, __construct);
ZEND_METHOD(Stead_Exception, of);
ZEND_METHOD(Stead_Library, backend);
ZEND_METHOD(Stead_Library, load);
ZEND_METHOD(Stead_Library, file);
ZEND_METHOD(Stead_Library, version);
ZEND_METHOD(Stead_Map, __construct);
ZEND_METHOD(Stead_Map, open);
ZEND_METHOD(Stead_Map, openUncached);
ZEND_METHOD(Stead_Map, openEpoch);
ZEND_METHOD(Stead_Map, fromBytes);
ZEND_METHOD(Stead_Map, build);
ZEND_METHOD(Stead_Map, buildFile);
ZEND_METHOD(Stead_Map, apply);
ZEND_METHOD(Stead_Map, applyFile);
ZEND_METHOD(Stead_Map, history);
ZEND_METHOD(Stead_Map, rollback);
ZEND_METHOD(Stead_Map, peek);
ZEND_METHOD(Stead_Map, locate);
ZEND_METHOD(Stead_Map, locateAll);
ZEND_METHOD(Stead_Map, locateMany);
ZEND_METHOD(Stead_Map, locateAllMany);
ZEND_METHOD(Stead_Map, prefer);
ZEND_METHOD(Stead_Map, point);
ZEND_METHOD(Stead_Map, locatePoint);
ZEND_METHOD(Stead_Map, locateAllPoint);
ZEND_METHOD(Stead_Map, name);
ZEND_METHOD(Stead_Map, epoch);
ZEND_METHOD(Stead_Map, digest);
ZEND_METHOD(Stead_Map, parent);
ZEND_METHOD(Stead_Map, replicas);
ZEND_METHOD(Stead_Map, hash);
ZEND_METHOD(Stead_Map, keyRule);
ZEND_METHOD(Stead_Map, spread);
ZEND_METHOD(Stead_Map, nodes);
ZEND_METHOD(Stead_Map, node);
ZEND_METHOD(Stead_Map, attribute);
ZEND_METHOD(Stead_Map, label);
ZEND_METHOD(Stead_Map, policies);
ZEND_METHOD(Stead_Map, slices);
ZEND_METHOD(Stead_Map, publish);
ZEND_METHOD(Stead_Map, save);
ZEND_METHOD(Stead_Map, toBytes);
ZEND_METHOD(Stead_Map, fleet);
ZEND_METHOD(Stead_Map, same);
ZEND_METHOD(Stead_Map, report);
ZEND_METHOD(Stead_Map, jsonSerialize);
ZEND_METHOD(Stead_Map, __clone);
ZEND_METHOD(Stead_Map, __serialize);
ZEND_METHOD(Stead_Map, __unserialize);
ZEND_METHOD(Stead_Map, __debugInfo);
ZEND_METHOD(Stead_Node, __construct);
ZEND_METHOD(Stead_Node, label);
ZEND_METHOD(Stead_Node, labels);
ZEND_METHOD(Stead_Node, attribute);
ZEND_METHOD(Stead_Node, attributes);
ZEND_METHOD(Stead_Node, leaving);
ZEND_METHOD(Stead_Node, jsonSerialize);
ZEND_METHOD(Stead_Node, __debugInfo);
ZEND_METHOD(Stead_Policy, __construct);
ZEND_METHOD(Stead_Slice, __construct);
ZEND_METHOD(Stead_Plan, __construct);
ZEND_METHOD(Stead_Plan, between);
ZEND_METHOD(Stead_Plan, old);
ZEND_METHOD(Stead_Plan, new);
ZEND_METHOD(Stead_Plan, count);
ZEND_METHOD(Stead_Plan, getIterator);
ZEND_METHOD(Stead_Plan, moves);
ZEND_METHOD(Stead_Plan, affects);
ZEND_METHOD(Stead_Plan, affectsPoint);
ZEND_METHOD(Stead_Plan, affectsMany);
ZEND_METHOD(Stead_Plan, fraction);
ZEND_METHOD(Stead_Plan, moved);
ZEND_METHOD(Stead_Plan, lowerBound);
ZEND_METHOD(Stead_Plan, byHand);
ZEND_METHOD(Stead_Plan, reordered);
ZEND_METHOD(Stead_Plan, report);
ZEND_METHOD(Stead_Plan, jsonSerialize);
ZEND_METHOD(Stead_Plan, __clone);
ZEND_METHOD(Stead_Plan, __serialize);
ZEND_METHOD(Stead_Plan, __unserialize);
ZEND_METHOD(Stead_Plan, __debugInfo);
ZEND_METHOD(Stead_Pair, __construct);
ZEND_METHOD(Stead_Pair, open);
ZEND_METHOD(Stead_Pair, between);
ZEND_METHOD(Stead_Pair, state);
ZEND_METHOD(Stead_Pair, new);
ZEND_METHOD(Stead_Pair, old);
ZEND_METHOD(Stead_Pair, reads);
ZEND_METHOD(Stead_Pair, writes);
ZEND_METHOD(Stead_Pair, moved);
ZEND_METHOD(Stead_Pair, readsPoint);
ZEND_METHOD(Stead_Pair, writesPoint);
ZEND_METHOD(Stead_Pair, movedPoint);
ZEND_METHOD(Stead_Pair, attribute);
ZEND_METHOD(Stead_Pair, __clone);
ZEND_METHOD(Stead_Pair, __serialize);
ZEND_METHOD(Stead_Pair, __unserialize);
ZEND_METHOD(Stead_Pair, __debugInfo);
ZEND_METHOD(Stead_Move, __construct);
ZEND_METHOD(Stead_Affected, __construct);
ZEND_METHOD(Stead_Path, of);
ZEND_METHOD(Stead_Path, name);
ZEND_METHOD(Stead_Path, survey);
ZEND_METHOD(Stead_Point, hex);
ZEND_METHOD(Stead_Point, fromHex);
ZEND_METHOD(Stead_Point, compare);


static const zend_function_entry class_Stead_Status_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Fold_methods[] = {
	ZEND_ME(Stead_Fold, of, arginfo_class_Stead_Fold_of, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_methods[] = {
	ZEND_ME(Stead_Exception, __construct, arginfo_class_Stead_Exception___construct, ZEND_ACC_PUBLIC|ZEND_ACC_FINAL)
	ZEND_ME(Stead_Exception, of, arginfo_class_Stead_Exception_of, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC|ZEND_ACC_FINAL)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Library_methods[] = {
	ZEND_ME(Stead_Library, backend, arginfo_class_Stead_Library_backend, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Library, load, arginfo_class_Stead_Library_load, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Library, file, arginfo_class_Stead_Library_file, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Library, version, arginfo_class_Stead_Library_version, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Map_methods[] = {
	ZEND_ME(Stead_Map, __construct, arginfo_class_Stead_Map___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Stead_Map, open, arginfo_class_Stead_Map_open, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, openUncached, arginfo_class_Stead_Map_openUncached, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, openEpoch, arginfo_class_Stead_Map_openEpoch, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, fromBytes, arginfo_class_Stead_Map_fromBytes, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, build, arginfo_class_Stead_Map_build, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, buildFile, arginfo_class_Stead_Map_buildFile, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, apply, arginfo_class_Stead_Map_apply, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, applyFile, arginfo_class_Stead_Map_applyFile, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, history, arginfo_class_Stead_Map_history, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, rollback, arginfo_class_Stead_Map_rollback, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, peek, arginfo_class_Stead_Map_peek, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Map, locate, arginfo_class_Stead_Map_locate, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, locateAll, arginfo_class_Stead_Map_locateAll, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, locateMany, arginfo_class_Stead_Map_locateMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, locateAllMany, arginfo_class_Stead_Map_locateAllMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, prefer, arginfo_class_Stead_Map_prefer, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, point, arginfo_class_Stead_Map_point, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, locatePoint, arginfo_class_Stead_Map_locatePoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, locateAllPoint, arginfo_class_Stead_Map_locateAllPoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, name, arginfo_class_Stead_Map_name, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, epoch, arginfo_class_Stead_Map_epoch, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, digest, arginfo_class_Stead_Map_digest, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, parent, arginfo_class_Stead_Map_parent, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, replicas, arginfo_class_Stead_Map_replicas, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, hash, arginfo_class_Stead_Map_hash, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, keyRule, arginfo_class_Stead_Map_keyRule, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, spread, arginfo_class_Stead_Map_spread, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, nodes, arginfo_class_Stead_Map_nodes, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, node, arginfo_class_Stead_Map_node, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, attribute, arginfo_class_Stead_Map_attribute, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, label, arginfo_class_Stead_Map_label, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, policies, arginfo_class_Stead_Map_policies, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, slices, arginfo_class_Stead_Map_slices, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, publish, arginfo_class_Stead_Map_publish, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, save, arginfo_class_Stead_Map_save, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, toBytes, arginfo_class_Stead_Map_toBytes, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, fleet, arginfo_class_Stead_Map_fleet, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, same, arginfo_class_Stead_Map_same, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, report, arginfo_class_Stead_Map_report, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, jsonSerialize, arginfo_class_Stead_Map_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, __clone, arginfo_class_Stead_Map___clone, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, __serialize, arginfo_class_Stead_Map___serialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, __unserialize, arginfo_class_Stead_Map___unserialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Map, __debugInfo, arginfo_class_Stead_Map___debugInfo, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Node_methods[] = {
	ZEND_ME(Stead_Node, __construct, arginfo_class_Stead_Node___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Stead_Node, label, arginfo_class_Stead_Node_label, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, labels, arginfo_class_Stead_Node_labels, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, attribute, arginfo_class_Stead_Node_attribute, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, attributes, arginfo_class_Stead_Node_attributes, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, leaving, arginfo_class_Stead_Node_leaving, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, jsonSerialize, arginfo_class_Stead_Node_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Node, __debugInfo, arginfo_class_Stead_Node___debugInfo, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Policy_methods[] = {
	ZEND_ME(Stead_Policy, __construct, arginfo_class_Stead_Policy___construct, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Slice_methods[] = {
	ZEND_ME(Stead_Slice, __construct, arginfo_class_Stead_Slice___construct, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Plan_methods[] = {
	ZEND_ME(Stead_Plan, __construct, arginfo_class_Stead_Plan___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Stead_Plan, between, arginfo_class_Stead_Plan_between, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Plan, old, arginfo_class_Stead_Plan_old, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, new, arginfo_class_Stead_Plan_new, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, count, arginfo_class_Stead_Plan_count, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, getIterator, arginfo_class_Stead_Plan_getIterator, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, moves, arginfo_class_Stead_Plan_moves, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, affects, arginfo_class_Stead_Plan_affects, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, affectsPoint, arginfo_class_Stead_Plan_affectsPoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, affectsMany, arginfo_class_Stead_Plan_affectsMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, fraction, arginfo_class_Stead_Plan_fraction, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, moved, arginfo_class_Stead_Plan_moved, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, lowerBound, arginfo_class_Stead_Plan_lowerBound, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, byHand, arginfo_class_Stead_Plan_byHand, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, reordered, arginfo_class_Stead_Plan_reordered, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, report, arginfo_class_Stead_Plan_report, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, jsonSerialize, arginfo_class_Stead_Plan_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, __clone, arginfo_class_Stead_Plan___clone, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, __serialize, arginfo_class_Stead_Plan___serialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, __unserialize, arginfo_class_Stead_Plan___unserialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Plan, __debugInfo, arginfo_class_Stead_Plan___debugInfo, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Pair_methods[] = {
	ZEND_ME(Stead_Pair, __construct, arginfo_class_Stead_Pair___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Stead_Pair, open, arginfo_class_Stead_Pair_open, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Pair, between, arginfo_class_Stead_Pair_between, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Pair, state, arginfo_class_Stead_Pair_state, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, new, arginfo_class_Stead_Pair_new, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, old, arginfo_class_Stead_Pair_old, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, reads, arginfo_class_Stead_Pair_reads, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, writes, arginfo_class_Stead_Pair_writes, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, moved, arginfo_class_Stead_Pair_moved, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, readsPoint, arginfo_class_Stead_Pair_readsPoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, writesPoint, arginfo_class_Stead_Pair_writesPoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, movedPoint, arginfo_class_Stead_Pair_movedPoint, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, attribute, arginfo_class_Stead_Pair_attribute, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, __clone, arginfo_class_Stead_Pair___clone, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, __serialize, arginfo_class_Stead_Pair___serialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, __unserialize, arginfo_class_Stead_Pair___unserialize, ZEND_ACC_PUBLIC)
	ZEND_ME(Stead_Pair, __debugInfo, arginfo_class_Stead_Pair___debugInfo, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Move_methods[] = {
	ZEND_ME(Stead_Move, __construct, arginfo_class_Stead_Move___construct, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Affected_methods[] = {
	ZEND_ME(Stead_Affected, __construct, arginfo_class_Stead_Affected___construct, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Path_methods[] = {
	ZEND_ME(Stead_Path, of, arginfo_class_Stead_Path_of, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Path, name, arginfo_class_Stead_Path_name, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Path, survey, arginfo_class_Stead_Path_survey, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Point_methods[] = {
	ZEND_ME(Stead_Point, hex, arginfo_class_Stead_Point_hex, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Point, fromHex, arginfo_class_Stead_Point_fromHex, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Stead_Point, compare, arginfo_class_Stead_Point_compare, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_InvalidException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_FleetException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_ImpossibleException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_FormatException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_DigestException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_VersionException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_IdentityException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_IoException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_NotFoundException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_PermissionDeniedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_ConflictException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_UncertainException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_ChangedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_PathNameException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_InternalException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_OutOfMemoryException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_GuardedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Stead_Exception_LibraryException_methods[] = {
	ZEND_FE_END
};

static zend_class_entry *register_class_Stead_Status(void)
{
	zend_class_entry *class_entry = zend_register_internal_enum("Stead\\Status", IS_LONG, class_Stead_Status_methods);

	zval enum_case_Invalid_value;
	ZVAL_LONG(&enum_case_Invalid_value, 1);
	zend_enum_add_case_cstr(class_entry, "Invalid", &enum_case_Invalid_value);

	zval enum_case_Fleet_value;
	ZVAL_LONG(&enum_case_Fleet_value, 2);
	zend_enum_add_case_cstr(class_entry, "Fleet", &enum_case_Fleet_value);

	zval enum_case_Impossible_value;
	ZVAL_LONG(&enum_case_Impossible_value, 3);
	zend_enum_add_case_cstr(class_entry, "Impossible", &enum_case_Impossible_value);

	zval enum_case_Format_value;
	ZVAL_LONG(&enum_case_Format_value, 4);
	zend_enum_add_case_cstr(class_entry, "Format", &enum_case_Format_value);

	zval enum_case_Digest_value;
	ZVAL_LONG(&enum_case_Digest_value, 5);
	zend_enum_add_case_cstr(class_entry, "Digest", &enum_case_Digest_value);

	zval enum_case_Version_value;
	ZVAL_LONG(&enum_case_Version_value, 6);
	zend_enum_add_case_cstr(class_entry, "Version", &enum_case_Version_value);

	zval enum_case_Identity_value;
	ZVAL_LONG(&enum_case_Identity_value, 7);
	zend_enum_add_case_cstr(class_entry, "Identity", &enum_case_Identity_value);

	zval enum_case_NotFound_value;
	ZVAL_LONG(&enum_case_NotFound_value, 8);
	zend_enum_add_case_cstr(class_entry, "NotFound", &enum_case_NotFound_value);

	zval enum_case_Io_value;
	ZVAL_LONG(&enum_case_Io_value, 9);
	zend_enum_add_case_cstr(class_entry, "Io", &enum_case_Io_value);

	zval enum_case_Conflict_value;
	ZVAL_LONG(&enum_case_Conflict_value, 10);
	zend_enum_add_case_cstr(class_entry, "Conflict", &enum_case_Conflict_value);

	zval enum_case_Uncertain_value;
	ZVAL_LONG(&enum_case_Uncertain_value, 11);
	zend_enum_add_case_cstr(class_entry, "Uncertain", &enum_case_Uncertain_value);

	zval enum_case_Changed_value;
	ZVAL_LONG(&enum_case_Changed_value, 12);
	zend_enum_add_case_cstr(class_entry, "Changed", &enum_case_Changed_value);

	zval enum_case_Name_value;
	ZVAL_LONG(&enum_case_Name_value, 13);
	zend_enum_add_case_cstr(class_entry, "Name", &enum_case_Name_value);

	zval enum_case_Internal_value;
	ZVAL_LONG(&enum_case_Internal_value, 15);
	zend_enum_add_case_cstr(class_entry, "Internal", &enum_case_Internal_value);

	zval enum_case_Permission_value;
	ZVAL_LONG(&enum_case_Permission_value, 16);
	zend_enum_add_case_cstr(class_entry, "Permission", &enum_case_Permission_value);

	zval enum_case_Memory_value;
	ZVAL_LONG(&enum_case_Memory_value, 17);
	zend_enum_add_case_cstr(class_entry, "Memory", &enum_case_Memory_value);

	zval enum_case_Guarded_value;
	ZVAL_LONG(&enum_case_Guarded_value, 18);
	zend_enum_add_case_cstr(class_entry, "Guarded", &enum_case_Guarded_value);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Fold(void)
{
	zend_class_entry *class_entry = zend_register_internal_enum("Stead\\Fold", IS_STRING, class_Stead_Fold_methods);

	zval enum_case_None_value;
	zend_string *enum_case_None_value_str = zend_string_init("none", strlen("none"), 1);
	ZVAL_STR(&enum_case_None_value, enum_case_None_value_str);
	zend_enum_add_case_cstr(class_entry, "None", &enum_case_None_value);

	zval enum_case_Ascii_value;
	zend_string *enum_case_Ascii_value_str = zend_string_init("ascii", strlen("ascii"), 1);
	ZVAL_STR(&enum_case_Ascii_value, enum_case_Ascii_value_str);
	zend_enum_add_case_cstr(class_entry, "Ascii", &enum_case_Ascii_value);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception(zend_class_entry *class_entry_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Exception", class_Stead_Exception_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);

	zend_string *property_status_class_Stead_Status = zend_string_init("Stead\\Status", sizeof("Stead\\Status")-1, 1);
	zval property_status_default_value;
	ZVAL_UNDEF(&property_status_default_value);
	zend_string *property_status_name = zend_string_init("status", sizeof("status") - 1, 1);
	zend_declare_typed_property(class_entry, property_status_name, &property_status_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_status_class_Stead_Status, 0, MAY_BE_NULL));
	zend_string_release(property_status_name);

	zval property_errno_default_value;
	ZVAL_UNDEF(&property_errno_default_value);
	zend_string *property_errno_name = zend_string_init("errno", sizeof("errno") - 1, 1);
	zend_declare_typed_property(class_entry, property_errno_name, &property_errno_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_errno_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Library(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Library", class_Stead_Library_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Map(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Map", class_Stead_Map_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Node(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Node", class_Stead_Node_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	zval property_name_default_value;
	ZVAL_UNDEF(&property_name_default_value);
	zend_string *property_name_name = zend_string_init("name", sizeof("name") - 1, 1);
	zend_declare_typed_property(class_entry, property_name_name, &property_name_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_name_name);

	zval property_weight_default_value;
	ZVAL_UNDEF(&property_weight_default_value);
	zend_string *property_weight_name = zend_string_init("weight", sizeof("weight") - 1, 1);
	zend_declare_typed_property(class_entry, property_weight_name, &property_weight_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_weight_name);

	zend_string *property_map_class_Stead_Map = zend_string_init("Stead\\Map", sizeof("Stead\\Map")-1, 1);
	zval property_map_default_value;
	ZVAL_UNDEF(&property_map_default_value);
	zend_string *property_map_name = zend_string_init("map", sizeof("map") - 1, 1);
	zend_declare_typed_property(class_entry, property_map_name, &property_map_default_value, ZEND_ACC_PRIVATE|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_map_class_Stead_Map, 0, 0));
	zend_string_release(property_map_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Policy(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Policy", class_Stead_Policy_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval property_name_default_value;
	ZVAL_UNDEF(&property_name_default_value);
	zend_string *property_name_name = zend_string_init("name", sizeof("name") - 1, 1);
	zend_declare_typed_property(class_entry, property_name_name, &property_name_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_name_name);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_weight_default_value;
	ZVAL_UNDEF(&property_weight_default_value);
	zend_string *property_weight_name = zend_string_init("weight", sizeof("weight") - 1, 1);
	zend_declare_typed_property(class_entry, property_weight_name, &property_weight_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_weight_name);

	zval property_nodes_default_value;
	ZVAL_UNDEF(&property_nodes_default_value);
	zend_string *property_nodes_name = zend_string_init("nodes", sizeof("nodes") - 1, 1);
	zend_declare_typed_property(class_entry, property_nodes_name, &property_nodes_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_nodes_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Slice(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Slice", class_Stead_Slice_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval property_first_default_value;
	ZVAL_UNDEF(&property_first_default_value);
	zend_string *property_first_name = zend_string_init("first", sizeof("first") - 1, 1);
	zend_declare_typed_property(class_entry, property_first_name, &property_first_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_first_name);

	zval property_last_default_value;
	ZVAL_UNDEF(&property_last_default_value);
	zend_string *property_last_name = zend_string_init("last", sizeof("last") - 1, 1);
	zend_declare_typed_property(class_entry, property_last_name, &property_last_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_last_name);

	zval property_nodes_default_value;
	ZVAL_UNDEF(&property_nodes_default_value);
	zend_string *property_nodes_name = zend_string_init("nodes", sizeof("nodes") - 1, 1);
	zend_declare_typed_property(class_entry, property_nodes_name, &property_nodes_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_nodes_name);

	zval property_policy_default_value;
	ZVAL_UNDEF(&property_policy_default_value);
	zend_string *property_policy_name = zend_string_init("policy", sizeof("policy") - 1, 1);
	zend_declare_typed_property(class_entry, property_policy_name, &property_policy_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_policy_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Plan(zend_class_entry *class_entry_Countable, zend_class_entry *class_entry_IteratorAggregate, zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Plan", class_Stead_Plan_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;
	zend_class_implements(class_entry, 3, class_entry_Countable, class_entry_IteratorAggregate, class_entry_JsonSerializable);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Pair(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Pair", class_Stead_Pair_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Move(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Move", class_Stead_Move_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval property_first_default_value;
	ZVAL_UNDEF(&property_first_default_value);
	zend_string *property_first_name = zend_string_init("first", sizeof("first") - 1, 1);
	zend_declare_typed_property(class_entry, property_first_name, &property_first_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_first_name);

	zval property_last_default_value;
	ZVAL_UNDEF(&property_last_default_value);
	zend_string *property_last_name = zend_string_init("last", sizeof("last") - 1, 1);
	zend_declare_typed_property(class_entry, property_last_name, &property_last_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_last_name);

	zval property_from_default_value;
	ZVAL_UNDEF(&property_from_default_value);
	zend_string *property_from_name = zend_string_init("from", sizeof("from") - 1, 1);
	zend_declare_typed_property(class_entry, property_from_name, &property_from_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_from_name);

	zval property_to_default_value;
	ZVAL_UNDEF(&property_to_default_value);
	zend_string *property_to_name = zend_string_init("to", sizeof("to") - 1, 1);
	zend_declare_typed_property(class_entry, property_to_name, &property_to_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_to_name);

	zval property_cause_default_value;
	ZVAL_UNDEF(&property_cause_default_value);
	zend_string *property_cause_name = zend_string_init("cause", sizeof("cause") - 1, 1);
	zend_declare_typed_property(class_entry, property_cause_name, &property_cause_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_cause_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Affected(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Affected", class_Stead_Affected_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	zval property_key_default_value;
	ZVAL_UNDEF(&property_key_default_value);
	zend_string *property_key_name = zend_string_init("key", sizeof("key") - 1, 1);
	zend_declare_typed_property(class_entry, property_key_name, &property_key_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG|MAY_BE_STRING));
	zend_string_release(property_key_name);

	zval property_from_default_value;
	ZVAL_UNDEF(&property_from_default_value);
	zend_string *property_from_name = zend_string_init("from", sizeof("from") - 1, 1);
	zend_declare_typed_property(class_entry, property_from_name, &property_from_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_from_name);

	zval property_to_default_value;
	ZVAL_UNDEF(&property_to_default_value);
	zend_string *property_to_name = zend_string_init("to", sizeof("to") - 1, 1);
	zend_declare_typed_property(class_entry, property_to_name, &property_to_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_to_name);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Path(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Path", class_Stead_Path_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Point(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead", "Point", class_Stead_Point_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_InvalidException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "InvalidException", class_Stead_Exception_InvalidException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_FleetException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "FleetException", class_Stead_Exception_FleetException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_ImpossibleException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "ImpossibleException", class_Stead_Exception_ImpossibleException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_FormatException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "FormatException", class_Stead_Exception_FormatException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_DigestException(zend_class_entry *class_entry_Stead_Exception_FormatException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "DigestException", class_Stead_Exception_DigestException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception_FormatException);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_VersionException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "VersionException", class_Stead_Exception_VersionException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_IdentityException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "IdentityException", class_Stead_Exception_IdentityException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_IoException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "IoException", class_Stead_Exception_IoException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_NotFoundException(zend_class_entry *class_entry_Stead_Exception_IoException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "NotFoundException", class_Stead_Exception_NotFoundException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception_IoException);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_PermissionDeniedException(zend_class_entry *class_entry_Stead_Exception_IoException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "PermissionDeniedException", class_Stead_Exception_PermissionDeniedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception_IoException);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_ConflictException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "ConflictException", class_Stead_Exception_ConflictException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_UncertainException(zend_class_entry *class_entry_Stead_Exception_IoException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "UncertainException", class_Stead_Exception_UncertainException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception_IoException);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_ChangedException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "ChangedException", class_Stead_Exception_ChangedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_PathNameException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "PathNameException", class_Stead_Exception_PathNameException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_InternalException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "InternalException", class_Stead_Exception_InternalException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_OutOfMemoryException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "OutOfMemoryException", class_Stead_Exception_OutOfMemoryException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_GuardedException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "GuardedException", class_Stead_Exception_GuardedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Stead_Exception_LibraryException(zend_class_entry *class_entry_Stead_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Stead\\Exception", "LibraryException", class_Stead_Exception_LibraryException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Stead_Exception);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}
