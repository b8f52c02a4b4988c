// Checks the layout of the records, for whichever declarations come before this
// file: those of stead.h, or those that PHP reads.

_Static_assert(sizeof(stead_error) == 256 && _Alignof(stead_error) == 4,
               "stead_error");
_Static_assert(offsetof(stead_error, status) == 0 &&
                   offsetof(stead_error, os_errno) == 4,
               "stead_error");
_Static_assert(offsetof(stead_error, message) == 8 &&
                   sizeof(((stead_error *)0)->message) == 248,
               "stead_error.message");
_Static_assert(sizeof(stead_slice) == 24 &&
                   _Alignof(stead_slice) == _Alignof(uint64_t),
               "stead_slice");
_Static_assert(offsetof(stead_slice, first) == 0 &&
                   offsetof(stead_slice, last) == 8,
               "stead_slice");
_Static_assert(offsetof(stead_slice, policy) == 16 &&
                   offsetof(stead_slice, reserved) == 20,
               "stead_slice");
_Static_assert(sizeof(stead_move) == 32 &&
                   _Alignof(stead_move) == _Alignof(uint64_t),
               "stead_move");
_Static_assert(offsetof(stead_move, first) == 0 &&
                   offsetof(stead_move, last) == 8,
               "stead_move");
_Static_assert(offsetof(stead_move, from) == 16 &&
                   offsetof(stead_move, to) == 20,
               "stead_move");
_Static_assert(offsetof(stead_move, cause) == 24 &&
                   offsetof(stead_move, reserved) == 28,
               "stead_move");
