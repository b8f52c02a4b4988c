/* What is in a map: Stead\Node, policies and slices. */

#include "php_stead.h"

/* Returns a weight as an exact decimal. */
static zend_string *decimal(uint64_t millionths) {
  zend_string *text = strpprintf(0, "%" PRIu64 ".%06" PRIu64,
                                 millionths / 1000000, millionths % 1000000);

  while (ZSTR_VAL(text)[ZSTR_LEN(text) - 1] == '0') {
    ZSTR_LEN(text)--;
  }
  if (ZSTR_VAL(text)[ZSTR_LEN(text) - 1] == '.') {
    ZSTR_LEN(text)--;
  }
  ZSTR_VAL(text)[ZSTR_LEN(text)] = '\0';
  return text;
}

/* The properties of Node, in the order of stead.stub.php. */
enum { NODE_NAME, NODE_WEIGHT, NODE_MAP };

/* Makes a Node; returns whether that worked. */
static bool node_of(zval *made, zval *map, int32_t node) {
  stead_map_object *self = stead_map_of(Z_OBJ_P(map));
  uint64_t millionths;
  stead_error error;
  zend_string *name = stead_name_of(self, node);

  if (name == NULL) {
    return false;
  }
  if (stead.stead_map_node_weight(self->map, node, &millionths, &error) !=
      STEAD_OK) {
    stead_fail(&error);
    return false;
  }
  object_init_ex(made, stead_ce_node);
  ZVAL_STR_COPY(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_NAME), name);
  ZVAL_STR(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_WEIGHT), decimal(millionths));
  ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ_P(made), NODE_MAP), map);
  return true;
}

ZEND_METHOD(Stead_Map, nodes) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  int32_t count = stead.stead_map_node_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    zval node;
    if (!node_of(&node, ZEND_THIS, i)) {
      RETURN_THROWS();
    }
    add_next_index_zval(return_value, &node);
  }
}

static int32_t number_of(const stead_map_object *self,
                         const zend_string *name) {
  return strlen(ZSTR_VAL(name)) == ZSTR_LEN(name)
             ? stead.stead_map_node_named(self->map, ZSTR_VAL(name))
             : -1;
}

ZEND_METHOD(Stead_Map, node) {
  zend_string *name;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(name)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  int32_t node = number_of(self, name);
  if (node < 0) {
    RETURN_NULL();
  }
  node_of(return_value, ZEND_THIS, node);
}

/* Returns an attribute or a label of a node, which one of two calls finds. */
static void text_of(zval *return_value, stead_map_object *self,
                    zend_string *node, zend_string *name, const char *what,
                    __typeof__(stead_map_node_label) *found) {
  int32_t number = number_of(self, node);

  if (number < 0) {
    stead_throw(STEAD_INVALID, 0,
                "this map has no node \"%s\"; nodes() lists those that it has",
                ZSTR_VAL(node));
  } else if (stead_ends(name, what)) {
    const char *text = found(self->map, number, ZSTR_VAL(name));
    if (text != NULL) {
      RETVAL_STRING(text);
    }
  }
}

#define LABELS                                                                 \
  stead.stead_map_node_label, stead.stead_map_node_label_count,                \
      stead.stead_map_node_label_name
#define ATTRIBUTES                                                             \
  stead.stead_map_node_attribute, stead.stead_map_node_attribute_count,        \
      stead.stead_map_node_attribute_name

ZEND_METHOD(Stead_Map, attribute) {
  zend_string *node, *attribute;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(node)
  Z_PARAM_STR(attribute)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  text_of(return_value, self, node, attribute, "the attribute's name",
          stead.stead_map_node_attribute);
}

ZEND_METHOD(Stead_Map, label) {
  zend_string *node, *label;

  STEAD_NOT_NULL(1, "string");
  STEAD_NOT_NULL(2, "string");
  ZEND_PARSE_PARAMETERS_START(2, 2)
  Z_PARAM_STR(node)
  Z_PARAM_STR(label)
  ZEND_PARSE_PARAMETERS_END();
  STEAD_THIS_MAP
  text_of(return_value, self, node, label, "the label's name",
          stead.stead_map_node_label);
}

/* Returns the nodes of a policy. */
static void policy_nodes(zval *return_value, stead_map_object *self,
                         int32_t policy) {
  stead_node_list list;
  stead_error error;
  int32_t status;

  stead_list_start(&list);
  do {
    status = stead.stead_map_policy_nodes(self->map, policy, list.nodes,
                                          list.room, &list.count, &error);
  } while (status == STEAD_OK && stead_list_grown(&list));
  stead_list_names(return_value, self, &list, status, &error);
}

static void text_or_null(zval *value, const char *text) {
  if (text == NULL) {
    ZVAL_NULL(value);
  } else {
    ZVAL_STRING(value, text);
  }
}

/* The properties of Policy and of Slice, in the order of stead.stub.php. */
enum { POLICY_NAME, POLICY_KIND, POLICY_WEIGHT, POLICY_NODES };
enum { SLICE_FIRST, SLICE_LAST, SLICE_NODES, SLICE_POLICY };

ZEND_METHOD(Stead_Map, policies) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  int32_t count = stead.stead_map_policy_count(self->map);
  array_init_size(return_value, count);
  for (int32_t i = 0; i < count; i++) {
    zval policy, nodes;
    uint64_t weight;
    stead_error error;
    ZVAL_UNDEF(&nodes);
    policy_nodes(&nodes, self, i);
    if (EG(exception) || stead.stead_map_policy_weight(self->map, i, &weight,
                                                       &error) != STEAD_OK) {
      zval_ptr_dtor(&nodes);
      if (!EG(exception)) {
        stead_fail(&error);
      }
      RETURN_THROWS();
    }
    object_init_ex(&policy, stead_ce_policy);
    text_or_null(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_NAME),
                 stead.stead_map_policy_name(self->map, i));
    text_or_null(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_KIND),
                 stead.stead_map_policy_kind(self->map, i));
    if (weight == 0) {
      ZVAL_NULL(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_WEIGHT));
    } else {
      ZVAL_STR(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_WEIGHT), decimal(weight));
    }
    ZVAL_COPY_VALUE(OBJ_PROP_NUM(Z_OBJ(policy), POLICY_NODES), &nodes);
    add_next_index_zval(return_value, &policy);
  }
}

ZEND_METHOD(Stead_Map, slices) {
  ZEND_PARSE_PARAMETERS_NONE();
  STEAD_THIS_MAP
  /* The nodes and the name of each policy are made once, since many slices
   * share a policy. */
  int32_t policies = stead.stead_map_policy_count(self->map);
  zval *lists = safe_emalloc(2 * policies, sizeof(*lists), 0);
  for (int32_t i = 0; i < 2 * policies; i++) {
    ZVAL_UNDEF(&lists[i]);
  }
  size_t count = stead.stead_map_slice_count(self->map);
  array_init_size(return_value, count);
  for (size_t i = 0; i < count; i++) {
    stead_slice slice;
    stead_error error;
    zval made;
    if (stead.stead_map_slice(self->map, i, &slice, &error) != STEAD_OK) {
      stead_fail(&error);
      break;
    }
    zval *nodes = &lists[2 * slice.policy], *name = nodes + 1;
    if (Z_ISUNDEF_P(nodes)) {
      policy_nodes(nodes, self, slice.policy);
      text_or_null(name, stead.stead_map_policy_name(self->map, slice.policy));
      if (EG(exception)) {
        break;
      }
    }
    object_init_ex(&made, stead_ce_slice);
    ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ(made), SLICE_FIRST), (zend_long)slice.first);
    ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ(made), SLICE_LAST), (zend_long)slice.last);
    ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ(made), SLICE_NODES), nodes);
    ZVAL_COPY(OBJ_PROP_NUM(Z_OBJ(made), SLICE_POLICY), name);
    add_next_index_zval(return_value, &made);
  }
  for (int32_t i = 0; i < 2 * policies; i++) {
    zval_ptr_dtor(&lists[i]);
  }
  efree(lists);
}

ZEND_METHOD(Stead_Node, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

/* The map and the number of a Node; throws when somebody made the object
 * without a map. */
#define THIS_NODE                                                              \
  zval *map_of_node = OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), NODE_MAP);              \
  if (Z_TYPE_P(map_of_node) != IS_OBJECT) {                                    \
    zend_throw_error(                                                          \
        NULL, "Stead\\Node must not be accessed before initialization");       \
    RETURN_THROWS();                                                           \
  }                                                                            \
  stead_map_object *self = stead_map_of(Z_OBJ_P(map_of_node));                 \
  zend_string *node = Z_STR_P(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), NODE_NAME));

/* Lists all labels, or all attributes, of a node. */
static void list_texts(zval *return_value, const stead_map_object *self,
                       const zend_string *name,
                       __typeof__(stead_map_node_label) *found,
                       __typeof__(stead_map_node_label_count) *counted,
                       __typeof__(stead_map_node_label_name) *named) {
  int32_t node = number_of(self, name), count = counted(self->map, node);

  array_init_size(return_value, MAX(count, 0));
  for (int32_t i = 0; i < count; i++) {
    const char *key = named(self->map, node, i);
    zval value;
    ZVAL_STRING(&value, found(self->map, node, key));
    /* a name of digits becomes an int, as everywhere in PHP */
    zend_symtable_str_update(Z_ARRVAL_P(return_value), key, strlen(key),
                             &value);
  }
}

ZEND_METHOD(Stead_Node, label) {
  zend_string *label;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(label)
  ZEND_PARSE_PARAMETERS_END();
  THIS_NODE
  text_of(return_value, self, node, label, "the label's name",
          stead.stead_map_node_label);
}

ZEND_METHOD(Stead_Node, labels) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  list_texts(return_value, self, node, LABELS);
}

ZEND_METHOD(Stead_Node, attribute) {
  zend_string *attribute;

  STEAD_NOT_NULL(1, "string");
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(attribute)
  ZEND_PARSE_PARAMETERS_END();
  THIS_NODE
  text_of(return_value, self, node, attribute, "the attribute's name",
          stead.stead_map_node_attribute);
}

ZEND_METHOD(Stead_Node, attributes) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  list_texts(return_value, self, node, ATTRIBUTES);
}

ZEND_METHOD(Stead_Node, leaving) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  RETURN_BOOL(stead.stead_map_node_leaving(self->map, number_of(self, node)) ==
              1);
}

/* Name, weight, labels and attributes, for json_encode and for var_dump. */
static void whole_node(zval *return_value, const zval *this,
                       const stead_map_object *self, const zend_string *node) {
  zval labels, attributes;

  array_init(return_value);
  Z_TRY_ADDREF_P(OBJ_PROP_NUM(Z_OBJ_P(this), NODE_NAME));
  add_assoc_zval(return_value, "name", OBJ_PROP_NUM(Z_OBJ_P(this), NODE_NAME));
  Z_TRY_ADDREF_P(OBJ_PROP_NUM(Z_OBJ_P(this), NODE_WEIGHT));
  add_assoc_zval(return_value, "weight",
                 OBJ_PROP_NUM(Z_OBJ_P(this), NODE_WEIGHT));
  list_texts(&labels, self, node, LABELS);
  add_assoc_zval(return_value, "labels", &labels);
  list_texts(&attributes, self, node, ATTRIBUTES);
  add_assoc_zval(return_value, "attributes", &attributes);
}

ZEND_METHOD(Stead_Node, jsonSerialize) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  whole_node(return_value, ZEND_THIS, self, node);
  /* without labels, JSON has {} and not [] */
  zval *part;
  ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(return_value), part) {
    if (Z_TYPE_P(part) == IS_ARRAY) {
      convert_to_object(part);
    }
  }
  ZEND_HASH_FOREACH_END();
}

ZEND_METHOD(Stead_Node, __debugInfo) {
  ZEND_PARSE_PARAMETERS_NONE();
  THIS_NODE
  whole_node(return_value, ZEND_THIS, self, node);
}
