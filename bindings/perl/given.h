/* The arguments of callers: keys, paths, numbers, options. No argument is
 * changed, and a tied value is fetched only once. */

/* A key, a path or a fleet: bytes that live until the call returns. `digits`
 * holds the decimal digits of a key that is a number. */
typedef struct {
  const char *text;
  STRLEN length;
  char digits[24];
} bytes;

/* Finds the bytes of a scalar, which is not changed. `what` names it in
 * messages. The caller has fetched its magic. */
static void bytes_of(pTHX_ SV *sv, const char *what, bytes *found) {
  if (!SvOK(sv))
    invalid(aTHX_ "%s is undef; give a string", what);
  if (SvROK(sv))
    invalid(aTHX_ "%s is a reference; give a string", what);
  if (isGV_with_GP(sv))
    invalid(aTHX_ "%s is a file handle or another glob; give a string", what);
  if (SvPOK(sv) || SvPOKp(sv)) {
    found->text = SvPVX_const(sv);
    found->length = SvCUR(sv);
    if (SvUTF8(sv)) {
      const U8 *at = (const U8 *)found->text, *const end = at + found->length;
      while (at < end && !(*at & 0x80))
        at++;
      if (at < end) {
        /* a separate copy, since Perl downgrades in place */
        SV *const copy =
            newSVpvn_flags(found->text, found->length, SVs_TEMP | SVf_UTF8);
        if (!sv_utf8_downgrade(copy, TRUE))
          invalid(aTHX_ "%s has a character above 0xFF; stead takes bytes: "
                        "give Encode::encode_utf8(...) of it",
                  what);
        found->text = SvPVX_const(copy);
        found->length = SvCUR(copy);
      }
    }
    return;
  }
  /* a number is formatted here, since Perl would store the string in the
   * caller's scalar */
  if (SvIOK(sv) || SvIOKp(sv)) {
    found->length = SvIsUV(sv)
                        ? my_snprintf(found->digits, sizeof found->digits,
                                      "%" UVuf, SvUVX(sv))
                        : my_snprintf(found->digits, sizeof found->digits,
                                      "%" IVdf, SvIVX(sv));
    found->text = found->digits;
    return;
  }
  if (SvNOK(sv) || SvNOKp(sv)) {
    const NV number = SvNVX(sv);
    /* up to 15 digits, Perl prints a whole number as its digits; a larger
     * number, or one with a fraction, can be written in more than one way */
    if (number > -1e15 && number < 1e15 && number == (NV)(IV)number) {
      found->length = my_snprintf(found->digits, sizeof found->digits, "%" IVdf,
                                  (IV)number);
      found->text = found->digits;
      return;
    }
  }
  invalid(aTHX_ "%s is a number without one spelling; give a string, such as "
                "sprintf('%%.2f', ...) of it",
          what);
}

/* As bytes_of, for a scalar that may be tied: its magic is fetched once, into a
 * copy. */
static void fetched_bytes_of(pTHX_ SV *sv, const char *what, bytes *found) {
  bytes_of(aTHX_ SvGMAGICAL(sv) ? sv_mortalcopy(sv) : sv, what, found);
}

/* Finds the bytes of a key. The first branch is for a plain string, as nearly
 * all keys are. */
PERL_STATIC_INLINE void key_of(pTHX_ SV *sv, bytes *key) {
  if ((SvFLAGS(sv) & (SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)) == SVf_POK) {
    key->text = SvPVX_const(sv);
    key->length = SvCUR(sv);
  } else
    fetched_bytes_of(aTHX_ sv, "a key", key);
}

/* A NUL-terminated string that lives until the statement ends. An object that
 * overloads string conversion is converted, as Perl's own open does. */
static const char *c_string(pTHX_ SV *sv, const char *what) {
  bytes found;
  SV *copy = sv_mortalcopy(sv);
  if (SvROK(copy) && SvAMAGIC(copy)) {
    STRLEN length;
    const char *const string = SvPV(copy, length);
    copy = newSVpvn_flags(string, length, SVs_TEMP | SvUTF8(copy));
  }
  bytes_of(aTHX_ copy, what, &found);
  if (memchr(found.text, 0, found.length))
    invalid(aTHX_ "%s has a NUL in it", what);
  if (found.text == found.digits)
    copy = newSVpvn_flags(found.text, found.length, SVs_TEMP);
  return found.text == found.digits ? SvPVX_const(copy) : found.text;
}

/* What was given, for a message: the text of a string or of a number. */
static SV *shown(pTHX_ SV *sv) {
  if (!SvOK(sv) || SvROK(sv))
    return sv_2mortal(newSVpv(SvOK(sv) ? "a reference" : "undef", 0));
  sv = sv_mortalcopy(sv); /* a number would get the form of a string */
  return sv_2mortal(newSVpvf("'%" SVf "'", SVfARG(sv)));
}

/* A whole number from 0 to 2^64 - 1. */
static UV unsigned_of(pTHX_ SV *sv, const char *what) {
  UV number = 0;
  STRLEN length;
  const char *string;
  sv = SvGMAGICAL(sv) ? sv_mortalcopy(sv) : sv;
  if (SvIOK(sv) && (SvIsUV(sv) || SvIVX(sv) >= 0))
    return SvIsUV(sv) ? SvUVX(sv) : (UV)SvIVX(sv);
  /* 2^53: above it several integers round to the same float */
  if (SvNOK(sv) && !SvPOK(sv) && SvNVX(sv) >= 0 &&
      SvNVX(sv) <= 9007199254740992.0 && SvNVX(sv) == (NV)(UV)SvNVX(sv))
    return (UV)SvNVX(sv);
  if (SvPOK(sv)) {
    string = SvPVX_const(sv);
    length = SvCUR(sv);
    if (grok_number(string, length, &number) == IS_NUMBER_IN_UV)
      return number;
  }
  invalid(aTHX_
          "%s is a whole number from 0 to 18446744073709551615, not %" SVf,
          what, SVfARG(shown(aTHX_ sv)));
  return 0;
}

/* The name of a node, a label or an attribute as the library reads it: UTF-8
 * that ends with NUL. NULL when the name has a NUL in it: nothing has such a
 * name. `what` names it in messages. */
static const char *name_given(pTHX_ SV *sv, const char *what) {
  STRLEN length;
  const char *string;
  if ((SvFLAGS(sv) & (SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)) == SVf_POK) {
    const U8 *at = (const U8 *)SvPVX_const(sv), *const end = at + SvCUR(sv);
    while (at < end && *at && !(*at & 0x80))
      at++;
    if (at == end)
      return SvPVX_const(sv); /* ASCII, as nearly all names are */
  }
  sv = sv_mortalcopy(sv);
  /* a Stead::Node counts as its name */
  if (!SvOK(sv) || (SvROK(sv) && !SvAMAGIC(sv)))
    invalid(aTHX_ "%s is a string, not %" SVf, what, SVfARG(shown(aTHX_ sv)));
  if (SvROK(sv)) {
    string = SvPV(sv, length);
    sv = newSVpvn_flags(string, length, SVs_TEMP | SvUTF8(sv));
  }
  string = SvPVutf8(sv, length);
  return memchr(string, 0, length) ? NULL : string;
}

/* An argument of the call. Always use this macro: fetching a tied value runs
 * Perl code, which may move the stack. */
#define ARGUMENT(i) PL_stack_base[ax + (i)]

/* The value of an option among the pairs NAME => VALUE from argument `from` on;
 * NULL when the option is missing or undef. */
static SV *option(pTHX_ I32 ax, I32 from, I32 items, const char *name) {
  SV *found = NULL;
  for (; from + 1 < items; from += 2) {
    SvGETMAGIC(ARGUMENT(from + 1));
    if (strEQ(SvPV_nolen(ARGUMENT(from)), name))
      found = SvOK(ARGUMENT(from + 1)) ? ARGUMENT(from + 1) : NULL;
  }
  return found;
}

/* Refuses options that are not among `known`, a list of names with a space
 * before and after each. */
static void only(pTHX_ I32 ax, I32 from, I32 items, const char *known) {
  if (from < items && (items - from) % 2)
    invalid(aTHX_ "options come in pairs, NAME => VALUE; known:%.*s",
            (int)strlen(known) - 1, known);
  for (; from < items; from += 2) {
    SV *const name = sv_2mortal(newSVpvf(" %s ", SvPV_nolen(ARGUMENT(from))));
    if (!strstr(known, SvPV_nolen(name)))
      invalid(aTHX_ "there is no option '%s'; known:%.*s",
              SvPV_nolen(ARGUMENT(from)), (int)strlen(known) - 1, known);
  }
}
