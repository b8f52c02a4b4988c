/* Stead: the Perl interface of libstead. Everything that is not specific to Perl is in the library.
 *
 * Every failure is a Stead::Error that names the file and the line of the caller. They come from
 * PL_curcop, which is the caller's own statement because no Perl code lies between the caller and
 * this file. A croak leaks nothing: everything that must survive a call that can croak is mortal.
 */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"

#include <stead.h>

#ifndef G_LIST /* before Perl 5.36 */
#define G_LIST G_ARRAY
#endif

#include "held.h"
#include "given.h"

/*
 * The number of nodes that an answer can have without allocating memory. R is at most 255; only a
 * named policy can list more.
 */
#define FEW 256

/* The nodes that a query found in one map. */
typedef struct {
    int32_t few[FEW], *nodes;
    size_t count;
} answer;

/* ---- records: read-only arrays behind the accessors in Stead::Node, ::Slice and ::Move */

static SV *record(pTHX_ const char *class, AV *fields) {
    SV *const reference = sv_bless(newRV_noinc((SV *)fields), gv_stashpv(class, GV_ADD));
    SSize_t i;
    for (i = 0; i <= av_len(fields); i++)
        SvREADONLY_on(*av_fetch(fields, i, 0));
    SvREADONLY_on((SV *)fields);
    return reference;
}

static SV *decimal(pTHX_ uint64_t millionths) {
    char digits[32];
    int length = my_snprintf(digits, sizeof digits, "%" UVuf ".%06" UVuf, (UV)(millionths / 1000000), (UV)(millionths % 1000000));
    while (digits[length - 1] == '0')
        length--;
    if (digits[length - 1] == '.')
        length--;
    return newSVpvn(digits, length);
}

static SV *node_record(pTHX_ SV *map_object, held_map *map, int32_t node) {
    stead_error error;
    uint64_t millionths;
    AV *fields;
    if (stead_map_node_weight(map->map, node, &millionths, &error) != STEAD_OK)
        fail(aTHX_ &error);
    fields = newAV();
    av_push(fields, fresh_name(aTHX_ map, node));
    av_push(fields, decimal(aTHX_ millionths));
    av_push(fields, newRV(SvRV(map_object)));
    av_push(fields, newSViv(node));
    return record(aTHX_ "Stead::Node", fields);
}

static SV *move_record(pTHX_ held_plan *plan, size_t index) {
    static const char *const causes[] = {"", "pin", "policy", "rebalance"};
    stead_error error;
    stead_move one;
    AV *fields;
    if (stead_plan_move(plan->plan, index, &one, &error) != STEAD_OK)
        fail(aTHX_ &error);
    fields = newAV();
    av_push(fields, newSVuv(one.first));
    av_push(fields, newSVuv(one.last));
    av_push(fields, fresh_name(aTHX_ &plan->old_map, one.from));
    av_push(fields, fresh_name(aTHX_ &plan->new_map, one.to));
    av_push(fields, newSVpv(one.cause >= 1 && one.cause <= 3 ? causes[one.cause] : "unknown", 0));
    return record(aTHX_ "Stead::Move", fields);
}

/* Room for `count` nodes, in a mortal scalar that Perl frees. */
static int32_t *room(pTHX_ size_t count) {
    return (int32_t *)SvPVX(sv_2mortal(newSV(count * sizeof(int32_t) + 1)));
}

static SV *slice_record(pTHX_ held_map *map, size_t index) {
    stead_error error;
    stead_slice one;
    int32_t few[FEW], *nodes = few;
    size_t count = 0, i;
    const char *policy;
    AV *fields;
    if (stead_map_slice(map->map, index, &one, &error) != STEAD_OK ||
        stead_map_policy_nodes(map->map, one.policy, few, FEW, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    if (count > FEW) {
        nodes = room(aTHX_ count);
        if (stead_map_policy_nodes(map->map, one.policy, nodes, count, &count, &error) != STEAD_OK)
            fail(aTHX_ &error);
    }
    policy = stead_map_policy_name(map->map, one.policy);
    fields = newAV();
    av_push(fields, newSVuv(one.first));
    av_push(fields, newSVuv(one.last));
    av_push(fields, policy ? text(aTHX_ policy) : newSV(0));
    for (i = 0; i < count; i++)
        av_push(fields, fresh_name(aTHX_ map, nodes[i]));
    return record(aTHX_ "Stead::Slice", fields);
}

/* ---- building */

/*
 * Builds the next map of a fleet. The arguments from `from` on are the fleet, then the previous map
 * if any, then options.
 */
static SV *build(pTHX_ SV *class, I32 ax, I32 from, I32 items, bool is_file) {
    stead_error error;
    stead_map *map = NULL;
    held_map *previous;
    SV *places = NULL, *value;
    const char *max_move, *name = NULL, *path = NULL;
    bytes fleet = {NULL, 0, ""};
    int32_t status;
    bool one_line = FALSE;
    if (items <= from)
        invalid(aTHX_ "the fleet is missing; say %s", is_file ? "build_file(PATH, PREVIOUS)" : "build(FLEET, PREVIOUS)");
    keep(aTHX_ ax, items);
    previous = items > from + 1 ? map_or_none(aTHX_ ARGUMENT(from + 1), "previous") : NULL;
    only(aTHX_ ax, from + 2, items, is_file ? " max_move " : " max_move name ");
    value = option(aTHX_ ax, from + 2, items, "max_move");
    max_move = value ? c_string(aTHX_ value, "max_move") : NULL;
    if (is_file)
        path = c_string(aTHX_ ARGUMENT(from), "the path of a fleet");
    else {
        SV *given;
        value = option(aTHX_ ax, from + 2, items, "name");
        name = value ? c_string(aTHX_ value, "name") : "fleet";
        given = SvGMAGICAL(ARGUMENT(from)) ? sv_mortalcopy(ARGUMENT(from)) : ARGUMENT(from);
        if (SvROK(given) && !SvOBJECT(SvRV(given)) && SvTYPE(SvRV(given)) == SVt_PVHV) {
            dSP;
            PUSHMARK(SP);
            XPUSHs(given);
            mXPUSHs(newSVpv(name, 0));
            PUTBACK;
            if (call_pv("Stead::Fleet::_text", G_LIST) != 2)
                croak("Stead::Fleet::_text gave something else than two values");
            SPAGAIN;
            places = POPs;
            given = POPs;
            PUTBACK;
        }
        if (SvROK(given))
            invalid(aTHX_ "a fleet is its text or a reference to a hash; of a file, build_file(PATH) builds");
        bytes_of(aTHX_ given, "a fleet", &fleet);
        one_line = !places && !memchr(fleet.text, '\n', fleet.length) && !memchr(fleet.text, '{', fleet.length) &&
                   !memchr(fleet.text, '=', fleet.length);
    }
    {
        dSAVE_ERRNO;
        status = is_file ? stead_map_build_file(path, previous ? previous->map : NULL, max_move, &map, &error)
                         : stead_map_build(fleet.text, fleet.length, name, previous ? previous->map : NULL, max_move, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK) {
        SV *message = text(aTHX_ error.message);
        if (places) {
            dSP;
            PUSHMARK(SP);
            XPUSHs(sv_2mortal(message));
            XPUSHs(places);
            XPUSHs(sv_2mortal(newSVpv(name, 0)));
            PUTBACK;
            call_pv("Stead::Fleet::_placed", G_SCALAR);
            SPAGAIN;
            message = newSVsv(POPs);
            PUTBACK;
        } else if (one_line)
            sv_catpvs(message, "; this string is read as a fleet's text: to read a file, use build_file");
        fail_with(aTHX_ error.status, error.os_errno, message);
    }
    return new_map(aTHX_ class, map);
}

/* Converts a JSON text from the library to Perl data, and frees the text. */
static SV *decoded(pTHX_ char *json) {
    SV *const copy = sv_2mortal(newSVpv(json, 0));
    SV *found;
    dSP;
    stead_text_free(json);
    PUSHMARK(SP);
    XPUSHs(copy);
    PUTBACK;
    call_pv("Stead::_decoded", G_SCALAR);
    SPAGAIN;
    found = POPs;
    PUTBACK;
    return found;
}

/* The element at index i of an array; NULL when there is none. */
static SV *fetched(pTHX_ AV *list, SSize_t i) {
    SV **const one = av_fetch(list, i, 0);
    return one ? *one : NULL;
}

/* Makes the call, and makes it again with more room when there are more nodes than FEW. */
#define ASK(call, found)                                   \
    STMT_START {                                           \
        stead_error error;                                 \
        size_t capacity = FEW;                             \
        (found).nodes = (found).few;                       \
        if ((call) != STEAD_OK)                            \
            fail(aTHX_ &error);                            \
        if ((found).count > capacity) {                    \
            capacity = (found).count;                      \
            (found).nodes = room(aTHX_ capacity);          \
            if ((call) != STEAD_OK)                        \
                fail(aTHX_ &error);                        \
        }                                                  \
    } STMT_END

/* Returns a list or, in scalar context, its length, as an array does. */
#define ANSWER_LIST(many, each)                            \
    STMT_START {                                           \
        size_t i;                                          \
        if (GIMME_V != G_LIST) {                           \
            XPUSHs(sv_2mortal(newSVuv(many)));             \
        } else {                                           \
            EXTEND(SP, (SSize_t)(many));                   \
            for (i = 0; i < (many); i++)                   \
                PUSHs(sv_2mortal(each));                   \
        }                                                  \
    } STMT_END

MODULE = Stead  PACKAGE = Stead

PROTOTYPES: DISABLE

BOOT:
    if (stead_abi() != STEAD_ABI)
        croak("Stead: libstead has the binary interface %d, and this module was built for %d; build it again", (int)stead_abi(), (int)STEAD_ABI);

const char *
version(...)
  CODE:
    PERL_UNUSED_VAR(items);
    RETVAL = stead_version();
  OUTPUT:
    RETVAL

void
path(key, ...)
    bytes key
  PREINIT:
    stead_error error;
    char path[STEAD_PATH_ROOM];
    const char *levels = NULL;
    int32_t fold = STEAD_FOLD_NONE;
    size_t count;
    SV *value;
  PPCODE:
    only(aTHX_ ax, 1, items, " levels fold ");
    value = option(aTHX_ ax, 1, items, "fold");
    if (value) {
        const char *const said = c_string(aTHX_ value, "fold");
        fold = strEQ(said, "ascii") ? STEAD_FOLD_ASCII : STEAD_FOLD_NONE;
        if (!fold && strNE(said, "none"))
            invalid(aTHX_ "fold is 'ascii' or 'none', not '%s'", said);
    }
    value = option(aTHX_ ax, 1, items, "levels");
    if (value && SvROK(value) && SvTYPE(SvRV(value)) == SVt_PVAV && !SvOBJECT(SvRV(value))) {
        AV *const list = (AV *)SvRV(value);
        SV *const joined = sv_2mortal(newSVpvs(""));
        SSize_t i;
        for (i = 0; i <= av_len(list); i++) {
            SV **const one = av_fetch(list, i, 0);
            sv_catpvf(joined, i ? ",%s" : "%s", one ? c_string(aTHX_ *one, "a level") : "");
        }
        levels = SvPV_nolen(joined);
    } else if (value)
        levels = c_string(aTHX_ value, "levels");
    if (stead_path(key.text, key.length, levels, fold, path, sizeof path, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp(path, count);

void
build(...)
  PREINIT:
    SV *map;
  PPCODE:
    PUTBACK;
    map = build(aTHX_ sv_2mortal(newSVpvs("Stead::Map")), ax, 0, items, FALSE);
    SP = PL_stack_base + ax - 1;
    XPUSHs(map);

void
plan(old_map, new_map)
    held_map *old_map
    held_map *new_map
  PREINIT:
    stead_error error;
    stead_plan *plan;
    held_plan *mine;
  PPCODE:
    if (stead_plan_between(old_map->map, new_map->map, &plan, &error) != STEAD_OK)
        fail(aTHX_ &error);
    Newx(mine, 1, held_plan);
    mine->plan = plan;
    mine->old_map = share(old_map);
    mine->new_map = share(new_map);
    XPUSHs(object(aTHX_ sv_2mortal(newSVpvs("Stead::Plan")), &plan_magic, mine));

MODULE = Stead  PACKAGE = Stead::Fleet

bool
_is_float(value)
    SV *value
  CODE:
    /* a string that was used as a number has both forms, and the number has the value of the string
     */
    RETVAL = SvNOK(value) && !SvIOK(value);
  OUTPUT:
    RETVAL

MODULE = Stead  PACKAGE = Stead::Map

void
open(class, path, ...)
    SV *class
    SV *path
  PREINIT:
    stead_error error;
    stead_map *map;
    SV *copy;
    const char *name;
    uint32_t flags = STEAD_OPEN_SHARED;
    int32_t status;
  PPCODE:
    only(aTHX_ ax, 2, items, " copy ");
    copy = option(aTHX_ ax, 2, items, "copy");
    if (copy && SvTRUE(copy))
        flags |= STEAD_OPEN_COPY;
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_open(name, flags, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_map(aTHX_ class, map));

void
from_bytes(class, data)
    SV *class
    SV *data
  PREINIT:
    stead_error error;
    stead_map *map;
    bytes given;
    int32_t status;
  PPCODE:
    fetched_bytes_of(aTHX_ data, "the bytes of a map", &given);
    {
        dSAVE_ERRNO;
        status = stead_map_from_bytes(given.text, given.length, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_map(aTHX_ class, map));

void
build(class, ...)
    SV *class
  ALIAS:
    build_file = 1
  PREINIT:
    SV *map;
  PPCODE:
    PUTBACK;
    map = build(aTHX_ class, ax, 1, items, ix == 1);
    SP = PL_stack_base + ax - 1;
    XPUSHs(map);

void
locate(map, key)
    held_map *map
    bytes key
  PREINIT:
    dXSTARG;
    stead_error error;
    int32_t node;
  PPCODE:
    if (stead_map_locate(map->map, key.text, key.length, &node, &error) != STEAD_OK)
        fail(aTHX_ &error);
    set_name(aTHX_ TARG, map, node);
    PUSHTARG;

void
locate_all(map, key)
    held_map *map
    bytes key
  PREINIT:
    answer found;
  PPCODE:
    ASK(stead_map_locate_all(map->map, key.text, key.length, found.nodes, capacity, &found.count, &error), found);
    ANSWER_LIST(found.count, fresh_name(aTHX_ map, found.nodes[i]));

void
locate_point(map, point)
    held_map *map
    SV *point
  PREINIT:
    answer found;
    UV number;
  PPCODE:
    number = unsigned_of(aTHX_ point, "a point");
    ASK(stead_map_locate_all_point(map->map, number, found.nodes, capacity, &found.count, &error), found);
    ANSWER_LIST(found.count, fresh_name(aTHX_ map, found.nodes[i]));

void
prefer(map, key, n)
    held_map *map
    bytes key
    SV *n
  PREINIT:
    stead_error error;
    int32_t few[FEW], *nodes = few;
    UV most;
    size_t count;
  PPCODE:
    most = unsigned_of(aTHX_ n, "how many nodes are preferred");
    if (most > (UV)map->count)
        most = (UV)map->count;
    if (most > FEW)
        nodes = room(aTHX_ most);
    if (stead_map_prefer(map->map, key.text, key.length, nodes, most, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    ANSWER_LIST(count, fresh_name(aTHX_ map, nodes[i]));

void
locate_many(map, keys, ...)
    held_map *map
    SV *keys
  PREINIT:
    stead_error error;
    AV *list, *found;
    SV *value;
    SSize_t i, count;
    int32_t node;
    bytes key;
    bool numbers;
  PPCODE:
    only(aTHX_ ax, 2, items, " numbers ");
    value = option(aTHX_ ax, 2, items, "numbers");
    numbers = value && SvTRUE(value);
    SvGETMAGIC(keys);
    if (!SvROK(keys) || SvTYPE(SvRV(keys)) != SVt_PVAV)
        invalid(aTHX_ "the keys of locate_many are a reference to an array");
    list = (AV *)SvRV(keys);
    count = av_len(list) + 1;
    found = newAV();
    value = sv_2mortal(newRV_noinc((SV *)found));
    if (count)
        av_extend(found, count - 1);
    ENTER;
    SAVETMPS;
    for (i = 0; i < count; i++) {
        /* fetched again each time: a tied value runs Perl code, which may change the list */
        SV *const one = !SvRMAGICAL(list) && i <= AvFILLp(list) ? AvARRAY(list)[i] : fetched(aTHX_ list, i);
        if (one && (SvFLAGS(one) & (SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)) == SVf_POK) {
            key.text = SvPVX_const(one);
            key.length = SvCUR(one);
        } else {
            char what[40];
            my_snprintf(what, sizeof what, "key %" IVdf, (IV)i);
            fetched_bytes_of(aTHX_ one ? one : &PL_sv_undef, what, &key);
        }
        if (stead_map_locate(map->map, key.text, key.length, &node, &error) != STEAD_OK)
            fail(aTHX_ &error);
        /* nobody else has this array, and it has room for all */
        AvARRAY(found)[i] = numbers ? newSViv(node) : fresh_name(aTHX_ map, node);
        AvFILLp(found) = i;
        FREETMPS;
    }
    LEAVE;
    SP = PL_stack_base + ax - 1;
    XPUSHs(value);

UV
point(map, key)
    held_map *map
    bytes key
  PREINIT:
    stead_error error;
    uint64_t point;
  CODE:
    if (stead_map_point(map->map, key.text, key.length, &point, &error) != STEAD_OK)
        fail(aTHX_ &error);
    RETVAL = point;
  OUTPUT:
    RETVAL

void
nodes(map)
    held_map *map
  PREINIT:
    SV *const object = ST(0); /* the answer will overwrite ST(0) */
  PPCODE:
    ANSWER_LIST((size_t)map->count, node_record(aTHX_ object, map, (int32_t)i));

void
slices(map)
    held_map *map
  PREINIT:
    size_t count;
  PPCODE:
    count = stead_map_slice_count(map->map);
    ANSWER_LIST(count, slice_record(aTHX_ map, i));

UV
epoch(map)
    held_map *map
  CODE:
    RETVAL = stead_map_epoch(map->map);
  OUTPUT:
    RETVAL

IV
replicas(map)
    held_map *map
  CODE:
    RETVAL = stead_map_replicas(map->map);
  OUTPUT:
    RETVAL

SV *
name(map)
    held_map *map
  CODE:
    RETVAL = text(aTHX_ stead_map_name(map->map));
  OUTPUT:
    RETVAL

void
digest(map)
    held_map *map
  PREINIT:
    stead_error error;
    uint8_t digest[STEAD_DIGEST_ROOM];
  PPCODE:
    if (stead_map_digest(map->map, digest, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp((const char *)digest, sizeof digest);

bool
same(map, other)
    held_map *map
    held_map *other
  CODE:
    RETVAL = stead_map_same(map->map, other->map) == 1;
  OUTPUT:
    RETVAL

void
to_bytes(map)
    held_map *map
  PREINIT:
    stead_error error;
    const void *data;
    size_t length;
  PPCODE:
    if (stead_map_bytes(map->map, &data, &length, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp((const char *)data, length);

void
publish(map, path, previous = &PL_sv_undef)
    held_map *map
    SV *path
    SV *previous
  PREINIT:
    stead_error error;
    const char *name;
    held_map *before;
    int32_t status;
  PPCODE:
    name = c_string(aTHX_ path, "the path of a map");
    before = map_or_none(aTHX_ previous, "previous");
    {
        dSAVE_ERRNO;
        status = stead_map_publish(map->map, before ? before->map : NULL, name, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XSRETURN_EMPTY;

void
save(map, path)
    held_map *map
    SV *path
  PREINIT:
    stead_error error;
    const char *name;
    int32_t status;
  PPCODE:
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_save(map->map, name, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XSRETURN_EMPTY;

void
report(map)
    held_map *map
  PREINIT:
    stead_error error;
    char *json;
    SV *found;
  PPCODE:
    if (stead_map_report(map->map, &json, &error) != STEAD_OK)
        fail(aTHX_ &error);
    PUTBACK;
    found = decoded(aTHX_ json);
    SP = PL_stack_base + ax - 1;
    XPUSHs(found);

MODULE = Stead  PACKAGE = Stead::Node

void
label(node, name)
    SV *node
    SV *name
  ALIAS:
    attribute = 1
  PREINIT:
    AV *fields;
    SV **object, **number, *copy;
    held_map *map;
    const char *asked, *found;
  PPCODE:
    keep(aTHX_ ax, items);
    if (!sv_isobject(node) || !sv_derived_from(node, "Stead::Node") || SvTYPE(SvRV(node)) != SVt_PVAV)
        invalid(aTHX_ "node is not a Stead::Node; $map->nodes gives them");
    fields = (AV *)SvRV(node);
    object = av_fetch(fields, 2, 0);
    number = av_fetch(fields, 3, 0);
    if (!object || !number)
        invalid(aTHX_ "node is not a Stead::Node; $map->nodes gives them");
    map = map_of(aTHX_ *object, "the node's map");
    copy = sv_mortalcopy(name);
    if (!SvOK(copy) || SvROK(copy))
        invalid(aTHX_ "the name of %s is a string", ix ? "an attribute" : "a label");
    asked = SvPVutf8_nolen(copy); /* names are text */
    found = ix ? stead_map_node_attribute(map->map, (int32_t)SvIV(*number), asked) : stead_map_node_label(map->map, (int32_t)SvIV(*number), asked);
    XPUSHs(found ? sv_2mortal(text(aTHX_ found)) : &PL_sv_undef);

MODULE = Stead  PACKAGE = Stead::Plan

UV
count(plan)
    held_plan *plan
  CODE:
    RETVAL = stead_plan_count(plan->plan);
  OUTPUT:
    RETVAL

NV
fraction(plan)
    held_plan *plan
  CODE:
    RETVAL = stead_plan_fraction(plan->plan);
  OUTPUT:
    RETVAL

void
moves(plan)
    held_plan *plan
  PREINIT:
    size_t count;
  PPCODE:
    count = stead_plan_count(plan->plan);
    ANSWER_LIST(count, move_record(aTHX_ plan, i));

void
affects(plan, key)
    held_plan *plan
    bytes key
  PREINIT:
    stead_error error;
    size_t few[FEW], *indexes = few, count;
  PPCODE:
    if (stead_plan_affects(plan->plan, key.text, key.length, few, FEW, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    if (count > FEW) {
        indexes = (size_t *)SvPVX(sv_2mortal(newSV(count * sizeof(size_t) + 1)));
        if (stead_plan_affects(plan->plan, key.text, key.length, indexes, count, &count, &error) != STEAD_OK)
            fail(aTHX_ &error);
    }
    ANSWER_LIST(count, move_record(aTHX_ plan, indexes[i]));

void
report(plan, ...)
    held_plan *plan
  PREINIT:
    stead_error error;
    char *json;
    SV *found, *value;
  PPCODE:
    only(aTHX_ ax, 1, items, " moves ");
    value = option(aTHX_ ax, 1, items, "moves");
    if (stead_plan_report(plan->plan, value && SvTRUE(value), &json, &error) != STEAD_OK)
        fail(aTHX_ &error);
    PUTBACK;
    found = decoded(aTHX_ json);
    SP = PL_stack_base + ax - 1;
    XPUSHs(found);
