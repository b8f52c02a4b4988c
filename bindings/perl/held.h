/* The contents of Stead's objects, and how calls fail.
 *
 * A handle is stored in the magic of the scalar that a Stead::Map or
 * Stead::Plan refers to. Perl calls the `free` of that magic exactly once, when
 * it frees the scalar, so there is no DESTROY that could be called twice. It
 * calls `dup` when a thread is created, which gives the thread its own handle.
 * And a program cannot forge such a scalar by blessing a number.
 */

/* The greatest length of a name that is copied beside its scalar. */
#define SHORT 30

/* The name of a node in Perl's form, created when it is first needed. `scalar`
 * is the name as a scalar. `text` is its shared string; it is stored separately
 * because reading it through the scalar makes long answers 5 % slower.
 * `letters` has the bytes of a short name, as nearly all are, so that a single
 * answer needs only this struct. */
typedef struct {
  HEK *text;
  SV *scalar;
  char letters[SHORT + 1];
  U8 length; /* 0: not known yet, or longer than SHORT, or with characters above
                0xFF */
} node_name;

/* A handle of a map, and the names of its nodes. */
typedef struct {
  stead_map *map;
  node_name *names;
  int32_t count;
} held_map;

/* A plan with its two maps. In a new thread `plan` is NULL until it is first
 * used, because libstead cannot share a plan. */
typedef struct {
  stead_plan *plan;
  held_map old_map, new_map;
} held_plan;

/* A pair. It has handles of its maps itself. */
typedef struct {
  stead_pair *pair;
} held_pair;

/* ---- failures */

/* Makes a scalar of a text from the library, which is UTF-8. */
static SV *text(pTHX_ const char *string) {
  STRLEN length = strlen(string), at;
  for (at = 0; at < length && !((U8)string[at] & 0x80); at++)
    ;
  return newSVpvn_flags(
      string, length,
      at < length && is_utf8_string((const U8 *)string, length) ? SVf_UTF8 : 0);
}

/* The class of a failure. A status that a newer library added has the class of
 * all failures. */
static const char *class_of(int status) {
  switch (status) {
  case STEAD_INVALID:
    return "Stead::Error::Invalid";
  case STEAD_FLEET:
    return "Stead::Error::Fleet";
  case STEAD_IMPOSSIBLE:
    return "Stead::Error::Impossible";
  case STEAD_FORMAT:
    return "Stead::Error::Format";
  case STEAD_DIGEST:
    return "Stead::Error::Digest";
  case STEAD_VERSION:
    return "Stead::Error::Version";
  case STEAD_IDENTITY:
    return "Stead::Error::Identity";
  case STEAD_NOT_FOUND:
    return "Stead::Error::NotFound";
  case STEAD_IO:
    return "Stead::Error::Io";
  case STEAD_CONFLICT:
    return "Stead::Error::Conflict";
  case STEAD_UNCERTAIN:
    return "Stead::Error::Uncertain";
  case STEAD_CHANGED:
    return "Stead::Error::Changed";
  case STEAD_NAME:
    return "Stead::Error::PathName";
  case STEAD_INTERNAL:
    return "Stead::Error::Internal";
  case STEAD_PERMISSION:
    return "Stead::Error::PermissionDenied";
  case STEAD_MEMORY:
    return "Stead::Error::OutOfMemory";
  case STEAD_GUARDED:
    return "Stead::Error::Guarded";
  default:
    return "Stead::Error";
  }
}

/* Dies with a Stead::Error, which takes ownership of `message`. */
static void fail_with(pTHX_ int status, int os_errno, SV *message) {
  HV *const error = newHV();
  const char *const name = stead_status_name(status);
  (void)hv_stores(error, "status", newSViv(status));
  (void)hv_stores(error, "status_name", newSVpv(name ? name : "", 0));
  (void)hv_stores(error, "errno", newSViv(os_errno));
  (void)hv_stores(error, "message", message);
  (void)hv_stores(error, "file",
                  newSVpv(CopFILE(PL_curcop) ? CopFILE(PL_curcop) : "", 0));
  (void)hv_stores(error, "line", newSVuv(CopLINE(PL_curcop)));
  croak_sv(sv_2mortal(sv_bless(newRV_noinc((SV *)error),
                               gv_stashpv(class_of(status), GV_ADD))));
}

/* Dies with an error of the library. */
static void fail(pTHX_ const stead_error *error) {
  fail_with(aTHX_ error->status, error->os_errno, text(aTHX_ error->message));
}

/* Dies because of a wrong argument. */
static void invalid(pTHX_ const char *format, ...) {
  va_list arguments;
  SV *message;
  va_start(arguments, format);
  message = vnewSVpvf(format, &arguments);
  va_end(arguments);
  fail_with(aTHX_ STEAD_INVALID, 0, message);
}

/* ---- handles */

static void let_go(pTHX_ held_map *held) {
  int32_t i;
  if (held->names)
    for (i = 0; i < held->count; i++)
      SvREFCNT_dec(held->names[i].scalar);
  Safefree(held->names);
  stead_map_free(held->map);
}

static int free_map(pTHX_ SV *sv, MAGIC *mg) {
  dSAVE_ERRNO;
  PERL_UNUSED_ARG(sv);
  let_go(aTHX_(held_map *) mg->mg_ptr);
  Safefree(mg->mg_ptr);
  RESTORE_ERRNO;
  return 0;
}

static int free_plan(pTHX_ SV *sv, MAGIC *mg) {
  dSAVE_ERRNO;
  held_plan *const held = (held_plan *)mg->mg_ptr;
  PERL_UNUSED_ARG(sv);
  stead_plan_free(held->plan);
  let_go(aTHX_ & held->old_map);
  let_go(aTHX_ & held->new_map);
  Safefree(held);
  RESTORE_ERRNO;
  return 0;
}

static int free_pair(pTHX_ SV *sv, MAGIC *mg) {
  dSAVE_ERRNO;
  PERL_UNUSED_ARG(sv);
  stead_pair_free(((held_pair *)mg->mg_ptr)->pair);
  Safefree(mg->mg_ptr);
  RESTORE_ERRNO;
  return 0;
}

/* Makes another handle of a map. It has no names yet: they belong to Perl, and
 * each of Perl's threads makes its own. */
static held_map share(const held_map *held) {
  held_map mine = {NULL, NULL, 0};
  mine.map = stead_map_share(held->map);
  mine.count = held->count;
  return mine;
}

#ifdef USE_ITHREADS
static int dup_map(pTHX_ MAGIC *mg, CLONE_PARAMS *params) {
  held_map *mine;
  PERL_UNUSED_ARG(params);
  Newx(mine, 1, held_map);
  *mine = share((held_map *)mg->mg_ptr);
  mg->mg_ptr = (char *)mine;
  return 0;
}

static int dup_plan(pTHX_ MAGIC *mg, CLONE_PARAMS *params) {
  const held_plan *const theirs = (held_plan *)mg->mg_ptr;
  held_plan *mine;
  PERL_UNUSED_ARG(params);
  Newx(mine, 1, held_plan);
  mine->plan = NULL;
  mine->old_map = share(&theirs->old_map);
  mine->new_map = share(&theirs->new_map);
  mg->mg_ptr = (char *)mine;
  return 0;
}

static int dup_pair(pTHX_ MAGIC *mg, CLONE_PARAMS *params) {
  const held_pair *const theirs = (held_pair *)mg->mg_ptr;
  held_pair *mine;
  PERL_UNUSED_ARG(params);
  Newx(mine, 1, held_pair);
  mine->pair = stead_pair_share(theirs->pair);
  mg->mg_ptr = (char *)mine;
  return 0;
}
#else
#define dup_map NULL
#define dup_plan NULL
#define dup_pair NULL
#endif

static MGVTBL map_magic = {NULL,     NULL, NULL,    NULL,
                           free_map, NULL, dup_map, NULL};
static MGVTBL plan_magic = {NULL,      NULL, NULL,     NULL,
                            free_plan, NULL, dup_plan, NULL};
static MGVTBL pair_magic = {NULL,      NULL, NULL,     NULL,
                            free_pair, NULL, dup_pair, NULL};

/* The content of an object of this module; NULL when `sv` is not one. */
PERL_STATIC_INLINE void *held_by(SV *sv, const MGVTBL *kind) {
  if (SvROK(sv) && SvTYPE(SvRV(sv)) >= SVt_PVMG) {
    const MAGIC *mg;
    for (mg = SvMAGIC(SvRV(sv)); mg; mg = mg->mg_moremagic)
      if (mg->mg_virtual == kind)
        return mg->mg_ptr;
  }
  return NULL;
}

/* Makes a new object of a class. */
static SV *object(pTHX_ SV *class, const MGVTBL *kind, void *held) {
  HV *const stash = SvROK(class) && SvOBJECT(SvRV(class))
                        ? SvSTASH(SvRV(class))
                        : gv_stashsv(class, GV_ADD);
  SV *const inner = newSV_type(SVt_PVMG);
  SV *const reference = sv_2mortal(newRV_noinc(inner));
  MAGIC *const mg = sv_magicext(inner, NULL, PERL_MAGIC_ext, (MGVTBL *)kind,
                                (const char *)held, 0);
  mg->mg_flags |= MGf_DUP;
  sv_bless(reference, stash);
  SvREADONLY_on(inner);
  return reference;
}

PERL_STATIC_INLINE held_map *map_of(pTHX_ SV *sv, const char *what) {
  held_map *const held = (held_map *)held_by(sv, &map_magic);
  if (!held)
    invalid(aTHX_ "%s is not a Stead::Map; Stead::Map->open(PATH) gives one",
            what);
  return held;
}

/* Keeps everything that the arguments refer to alive until the statement ends.
 * This is needed because tied values and objects that overload string
 * conversion run Perl code, which might free the objects of this call. For
 * plain arguments it costs only a test of their flags. */
PERL_STATIC_INLINE void keep(pTHX_ I32 ax, I32 items) {
  U32 flags = 0;
  I32 i;
  for (i = 1; i < items; i++)
    flags |= SvFLAGS(PL_stack_base[ax + i]);
  if (flags & (SVs_GMG | SVf_ROK))
    for (i = 0; i < items; i++)
      if (SvROK(PL_stack_base[ax + i]))
        sv_2mortal(SvREFCNT_inc_simple_NN(SvRV(PL_stack_base[ax + i])));
}

/* A map, or NULL for undef. */
static held_map *map_or_none(pTHX_ SV *sv, const char *what) {
  SvGETMAGIC(sv);
  return SvOK(sv) ? map_of(aTHX_ sv, what) : NULL;
}

static held_plan *plan_of(pTHX_ SV *sv) {
  held_plan *const held = (held_plan *)held_by(sv, &plan_magic);
  if (!held)
    invalid(aTHX_ "plan is not a Stead::Plan; Stead::Plan->between(OLD, NEW) "
                  "gives one");
  if (!held->plan) {
    stead_error error;
    if (stead_plan_between(held->old_map.map, held->new_map.map, &held->plan,
                           &error) != STEAD_OK)
      fail(aTHX_ & error);
  }
  return held;
}

static held_pair *pair_of(pTHX_ SV *sv) {
  held_pair *const held = (held_pair *)held_by(sv, &pair_magic);
  if (!held)
    invalid(aTHX_ "pair is not a Stead::Pair; Stead::Pair->open(PATH) gives "
                  "one");
  return held;
}

static SV *new_pair(pTHX_ SV *class, stead_pair *pair) {
  held_pair *mine;
  Newx(mine, 1, held_pair);
  mine->pair = pair;
  return object(aTHX_ class, &pair_magic, mine);
}

static held_map held(stead_map *map) {
  held_map found = {NULL, NULL, 0};
  found.map = map;
  found.count = stead_map_node_count(map);
  return found;
}

static SV *new_map(pTHX_ SV *class, stead_map *map) {
  held_map *mine;
  Newx(mine, 1, held_map);
  *mine = held(map);
  return object(aTHX_ class, &map_magic, mine);
}

/* Makes the name of a node, when it is needed for the first time. */
static HEK *make_name(pTHX_ held_map *map, int32_t node) {
  SV *const plain = sv_2mortal(text(aTHX_ stead_map_node_name(map->map, node)));
  node_name *name;
  STRLEN length;
  const char *const string = SvPV(plain, length);
  if (!map->names)
    Newxz(map->names, map->count, node_name);
  name = &map->names[node];
  name->scalar =
      newSVpvn_share(string, SvUTF8(plain) ? -(I32)length : (I32)length, 0);
  name->text = SvSHARED_HEK_FROM_PV(SvPVX_const(name->scalar));
  if (!HEK_UTF8(name->text) && HEK_LEN(name->text) <= SHORT) {
    Copy(HEK_KEY(name->text), name->letters, HEK_LEN(name->text), char);
    name->length = (U8)HEK_LEN(name->text);
  }
  return name->text;
}

/* The name of a node. The map owns it. */
PERL_STATIC_INLINE HEK *name_of(pTHX_ held_map *map, int32_t node) {
  return map->names && map->names[node].text ? map->names[node].text
                                             : make_name(aTHX_ map, node);
}

/* Sets a scalar to the name of a node. The text is copied: counting references
 * to a text as short as this takes longer. */
PERL_STATIC_INLINE void set_name(pTHX_ SV *sv, held_map *map, int32_t node) {
  HEK *name;
  if (map->names && map->names[node].length && SvTYPE(sv) == SVt_PV &&
      !SvTHINKFIRST(sv) && !SvOOK(sv) && SvLEN(sv) > SHORT) {
    /* does what sv_setpvn does to a string that has room. The scalar is checked
     * first because before Perl 5.20 a caller could have changed it to
     * something else */
    const node_name *const known = &map->names[node];
    Copy(known->letters, SvPVX(sv), SHORT + 1,
         char); /* of a size that the compiler knows; a NUL stands behind the
                   name */
    SvCUR_set(sv, known->length);
    SvPOK_only(sv);
    return;
  }
  name = name_of(aTHX_ map, node);
  sv_setpvn(sv, HEK_KEY(name), HEK_LEN(name));
  if (HEK_UTF8(name))
    SvUTF8_on(sv);
  else
    SvUTF8_off(sv);
  SvGROW(sv, SHORT + 1);
}

/* A new scalar with the name of a node, or undef for -1. It shares its text
 * with the map, so many of them need little memory. */
static SV *fresh_name(pTHX_ held_map *map, int32_t node) {
  return node < 0 ? newSV(0) : newSVhek(name_of(aTHX_ map, node));
}
