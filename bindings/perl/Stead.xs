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

/* ---- records: read-only arrays behind the accessors in Stead::Node, ::Slice, ::Move and their like */

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

/* ---- the states of a carry */

static const char *const states[] = {NULL, "old", "both_old_first", "both_new_first", "new"};

/* The number of a state. */
static int32_t state_of(pTHX_ SV *sv) {
    const char *const word = c_string(aTHX_ sv, "the state of a carry");
    int32_t state;
    for (state = STEAD_STATE_OLD; state <= STEAD_STATE_NEW; state++)
        if (strEQ(word, states[state]))
            return state;
    invalid(aTHX_ "'%s' is no state of a carry; write one of old, both_old_first, both_new_first, new", word);
    return 0;
}

/* The name of a node of a pair. */
static SV *pair_name(pTHX_ held_pair *pair, int32_t node) {
    return text(aTHX_ stead_pair_node_name(pair->pair, node));
}

/* Room for `count` nodes, in a mortal scalar that Perl frees. */
static int32_t *room(pTHX_ size_t count) {
    return (int32_t *)SvPVX(sv_2mortal(newSV(count * sizeof(int32_t) + 1)));
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

/* Adds the names of a policy's nodes to the fields of a record. */
static void push_policy_nodes(pTHX_ AV *fields, held_map *map, const answer *found) {
    size_t i;
    for (i = 0; i < found->count; i++)
        av_push(fields, fresh_name(aTHX_ map, found->nodes[i]));
}

static SV *policy_name(pTHX_ held_map *map, int32_t policy) {
    const char *const name = stead_map_policy_name(map->map, policy);
    return name ? text(aTHX_ name) : newSV(0);
}

static SV *slice_record(pTHX_ held_map *map, size_t index) {
    stead_error error;
    stead_slice one;
    answer found;
    AV *fields;
    if (stead_map_slice(map->map, index, &one, &error) != STEAD_OK)
        fail(aTHX_ &error);
    ASK(stead_map_policy_nodes(map->map, one.policy, found.nodes, capacity, &found.count, &error), found);
    fields = newAV();
    av_push(fields, newSVuv(one.first));
    av_push(fields, newSVuv(one.last));
    av_push(fields, policy_name(aTHX_ map, one.policy));
    push_policy_nodes(aTHX_ fields, map, &found);
    return record(aTHX_ "Stead::Slice", fields);
}

static SV *policy_record(pTHX_ held_map *map, int32_t policy) {
    stead_error error;
    uint64_t millionths;
    answer found;
    AV *fields;
    if (stead_map_policy_weight(map->map, policy, &millionths, &error) != STEAD_OK)
        fail(aTHX_ &error);
    ASK(stead_map_policy_nodes(map->map, policy, found.nodes, capacity, &found.count, &error), found);
    fields = newAV();
    av_push(fields, policy_name(aTHX_ map, policy));
    av_push(fields, text(aTHX_ stead_map_policy_kind(map->map, policy)));
    av_push(fields, millionths ? decimal(aTHX_ millionths) : newSV(0));
    push_policy_nodes(aTHX_ fields, map, &found);
    return record(aTHX_ "Stead::Policy", fields);
}

/* A copy of a key that moves. */
static SV *affected_record(pTHX_ held_plan *plan, UV key, const stead_affected *row) {
    AV *const fields = newAV();
    av_push(fields, newSVuv(key));
    av_push(fields, fresh_name(aTHX_ &plan->old_map, row->from));
    av_push(fields, fresh_name(aTHX_ &plan->new_map, row->to));
    return record(aTHX_ "Stead::Affected", fields);
}

/* The decimal digits of a number of points. It is divided by ten in halves of 32 bits, since C has
 * no integer of 128 bits that every compiler knows. */
static SV *points(pTHX_ const stead_points *number) {
    uint32_t part[4];
    char digits[40], *at = digits + sizeof digits;
    part[0] = (uint32_t)(number->high >> 32);
    part[1] = (uint32_t)number->high;
    part[2] = (uint32_t)(number->low >> 32);
    part[3] = (uint32_t)number->low;
    do {
        uint64_t rest = 0;
        int i;
        for (i = 0; i < 4; i++) {
            rest = rest << 32 | part[i];
            part[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        *--at = (char)('0' + rest);
    } while (part[0] | part[1] | part[2] | part[3]);
    return newSVpvn(at, digits + sizeof digits - at);
}

/* ---- nodes by name */

/* The number of the node with this name; -1 when there is none. */
static int32_t node_named(pTHX_ held_map *map, SV *name) {
    const char *const asked = name_given(aTHX_ name, "the name of a node");
    return asked ? stead_map_node_named(map->map, asked) : -1;
}

/* The text of a label (or an attribute) of a node; undef when the node has none of this name. */
static SV *label_of(pTHX_ held_map *map, int32_t node, SV *name, bool attribute) {
    const char *const asked = name_given(aTHX_ name, attribute ? "the name of an attribute" : "the name of a label");
    const char *const found = !asked    ? NULL
                              : attribute ? stead_map_node_attribute(map->map, node, asked)
                                          : stead_map_node_label(map->map, node, asked);
    return found ? sv_2mortal(text(aTHX_ found)) : &PL_sv_undef;
}

/* A reference to a new hash with all labels (or all attributes) of a node. */
static SV *labels_of(pTHX_ held_map *map, int32_t node, bool attributes) {
    HV *const found = newHV();
    SV *const reference = sv_2mortal(newRV_noinc((SV *)found));
    const int32_t count = attributes ? stead_map_node_attribute_count(map->map, node) : stead_map_node_label_count(map->map, node);
    int32_t i;
    for (i = 0; i < count; i++) {
        const char *const name =
            attributes ? stead_map_node_attribute_name(map->map, node, i) : stead_map_node_label_name(map->map, node, i);
        const char *const value =
            attributes ? stead_map_node_attribute(map->map, node, name) : stead_map_node_label(map->map, node, name);
        (void)hv_store_ent(found, sv_2mortal(text(aTHX_ name)), text(aTHX_ value), 0);
    }
    return reference;
}

/* The map and the number of a Stead::Node. */
static held_map *map_of_node(pTHX_ SV *node, int32_t *number) {
    SV **object = NULL, **place = NULL;
    if (sv_isobject(node) && sv_derived_from(node, "Stead::Node") && SvTYPE(SvRV(node)) == SVt_PVAV) {
        object = av_fetch((AV *)SvRV(node), 2, 0);
        place = av_fetch((AV *)SvRV(node), 3, 0);
    }
    if (!object || !place)
        invalid(aTHX_ "node is not a Stead::Node; $map->nodes gives them");
    *number = (int32_t)SvIV(*place);
    return map_of(aTHX_ *object, "the node's map");
}

/* ---- building */

/* What to do with a fleet. */
enum { BUILD, BUILD_FILE, APPLY, APPLY_FILE };

/*
 * Builds the next map of a fleet, or applies a fleet. The arguments are the class, the fleet, then
 * the previous map if any (or the path of the map to bring up to the fleet), then options.
 */
static SV *build(pTHX_ SV *class, I32 ax, I32 items, int act) {
    static const char *const usage[] = {"build(FLEET, PREVIOUS)", "build_file(PATH, PREVIOUS)", "apply(FLEET, PATH)",
                                        "apply_file(FLEET, PATH)"};
    static const char *const known[] = {" max_move name ", " max_move ", " max_move name allow ", " max_move allow "};
    const bool is_file = act == BUILD_FILE || act == APPLY_FILE, applies = act == APPLY || act == APPLY_FILE;
    stead_error error;
    stead_map *map = NULL;
    held_map *previous = NULL;
    const char *at = NULL;
    SV *places = NULL, *value;
    const char *max_move, *allow, *name = NULL, *path = NULL;
    bytes fleet = {NULL, 0, ""};
    int32_t status;
    bool one_line = FALSE;
    if (items < 2)
        invalid(aTHX_ "the fleet is missing; say %s", usage[act]);
    if (applies && items < 3)
        invalid(aTHX_ "the path of the map is missing; say %s", usage[act]);
    keep(aTHX_ ax, items);
    if (applies)
        at = c_string(aTHX_ ARGUMENT(2), "the path of a map");
    else if (items > 2)
        previous = map_or_none(aTHX_ ARGUMENT(2), "previous");
    only(aTHX_ ax, 3, items, known[act]);
    value = option(aTHX_ ax, 3, items, "allow");
    allow = value ? c_string(aTHX_ value, "allow") : NULL;
    value = option(aTHX_ ax, 3, items, "max_move");
    max_move = value ? c_string(aTHX_ value, "max_move") : NULL;
    if (is_file)
        path = c_string(aTHX_ ARGUMENT(1), "the path of a fleet");
    else {
        SV *given;
        value = option(aTHX_ ax, 3, items, "name");
        name = value ? c_string(aTHX_ value, "name") : "fleet";
        given = SvGMAGICAL(ARGUMENT(1)) ? sv_mortalcopy(ARGUMENT(1)) : ARGUMENT(1);
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
            invalid(aTHX_ "a fleet is its text or a reference to a hash; to read a file, use Stead::Map->%s", usage[act + 1]);
        bytes_of(aTHX_ given, "a fleet", &fleet);
        one_line = !places && !memchr(fleet.text, '\n', fleet.length) && !memchr(fleet.text, '{', fleet.length) &&
                   !memchr(fleet.text, '=', fleet.length);
    }
    {
        dSAVE_ERRNO;
        switch (act) {
        case BUILD:
            status = stead_map_build(fleet.text, fleet.length, name, previous ? previous->map : NULL, max_move, &map, &error);
            break;
        case BUILD_FILE:
            status = stead_map_build_file(path, previous ? previous->map : NULL, max_move, &map, &error);
            break;
        case APPLY:
            status = stead_map_apply(fleet.text, fleet.length, name, at, max_move, allow, &map, &error);
            break;
        default:
            status = stead_map_apply_file(path, at, max_move, allow, &map, &error);
        }
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
            sv_catpvf(message, "; this string is read as a fleet's text: to read a file, use Stead::Map->%s", usage[act + 1]);
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

/* The array of keys that the caller gave to a method for many keys. */
static AV *list_of(pTHX_ SV *keys, const char *method) {
    SvGETMAGIC(keys);
    if (!SvROK(keys) || SvTYPE(SvRV(keys)) != SVt_PVAV)
        invalid(aTHX_ "the keys of %s are a reference to an array, not %" SVf "; write %s(\\@keys) or %s([KEY, ...])", method,
                SVfARG(shown(aTHX_ keys)), method, method);
    return (AV *)SvRV(keys);
}

/* Finds the bytes of the key at index i of an array; returns whether there is one. undef is none. */
static bool key_at(pTHX_ AV *list, SSize_t i, bytes *key) {
    /* fetched again each time: a tied value runs Perl code, which may change the list */
    SV *one = !SvRMAGICAL(list) && i <= AvFILLp(list) ? AvARRAY(list)[i] : fetched(aTHX_ list, i);
    if (one && (SvFLAGS(one) & (SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)) == SVf_POK) {
        key->text = SvPVX_const(one);
        key->length = SvCUR(one);
    } else {
        char what[40];
        if (one && SvGMAGICAL(one))
            one = sv_mortalcopy(one);
        if (!one || !SvOK(one))
            return FALSE;
        my_snprintf(what, sizeof what, "key %" IVdf, (IV)i);
        bytes_of(aTHX_ one, what, key);
    }
    return TRUE;
}

/* Adds the bytes of a key to the end of a buffer. Nearly all keys are short, and these few moves are
 * quicker than memcpy, which has to find out how many there are. */
PERL_STATIC_INLINE void append(pTHX_ SV *buffer, const bytes *key) {
    const STRLEN end = SvCUR(buffer), length = key->length;
    char *to;
    if (SvLEN(buffer) - end <= length)
        sv_grow(buffer, 2 * (end + length) + 1024);
    to = SvPVX(buffer) + end;
    if (length >= 8 && length <= 16) {
        uint64_t first, last;
        memcpy(&first, key->text, 8);
        memcpy(&last, key->text + length - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + length - 8, &last, 8);
    } else if (length >= 4 && length < 8) {
        uint32_t first, last;
        memcpy(&first, key->text, 4);
        memcpy(&last, key->text + length - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + length - 4, &last, 4);
    } else
        Copy(key->text, to, length, char);
    SvCUR_set(buffer, end + length);
}

/* Many keys end to end, where each begins, and where each stands in the caller's array. */
typedef struct {
    SV *joined;
    uint64_t *offsets, *places;
    size_t count;
} batch;

/* Joins keys of an array, from index `from` up to but not including `to`, in place of what the batch
 * had. undef is left out. The batch has room for so many keys. */
static void join_part(pTHX_ batch *found, AV *list, SSize_t from, SSize_t to) {
    bytes key;
    SSize_t i;
    SvCUR_set(found->joined, 0);
    found->offsets[0] = 0;
    found->count = 0;
    ENTER;
    SAVETMPS;
    for (i = from; i < to; i++) {
        if (key_at(aTHX_ list, i, &key)) {
            append(aTHX_ found->joined, &key);
            found->places[found->count++] = (uint64_t)i;
            found->offsets[found->count] = SvCUR(found->joined);
        }
        FREETMPS;
    }
    LEAVE;
}

/* Joins all keys of an array. */
static batch joined(pTHX_ AV *list) {
    const SSize_t given = av_len(list) + 1;
    batch found;
    found.joined = sv_2mortal(newSVpvs(""));
    found.offsets = (uint64_t *)SvPVX(sv_2mortal(newSV((given + 1) * sizeof(uint64_t) + 1)));
    found.places = (uint64_t *)SvPVX(sv_2mortal(newSV((given + 1) * sizeof(uint64_t) + 1)));
    join_part(aTHX_ &found, list, 0, given);
    return found;
}

/* The number of keys in one call of locate_many. What belongs to them fills 40 KiB of the stack, and
 * stays in the nearest caches of the processor. */
#define BLOCK 2048

/* The name of a node, or its number. */
PERL_STATIC_INLINE SV *answered(pTHX_ held_map *map, int32_t node, bool numbers) {
    return numbers ? newSViv(node) : fresh_name(aTHX_ map, node);
}

/* Puts the primaries of the keys of a batch into an array. */
static void locate_batch(pTHX_ held_map *map, const batch *keys, SV **answers, bool numbers) {
    stead_error error;
    int32_t nodes[BLOCK];
    size_t n;
    if (stead_map_locate_many(map->map, SvPVX(keys->joined), SvCUR(keys->joined), keys->offsets, keys->count, nodes, &error) !=
        STEAD_OK)
        fail(aTHX_ &error);
    for (n = 0; n < keys->count; n++)
        answers[keys->places[n]] = answered(aTHX_ map, nodes[n], numbers);
}

/* Puts all nodes of the keys of a batch into an array, those of each key as a reference to an array. */
static void locate_all_batch(pTHX_ held_map *map, const batch *keys, SV **answers, bool numbers) {
    stead_error error;
    uint64_t starts[BLOCK + 1];
    size_t capacity = keys->count * (size_t)stead_map_replicas(map->map), count, n;
    int32_t *nodes;
    for (;;) {
        nodes = room(aTHX_ capacity);
        if (stead_map_locate_all_many(map->map, SvPVX(keys->joined), SvCUR(keys->joined), keys->offsets, keys->count, nodes, capacity,
                                      starts, &count, &error) != STEAD_OK)
            fail(aTHX_ &error);
        if (count <= capacity)
            break;
        capacity = count; /* a named policy may need more */
    }
    for (n = 0; n < keys->count; n++) {
        AV *const all = newAV();
        uint64_t i;
        answers[keys->places[n]] = newRV_noinc((SV *)all);
        av_extend(all, (SSize_t)(starts[n + 1] - starts[n]) - 1);
        for (i = starts[n]; i < starts[n + 1]; i++)
            av_push(all, answered(aTHX_ map, nodes[i], numbers));
    }
}

/* The answers to all keys of an array, as a mortal reference to an array of as many values: undef for
 * undef. */
static SV *located(pTHX_ held_map *map, AV *list, bool numbers, void (*locate)(pTHX_ held_map *, const batch *, SV **, bool)) {
    const SSize_t count = av_len(list) + 1;
    AV *const found = newAV();
    SV *const reference = sv_2mortal(newRV_noinc((SV *)found));
    uint64_t offsets[BLOCK + 1], places[BLOCK];
    SSize_t i, from;
    batch keys;
    keys.joined = sv_2mortal(newSVpvs(""));
    keys.offsets = offsets;
    keys.places = places;
    if (count) {
        av_extend(found, count - 1); /* nobody else has this array, and it has room for all */
        Zero(AvARRAY(found), count, SV *);
    }
    for (from = 0; from < count; from += BLOCK) {
        const SSize_t to = count - from < BLOCK ? count : from + BLOCK;
        join_part(aTHX_ &keys, list, from, to);
        ENTER;
        SAVETMPS;
        AvFILLp(found) = to - 1;
        locate(aTHX_ map, &keys, AvARRAY(found), numbers);
        FREETMPS;
        LEAVE;
        for (i = keys.count < (size_t)(to - from) ? from : to; i < to; i++)
            if (!AvARRAY(found)[i])
                AvARRAY(found)[i] = newSV(0);
    }
    return reference;
}

/* The levels of a path, as the library takes them: a string, or an array of numbers. */
static const char *levels_of(pTHX_ SV *value) {
    SV *all;
    AV *list;
    SSize_t i;
    if (!value || !SvROK(value) || SvTYPE(SvRV(value)) != SVt_PVAV || SvOBJECT(SvRV(value)))
        return value ? c_string(aTHX_ value, "levels") : NULL;
    list = (AV *)SvRV(value);
    all = sv_2mortal(newSVpvs(""));
    for (i = 0; i <= av_len(list); i++) {
        SV *const one = fetched(aTHX_ list, i);
        sv_catpvf(all, i ? ",%s" : "%s", one ? c_string(aTHX_ one, "a level") : "");
    }
    return SvPV_nolen(all);
}

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
    levels = levels_of(aTHX_ option(aTHX_ ax, 1, items, "levels"));
    if (stead_path(key.text, key.length, levels, fold, path, sizeof path, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp(path, count);

void
path_name(path, ...)
    SV *path
  PREINIT:
    stead_error error;
    char name[STEAD_NAME_ROOM];
    const char *levels;
    bytes given;
    size_t count;
  PPCODE:
    only(aTHX_ ax, 1, items, " levels ");
    levels = levels_of(aTHX_ option(aTHX_ ax, 1, items, "levels"));
    fetched_bytes_of(aTHX_ path, "a path", &given);
    if (stead_path_name(given.text, given.length, levels, name, sizeof name, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp(name, count);

void
survey(names, ...)
    SV *names
  PREINIT:
    stead_error error;
    const char *levels;
    char *json;
    UV members = 0;
    SV *value, *found;
    batch given;
    int32_t status;
  PPCODE:
    only(aTHX_ ax, 1, items, " levels members ");
    levels = levels_of(aTHX_ option(aTHX_ ax, 1, items, "levels"));
    value = option(aTHX_ ax, 1, items, "members");
    if (value)
        members = unsigned_of(aTHX_ value, "members");
    given = joined(aTHX_ list_of(aTHX_ names, "survey"));
    status = stead_survey(SvPVX(given.joined), SvCUR(given.joined), given.offsets, given.count, members, levels, &json, &error);
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    PUTBACK;
    found = decoded(aTHX_ json);
    SP = PL_stack_base + ax - 1;
    XPUSHs(found);

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
open_uncached(class, path)
    SV *class
    SV *path
  PREINIT:
    stead_error error;
    stead_map *map;
    const char *name;
    int32_t status;
  PPCODE:
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_open_uncached(name, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_map(aTHX_ class, map));

void
open_epoch(class, path, epoch)
    SV *class
    SV *path
    SV *epoch
  PREINIT:
    stead_error error;
    stead_map *map;
    const char *name;
    UV number;
    int32_t status;
  PPCODE:
    number = unsigned_of(aTHX_ epoch, "an epoch");
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_open_epoch(name, number, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_map(aTHX_ class, map));

void
rollback(class, path, epoch, ...)
    SV *class
    SV *path
    SV *epoch
  PREINIT:
    stead_error error;
    stead_map *map;
    const char *name, *back, *allow;
    UV number;
    SV *value;
    int32_t status;
  PPCODE:
    keep(aTHX_ ax, items);
    only(aTHX_ ax, 3, items, " back allow ");
    value = option(aTHX_ ax, 3, items, "back");
    back = value ? c_string(aTHX_ value, "back") : NULL;
    value = option(aTHX_ ax, 3, items, "allow");
    allow = value ? c_string(aTHX_ value, "allow") : NULL;
    number = unsigned_of(aTHX_ epoch, "an epoch");
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_rollback(name, number, back, allow, &map, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    SP = PL_stack_base + ax - 1;
    XPUSHs(new_map(aTHX_ class, map));

void
history(class, path)
    SV *class
    SV *path
  PREINIT:
    stead_error error;
    uint64_t few[FEW], *epochs = few;
    size_t count, capacity = FEW;
    const char *name;
    int32_t status;
  PPCODE:
    PERL_UNUSED_VAR(class);
    name = c_string(aTHX_ path, "the path of a map");
    for (;;) {
        dSAVE_ERRNO;
        status = stead_map_history(name, epochs, capacity, &count, &error);
        RESTORE_ERRNO;
        if (status != STEAD_OK)
            fail(aTHX_ &error);
        if (count <= capacity)
            break;
        capacity = count; /* another process may add one meanwhile */
        epochs = (uint64_t *)SvPVX(sv_2mortal(newSV(capacity * sizeof *epochs + 1)));
    }
    ANSWER_LIST(count, newSVuv(epochs[i]));

void
peek(class, path)
    SV *class
    SV *path
  PREINIT:
    stead_error error;
    uint64_t epoch;
    uint8_t digest[STEAD_DIGEST_ROOM];
    const char *name;
    int32_t status;
  PPCODE:
    PERL_UNUSED_VAR(class);
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = stead_map_peek(name, &epoch, digest, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHu(epoch);
    if (GIMME_V == G_LIST)
        mXPUSHp((const char *)digest, sizeof digest);

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
    build_file = BUILD_FILE
    apply = APPLY
    apply_file = APPLY_FILE
  PREINIT:
    SV *map;
  PPCODE:
    PUTBACK;
    map = build(aTHX_ class, ax, items, ix);
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
    dXSTARG;
    stead_error error;
    int32_t node;
  PPCODE:
    if (stead_map_locate_point(map->map, unsigned_of(aTHX_ point, "a point"), &node, &error) != STEAD_OK)
        fail(aTHX_ &error);
    set_name(aTHX_ TARG, map, node);
    PUSHTARG;

void
locate_all_point(map, point)
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
    most = unsigned_of(aTHX_ n, "the number of nodes to prefer");
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
  ALIAS:
    locate_all_many = 1
  PREINIT:
    AV *list;
    SV *value;
    bool numbers;
  PPCODE:
    list = list_of(aTHX_ keys, ix ? "locate_all_many" : "locate_many");
    only(aTHX_ ax, 2, items, " numbers ");
    value = option(aTHX_ ax, 2, items, "numbers");
    numbers = value && SvTRUE(value);
    value = located(aTHX_ map, list, numbers, ix ? locate_all_batch : locate_batch);
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
node(map, name)
    held_map *map
    SV *name
  PREINIT:
    SV *const object = ST(0);
    int32_t found;
  PPCODE:
    found = node_named(aTHX_ map, name);
    XPUSHs(found < 0 ? &PL_sv_undef : sv_2mortal(node_record(aTHX_ object, map, found)));

void
label(map, node, name)
    held_map *map
    SV *node
    SV *name
  ALIAS:
    attribute = 1
  PREINIT:
    int32_t found;
  PPCODE:
    found = node_named(aTHX_ map, node);
    if (found < 0)
        invalid(aTHX_ "this map has no node '%" SVf "'; $map->nodes lists those that it has", SVfARG(node));
    XPUSHs(label_of(aTHX_ map, found, name, ix == 1));

void
policies(map)
    held_map *map
  PREINIT:
    size_t count;
  PPCODE:
    count = (size_t)stead_map_policy_count(map->map);
    ANSWER_LIST(count, policy_record(aTHX_ map, (int32_t)i));

void
spread(map)
    held_map *map
  PREINIT:
    size_t count;
  PPCODE:
    count = (size_t)stead_map_spread_count(map->map);
    ANSWER_LIST(count, text(aTHX_ stead_map_spread(map->map, (int32_t)i)));

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

SV *
hash(map)
    held_map *map
  CODE:
    RETVAL = text(aTHX_ stead_map_hash(map->map));
  OUTPUT:
    RETVAL

SV *
key_rule(map)
    held_map *map
  CODE:
    RETVAL = text(aTHX_ stead_map_key_rule(map->map));
  OUTPUT:
    RETVAL

void
digest(map)
    held_map *map
  ALIAS:
    parent = 1
  PREINIT:
    stead_error error;
    uint8_t digest[STEAD_DIGEST_ROOM];
  PPCODE:
    if ((ix ? stead_map_parent : stead_map_digest)(map->map, digest, &error) != STEAD_OK)
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
publish(map, path, ...)
    held_map *map
    SV *path
  PREINIT:
    stead_error error;
    const char *name, *allow;
    held_map *before;
    SV *value;
    int32_t status;
  PPCODE:
    keep(aTHX_ ax, items);
    only(aTHX_ ax, 3, items, " allow ");
    value = option(aTHX_ ax, 3, items, "allow");
    allow = value ? c_string(aTHX_ value, "allow") : NULL;
    name = c_string(aTHX_ path, "the path of a map");
    before = items > 2 ? map_or_none(aTHX_ ARGUMENT(2), "previous") : NULL;
    {
        dSAVE_ERRNO;
        status = stead_map_publish(map->map, before ? before->map : NULL, name, allow, &error);
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
fleet(map)
    held_map *map
  PREINIT:
    stead_error error;
    char *found;
  PPCODE:
    if (stead_map_fleet(map->map, &found, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHp(found, strlen(found));
    stead_text_free(found);

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
    int32_t number;
    held_map *map;
  PPCODE:
    keep(aTHX_ ax, items);
    map = map_of_node(aTHX_ node, &number);
    XPUSHs(label_of(aTHX_ map, number, name, ix == 1));

bool
leaving(node)
    SV *node
  PREINIT:
    int32_t number;
    held_map *map;
  CODE:
    map = map_of_node(aTHX_ node, &number);
    RETVAL = stead_map_node_leaving(map->map, number) == 1;
  OUTPUT:
    RETVAL

void
labels(node)
    SV *node
  ALIAS:
    attributes = 1
  PREINIT:
    int32_t number;
    held_map *map;
  PPCODE:
    map = map_of_node(aTHX_ node, &number);
    XPUSHs(labels_of(aTHX_ map, number, ix == 1));

MODULE = Stead  PACKAGE = Stead::Plan

void
between(class, old_map, new_map)
    SV *class
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
    XPUSHs(object(aTHX_ class, &plan_magic, mine));

void
_maps(plan)
    held_plan *plan
  PREINIT:
    AV *found;
    SV *answer;
  PPCODE:
    found = newAV();
    answer = sv_2mortal(newRV_noinc((SV *)found));
    av_push(found, SvREFCNT_inc(new_map(aTHX_ sv_2mortal(newSVpvs("Stead::Map")), stead_map_share(plan->old_map.map))));
    av_push(found, SvREFCNT_inc(new_map(aTHX_ sv_2mortal(newSVpvs("Stead::Map")), stead_map_share(plan->new_map.map))));
    XPUSHs(answer);

void
moved(plan)
    held_plan *plan
  ALIAS:
    lower_bound = 1
    by_hand = 2
    reordered = 3
  PREINIT:
    stead_error error;
    stead_amounts amounts;
  PPCODE:
    if (stead_plan_amounts(plan->plan, &amounts, &error) != STEAD_OK)
        fail(aTHX_ &error);
    mXPUSHs(points(aTHX_ ix == 0   ? &amounts.moved
                         : ix == 1 ? &amounts.lower_bound
                         : ix == 2 ? &amounts.by_hand
                                   : &amounts.reordered));

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
affects_point(plan, point)
    held_plan *plan
    SV *point
  PREINIT:
    stead_error error;
    size_t few[FEW], *indexes = few, count;
    UV number;
  PPCODE:
    number = unsigned_of(aTHX_ point, "a point");
    if (stead_plan_affects_point(plan->plan, number, few, FEW, &count, &error) != STEAD_OK)
        fail(aTHX_ &error);
    if (count > FEW) {
        indexes = (size_t *)SvPVX(sv_2mortal(newSV(count * sizeof(size_t) + 1)));
        if (stead_plan_affects_point(plan->plan, number, indexes, count, &count, &error) != STEAD_OK)
            fail(aTHX_ &error);
    }
    ANSWER_LIST(count, move_record(aTHX_ plan, indexes[i]));

void
affects_many(plan, keys)
    held_plan *plan
    SV *keys
  PREINIT:
    stead_error error;
    AV *found;
    SV *rows, *answer;
    stead_affected *row;
    size_t capacity, count = 0, n;
    batch given;
  PPCODE:
    given = joined(aTHX_ list_of(aTHX_ keys, "affects_many"));
    capacity = given.count * (size_t)stead_map_replicas(plan->new_map.map) + FEW;
    rows = sv_2mortal(newSV(capacity * sizeof *row + 1));
    row = (stead_affected *)SvPVX(rows);
    if (stead_plan_affects_many(plan->plan, SvPVX(given.joined), SvCUR(given.joined), given.offsets, given.count, row, capacity, &count,
                                &error) != STEAD_OK)
        fail(aTHX_ &error);
    if (count > capacity) {
        capacity = count;
        row = (stead_affected *)SvGROW(rows, capacity * sizeof *row + 1);
        if (stead_plan_affects_many(plan->plan, SvPVX(given.joined), SvCUR(given.joined), given.offsets, given.count, row, capacity, &count,
                                &error) != STEAD_OK)
            fail(aTHX_ &error);
    }
    found = newAV();
    answer = sv_2mortal(newRV_noinc((SV *)found));
    for (n = 0; n < count; n++)
        av_push(found, affected_record(aTHX_ plan, given.places[row[n].key], &row[n]));
    SP = PL_stack_base + ax - 1;
    XPUSHs(answer);

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

MODULE = Stead  PACKAGE = Stead::Pair

void
open(class, path, ...)
    SV *class
    SV *path
  PREINIT:
    stead_error error;
    stead_pair *pair;
    SV *copy, *epoch, *state;
    const char *name;
    UV number = 0;
    int32_t status, wanted = 0;
  PPCODE:
    only(aTHX_ ax, 2, items, " copy epoch state ");
    copy = option(aTHX_ ax, 2, items, "copy");
    epoch = option(aTHX_ ax, 2, items, "epoch");
    state = option(aTHX_ ax, 2, items, "state");
    if (!epoch != !state)
        invalid(aTHX_ "epoch and state belong together; give both, or none");
    if (epoch) {
        number = unsigned_of(aTHX_ epoch, "an epoch");
        wanted = state_of(aTHX_ state);
    }
    name = c_string(aTHX_ path, "the path of a map");
    {
        dSAVE_ERRNO;
        status = epoch ? stead_pair_open_from(name, number, wanted, &pair, &error)
                       : stead_pair_open(name, copy && SvTRUE(copy) ? STEAD_OPEN_COPY : STEAD_OPEN_SHARED, &pair, &error);
        RESTORE_ERRNO;
    }
    if (status != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_pair(aTHX_ class, pair));

void
between(class, old_map, new_map, state)
    SV *class
    held_map *old_map
    held_map *new_map
    SV *state
  PREINIT:
    stead_error error;
    stead_pair *pair;
  PPCODE:
    if (stead_pair_between(old_map->map, new_map->map, state_of(aTHX_ state), &pair, &error) != STEAD_OK)
        fail(aTHX_ &error);
    XPUSHs(new_pair(aTHX_ class, pair));

void
state(pair)
    held_pair *pair
  PREINIT:
    int32_t state;
  PPCODE:
    state = stead_pair_state(pair->pair);
    if (state >= STEAD_STATE_OLD && state <= STEAD_STATE_NEW)
        mXPUSHs(newSVpv(states[state], 0));
    else
        XPUSHs(&PL_sv_undef);

void
new_map(pair)
    held_pair *pair
  ALIAS:
    old = 1
  PREINIT:
    stead_map *map;
  PPCODE:
    map = ix ? stead_pair_old_map(pair->pair) : stead_pair_new_map(pair->pair);
    if (map)
        XPUSHs(new_map(aTHX_ sv_2mortal(newSVpvs("Stead::Map")), map));
    else
        XPUSHs(&PL_sv_undef);

void
reads(pair, key)
    held_pair *pair
    bytes key
  ALIAS:
    writes = 1
  PREINIT:
    answer found;
  PPCODE:
    ASK(ix ? stead_pair_writes(pair->pair, key.text, key.length, found.nodes, capacity, &found.count, &error)
           : stead_pair_reads(pair->pair, key.text, key.length, found.nodes, capacity, &found.count, &error),
        found);
    ANSWER_LIST(found.count, pair_name(aTHX_ pair, found.nodes[i]));

void
reads_point(pair, point)
    held_pair *pair
    SV *point
  ALIAS:
    writes_point = 1
  PREINIT:
    answer found;
    UV number;
  PPCODE:
    number = unsigned_of(aTHX_ point, "a point");
    ASK(ix ? stead_pair_writes_point(pair->pair, number, found.nodes, capacity, &found.count, &error)
           : stead_pair_reads_point(pair->pair, number, found.nodes, capacity, &found.count, &error),
        found);
    ANSWER_LIST(found.count, pair_name(aTHX_ pair, found.nodes[i]));

void
moved(pair, key)
    held_pair *pair
    bytes key
  PPCODE:
    XPUSHs(boolSV(stead_pair_moved(pair->pair, key.text, key.length) == 1));

void
moved_point(pair, point)
    held_pair *pair
    SV *point
  PPCODE:
    XPUSHs(boolSV(stead_pair_moved_point(pair->pair, unsigned_of(aTHX_ point, "a point")) == 1));

void
attribute(pair, node, name)
    held_pair *pair
    SV *node
    SV *name
  PREINIT:
    const char *asked, *found;
    int32_t number;
  PPCODE:
    asked = name_given(aTHX_ node, "the name of a node");
    number = asked ? stead_pair_node_named(pair->pair, asked) : -1;
    if (number < 0)
        invalid(aTHX_ "this pair has no node '%" SVf "'", SVfARG(node));
    asked = name_given(aTHX_ name, "the name of an attribute");
    found = asked ? stead_pair_node_attribute(pair->pair, number, asked) : NULL;
    XPUSHs(found ? sv_2mortal(text(aTHX_ found)) : &PL_sv_undef);
