/* What callers give: keys, paths, numbers, options. Nothing that is given is
 * changed, and what is tied is fetched once. */

/* A key, a path, a fleet: bytes that live until the call returns. `digits` is
 * where a number that is a key is spelled. */
typedef struct {
  const char *text;
  STRLEN length;
  char digits[24];
} bytes;

/* Bytes of a scalar, which is not changed. `what` is what it is, for messages.
 * Magic has been fetched. */
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
        /* a copy of our own: Perl downgrades in place */
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
  /* a number: spelled here, since Perl would keep the spelling in the caller's
   * scalar */
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
    /* up to 15 digits Perl writes a whole number as such; beyond, and with a
     * fraction, it has no one spelling */
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

/* The same of what may be tied: its magic is fetched once, into a copy. */
static void fetched_bytes_of(pTHX_ SV *sv, const char *what, bytes *found) {
  bytes_of(aTHX_ SvGMAGICAL(sv) ? sv_mortalcopy(sv) : sv, what, found);
}

/* A key. First what nearly all keys are: a plain string. */
PERL_STATIC_INLINE void key_of(pTHX_ SV *sv, bytes *key) {
  if ((SvFLAGS(sv) & (SVf_POK | SVf_UTF8 | SVs_GMG | SVf_ROK)) == SVf_POK) {
    key->text = SvPVX_const(sv);
    key->length = SvCUR(sv);
  } else
    fetched_bytes_of(aTHX_ sv, "a key", key);
}

/* A string that C can take, which lives until the statement ends. Objects that
 * are strings by overloading are, as for Perl's own open. */
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

/* A whole number from 0 to 2^64 - 1. */
static UV unsigned_of(pTHX_ SV *sv, const char *what) {
  UV number = 0;
  STRLEN length;
  const char *string;
  sv = SvGMAGICAL(sv) ? sv_mortalcopy(sv) : sv;
  if (SvIOK(sv) && (SvIsUV(sv) || SvIVX(sv) >= 0))
    return SvIsUV(sv) ? SvUVX(sv) : (UV)SvIVX(sv);
  /* 2^53: above it a float does not say which number is meant */
  if (SvNOK(sv) && !SvPOK(sv) && SvNVX(sv) >= 0 &&
      SvNVX(sv) <= 9007199254740992.0 && SvNVX(sv) == (NV)(UV)SvNVX(sv))
    return (UV)SvNVX(sv);
  if (SvPOK(sv)) {
    string = SvPVX_const(sv);
    length = SvCUR(sv);
    if (grok_number(string, length, &number) == IS_NUMBER_IN_UV)
      return number;
  }
  invalid(aTHX_ "%s is a whole number from 0 to 18446744073709551615", what);
  return 0;
}

/* An argument of the call. Always by this: fetching what is tied runs Perl
 * code, under which the stack may move. */
#define ARGUMENT(i) PL_stack_base[ax + (i)]

/* What stands behind a name among the pairs NAME => VALUE from argument `from`
 * on; NULL when it is not there or undef. */
static SV *option(pTHX_ I32 ax, I32 from, I32 items, const char *name) {
  SV *found = NULL;
  for (; from + 1 < items; from += 2) {
    SvGETMAGIC(ARGUMENT(from + 1));
    if (strEQ(SvPV_nolen(ARGUMENT(from)), name))
      found = SvOK(ARGUMENT(from + 1)) ? ARGUMENT(from + 1) : NULL;
  }
  return found;
}

/* Refuses options that are not among `known`, names with a space before and
 * behind each. */
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
