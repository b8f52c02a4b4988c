dnl The extension needs stead.h to be built, and libstead.so.1 only when it runs: it loads the library itself, so that a
dnl missing library is a warning and PHP starts all the same.
PHP_ARG_WITH([stead],
  [for stead],
  [AS_HELP_STRING([--with-stead@<:@=DIR@:>@],
    [Include stead. DIR is the prefix of libstead, or any directory that has include/stead.h])],
  [yes])

if test "$PHP_STEAD" != "no"; then
  AC_MSG_CHECKING([for stead.h])
  for dir in "$PHP_STEAD" `pkg-config --variable=prefix stead 2>/dev/null` /usr/local /usr; do
    if test -r "$dir/include/stead.h"; then
      STEAD_DIR=$dir
      break
    fi
  done
  if test -z "$STEAD_DIR"; then
    AC_MSG_RESULT([not found])
    AC_MSG_ERROR([stead.h is missing: install libstead (make install in stead's source tree), or name its prefix: --with-stead=DIR])
  fi
  AC_MSG_RESULT([$STEAD_DIR/include])
  PHP_ADD_INCLUDE([$STEAD_DIR/include])
  PHP_NEW_EXTENSION(stead, stead.c library.c failure.c fleet.c map.c open.c locate.c batch.c inside.c records.c pair.c plan.c, $ext_shared,, -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden)
  PHP_ADD_EXTENSION_DEP(stead, json)
  PHP_ADD_EXTENSION_DEP(stead, spl)
fi
