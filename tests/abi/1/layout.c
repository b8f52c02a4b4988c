// Prints what programs compile in from this release's stead.h: sizes, offsets and numbers. run.py --record wrote this file.

#include <stddef.h>
#include <stdio.h>

#include <stead.h>

#define NUMBER(name) printf("%s = %lld\n", #name, (long long)name)
#define SIZE(type) printf("%s: size %zu, alignment %zu\n", #type, sizeof(type), offsetof(struct { char before; type value; }, value))
// does not compile if the field has another type
#define FIELD(record, type, name, many) \
    do { \
        static record value; \
        type(*field) many = &value.name; \
        printf("%s.%s: %s%s, offset %zu, size %zu\n", #record, #name, #type, #many, offsetof(record, name), sizeof *field); \
    } while (0)

int main(void) {
    SIZE(stead_abi_number);
    NUMBER(STEAD_ABI);
    SIZE(stead_status);
    NUMBER(STEAD_OK);
    NUMBER(STEAD_INVALID);
    NUMBER(STEAD_FLEET);
    NUMBER(STEAD_IMPOSSIBLE);
    NUMBER(STEAD_FORMAT);
    NUMBER(STEAD_DIGEST);
    NUMBER(STEAD_VERSION);
    NUMBER(STEAD_IDENTITY);
    NUMBER(STEAD_NOT_FOUND);
    NUMBER(STEAD_IO);
    NUMBER(STEAD_CONFLICT);
    NUMBER(STEAD_UNCERTAIN);
    NUMBER(STEAD_CHANGED);
    NUMBER(STEAD_NAME);
    NUMBER(STEAD_INTERNAL);
    NUMBER(STEAD_PERMISSION);
    NUMBER(STEAD_MEMORY);
    NUMBER(STEAD_GUARDED);
    SIZE(stead_open_flags);
    NUMBER(STEAD_OPEN_SHARED);
    NUMBER(STEAD_OPEN_COPY);
    SIZE(stead_hash);
    NUMBER(STEAD_MD5);
    NUMBER(STEAD_SHA1);
    NUMBER(STEAD_XXH3);
    NUMBER(STEAD_SIPHASH);
    NUMBER(STEAD_MD5_LE32);
    NUMBER(STEAD_MD5_BE32);
    NUMBER(STEAD_CRC32);
    NUMBER(STEAD_CRC32_15);
    NUMBER(STEAD_CRC16_TAG);
    NUMBER(STEAD_FNV1_32);
    NUMBER(STEAD_FNV1_32_SIGNED);
    NUMBER(STEAD_FNV1A_32);
    NUMBER(STEAD_FNV1A_32_SIGNED);
    NUMBER(STEAD_FNV1_64);
    NUMBER(STEAD_FNV1_64_SIGNED);
    NUMBER(STEAD_FNV1A_64);
    NUMBER(STEAD_FNV1A_64_SIGNED);
    NUMBER(STEAD_ONE_AT_A_TIME);
    NUMBER(STEAD_ONE_AT_A_TIME_SIGNED);
    NUMBER(STEAD_FNV1A_FOLD16);
    NUMBER(STEAD_RIAK);
    NUMBER(STEAD_RIAK_TYPED);
    NUMBER(STEAD_DJB2);
    NUMBER(STEAD_DECIMAL);
    NUMBER(STEAD_XXH64);
    SIZE(stead_fold);
    NUMBER(STEAD_FOLD_NONE);
    NUMBER(STEAD_FOLD_ASCII);
    SIZE(stead_cause);
    NUMBER(STEAD_CAUSE_PIN);
    NUMBER(STEAD_CAUSE_POLICY);
    NUMBER(STEAD_CAUSE_REBALANCE);
    SIZE(stead_state);
    NUMBER(STEAD_STATE_NONE);
    NUMBER(STEAD_STATE_OLD);
    NUMBER(STEAD_STATE_BOTH_OLD_FIRST);
    NUMBER(STEAD_STATE_BOTH_NEW_FIRST);
    NUMBER(STEAD_STATE_NEW);
    SIZE(stead_room);
    NUMBER(STEAD_PATH_ROOM);
    NUMBER(STEAD_NAME_ROOM);
    NUMBER(STEAD_DIGEST_ROOM);
    SIZE(stead_error);
    FIELD(stead_error, int32_t, status, );
    FIELD(stead_error, int32_t, os_errno, );
    FIELD(stead_error, char, message, [248]);
    SIZE(stead_slice);
    FIELD(stead_slice, uint64_t, first, );
    FIELD(stead_slice, uint64_t, last, );
    FIELD(stead_slice, int32_t, policy, );
    FIELD(stead_slice, int32_t, reserved, );
    SIZE(stead_move);
    FIELD(stead_move, uint64_t, first, );
    FIELD(stead_move, uint64_t, last, );
    FIELD(stead_move, int32_t, from, );
    FIELD(stead_move, int32_t, to, );
    FIELD(stead_move, int32_t, cause, );
    FIELD(stead_move, int32_t, reserved, );
    SIZE(stead_affected);
    FIELD(stead_affected, uint64_t, key, );
    FIELD(stead_affected, int32_t, from, );
    FIELD(stead_affected, int32_t, to, );
    SIZE(stead_points);
    FIELD(stead_points, uint64_t, low, );
    FIELD(stead_points, uint64_t, high, );
    SIZE(stead_amounts);
    FIELD(stead_amounts, stead_points, moved, );
    FIELD(stead_amounts, stead_points, lower_bound, );
    FIELD(stead_amounts, stead_points, by_hand, );
    FIELD(stead_amounts, stead_points, reordered, );
    return 0;
}
