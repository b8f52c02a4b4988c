// A client of this release's libstead. It uses every function, to show that a later library still does what it did.
//
//     client MAPS SCRATCH     prints expected.txt; MAPS is the directory maps beside this file, SCRATCH an empty directory
//
// It prints only what is promised: no version, no digest, no size of a report. Once the release is out, this file represents the
// programs that were compiled with it, and must never be changed.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stead.h>

#if STEAD_VERSION_NUMBER != 1000000 * STEAD_VERSION_MAJOR + 1000 * STEAD_VERSION_MINOR + STEAD_VERSION_PATCH
#error the version
#endif

STEAD_USE_RESULT static const char *header_version(void) { return STEAD_VERSION_STRING; }

// a and c hold a quarter each, and b holds half; d then doubles the total weight, and gets half
#define NODES \
    "name = \"client\"\n" \
    "[[node]]\nname = \"a\"\nlabels = { zone = \"z1\" }\nattributes = { address = \"10.0.0.1:80\" }\n" \
    "[[node]]\nname = \"b\"\nweight = 2\n" \
    "[[node]]\nname = \"c\"\n" \
    "[[policy]]\nname = \"hot\"\nkind = \"chain\"\nnodes = [\"c\", \"a\"]\n" \
    "[[pin]]\nkey = \"justin\"\npolicy = \"hot\"\n"
static const char FIRST[] = NODES, SECOND[] = NODES "[[node]]\nname = \"d\"\nweight = 4\n";

static stead_error error;

// Exits with an error if a call did not do what it should.
static void done(int32_t status) {
    if (status != STEAD_OK || error.status != STEAD_OK) {
        fprintf(stderr, "client: %s: %s\n", stead_status_name(status), error.message);
        exit(1);
    }
}

static void check(int fact, const char *what) {
    if (!fact) {
        fprintf(stderr, "client: not so: %s\n", what);
        exit(1);
    }
}
#define CHECK(fact) check(fact, #fact)

static const char *beside(const char *directory, const char *file) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    return path;
}

static void print_nodes(const stead_map *map, const char *what, const int32_t *nodes, size_t count) {
    printf("%s:", what);
    for (size_t i = 0; i < count; i++)
        printf(" %s", stead_map_node_name(map, nodes[i]));
    printf("\n");
}

static stead_map *build(const char *fleet, const stead_map *previous) {
    stead_map *map;
    done(stead_map_build(fleet, strlen(fleet), "client.toml", previous, NULL, &map, &error));
    return map;
}

static void print_map(const stead_map *map) {
    uint64_t weight, covered = 0;
    int32_t nodes[4];
    size_t count;
    stead_slice slice;
    static const uint8_t zeros[STEAD_DIGEST_ROOM];
    uint8_t parent[STEAD_DIGEST_ROOM];
    printf("map %s, epoch %" PRIu64 ", replicas %" PRId32 "\n", stead_map_name(map), stead_map_epoch(map), stead_map_replicas(map));
    printf("hash %s, key %s, spread over %" PRId32 "\n", stead_map_hash(map), stead_map_key_rule(map), stead_map_spread_count(map));
    CHECK(stead_map_spread(map, 0) == NULL);
    done(stead_map_parent(map, parent, &error));
    CHECK((memcmp(parent, zeros, sizeof zeros) == 0) == (stead_map_epoch(map) == 1));
    for (int32_t node = 0; node < stead_map_node_count(map); node++) {
        const char *zone = stead_map_node_label(map, node, "zone"), *address = stead_map_node_attribute(map, node, "address");
        done(stead_map_node_weight(map, node, &weight, &error));
        CHECK(stead_map_node_named(map, stead_map_node_name(map, node)) == node);
        printf("node %s, weight %" PRIu64 ", zone %s, address %s\n", stead_map_node_name(map, node), weight, zone ? zone : "-",
               address ? address : "-");
        CHECK(stead_map_node_leaving(map, node) == 0);
        for (int32_t i = 0; i < stead_map_node_label_count(map, node); i++)
            printf("  label %s\n", stead_map_node_label_name(map, node, i));
        for (int32_t i = 0; i < stead_map_node_attribute_count(map, node); i++)
            printf("  attribute %s\n", stead_map_node_attribute_name(map, node, i));
    }
    for (int32_t policy = 0; policy < stead_map_policy_count(map); policy++) {
        if (!stead_map_policy_name(map, policy))
            continue;
        done(stead_map_policy_nodes(map, policy, nodes, 4, &count, &error));
        done(stead_map_policy_weight(map, policy, &weight, &error));
        printf("policy %s, kind %s, weight %" PRIu64 ", ", stead_map_policy_name(map, policy), stead_map_policy_kind(map, policy), weight);
        print_nodes(map, "nodes", nodes, count);
    }
    for (size_t i = 0; i < stead_map_slice_count(map); i++) {
        done(stead_map_slice(map, i, &slice, &error));
        CHECK(slice.first == covered && slice.last >= slice.first && slice.reserved == 0);
        CHECK(slice.policy >= 0 && slice.policy < stead_map_policy_count(map));
        covered = slice.last + 1;
    }
    CHECK(covered == 0);
}

static void locate(const stead_map *map, const char *key) {
    int32_t node, nodes[8], best[8];
    size_t count, found;
    uint64_t point;
    done(stead_map_point(map, key, strlen(key), &point, &error));
    done(stead_map_locate(map, key, strlen(key), &node, &error));
    CHECK(stead_map_node_of(map, key, strlen(key)) == node);
    printf("key %s, point %016" PRIx64 ", node %s\n", key, point, stead_map_node_name(map, node));
    done(stead_map_locate_all(map, key, strlen(key), nodes, 8, &count, &error));
    print_nodes(map, "  all", nodes, count);
    done(stead_map_locate_all_point(map, point, best, 8, &found, &error));
    CHECK(found == count && memcmp(nodes, best, count * sizeof *nodes) == 0);
    done(stead_map_locate_point(map, point, best, &error));
    CHECK(best[0] == node);
    done(stead_map_prefer(map, key, strlen(key), best, 5, &found, &error));
    print_nodes(map, "  prefer", best, found);
}

static void locate_many(const stead_map *map) {
    const uint64_t offsets[] = {0, 5, 5, 11}; // frank, the empty key, justin
    int32_t nodes[3];
    done(stead_map_locate_many(map, "frankjustin", 11, offsets, 3, nodes, &error));
    print_nodes(map, "many", nodes, 3);

    const uint32_t narrow[] = {0, 5, 5, 11};
    int32_t same[3], all[16];
    uint64_t starts[4];
    size_t count;
    done(stead_map_locate_many_32(map, "frankjustin", 11, narrow, 3, same, &error));
    CHECK(memcmp(nodes, same, sizeof nodes) == 0);
    done(stead_map_locate_all_many(map, "frankjustin", 11, offsets, 3, all, 16, starts, &count, &error));
    CHECK(starts[0] == 0 && starts[3] == count && count == 3 * (size_t)stead_map_replicas(map));
    print_nodes(map, "many, all", all, count);
}

static void print_plan(const stead_map *old_map, const stead_map *new_map, const char *key, int with_moves) {
    static const char *causes[] = {"", "pin", "policy", "rebalance"};
    stead_plan *plan;
    stead_move one;
    stead_amounts amounts;
    stead_affected rows[8];
    size_t indexes[8], at_point[8], count, found;
    uint64_t point;
    const uint64_t offsets[] = {0, strlen(key)};
    char *json;
    done(stead_plan_between(old_map, new_map, &plan, &error));
    printf("plan, fraction %.6f\n", stead_plan_fraction(plan));
    for (size_t i = 0; with_moves && i < stead_plan_count(plan); i++) {
        done(stead_plan_move(plan, i, &one, &error));
        printf("  %016" PRIx64 " to %016" PRIx64 ", %s to %s, %s\n", one.first, one.last, stead_map_node_name(old_map, one.from),
               stead_map_node_name(new_map, one.to), causes[one.cause]);
    }
    done(stead_plan_affects(plan, key, strlen(key), indexes, 8, &count, &error));
    printf("moves of %s:", key);
    for (size_t i = 0; i < count; i++)
        printf(" %zu", indexes[i]);
    printf("\n");
    done(stead_map_point(old_map, key, strlen(key), &point, &error));
    done(stead_plan_affects_point(plan, point, at_point, 8, &found, &error));
    CHECK(found == count && memcmp(indexes, at_point, count * sizeof *indexes) == 0);
    done(stead_plan_affects_many(plan, key, strlen(key), offsets, 1, rows, 8, &found, &error));
    CHECK(found == count);
    for (size_t i = 0; i < count; i++)
        printf("  affected key %" PRIu64 ", %s to %s\n", rows[i].key, stead_map_node_name(old_map, rows[i].from),
               stead_map_node_name(new_map, rows[i].to));
    done(stead_plan_amounts(plan, &amounts, &error));
    printf("moved %" PRIx64 " and %016" PRIx64 ", by hand %" PRIx64 ", reordered %" PRIx64 "\n", amounts.moved.high,
           amounts.moved.low, amounts.by_hand.low, amounts.reordered.low);
    CHECK(amounts.lower_bound.high <= amounts.moved.high);
    done(stead_plan_report(plan, 1, &json, &error));
    CHECK(json[0] == '{' && strstr(json, "\"moves\""));
    stead_text_free(json);
    stead_plan_free(plan);
}

// Prints where a key is read and written in each state of a carry.
static void print_pairs(const stead_map *old_map, const stead_map *new_map, const char *map_file, const char *key) {
    int32_t nodes[8], others[8];
    size_t count, found, length = strlen(key);
    uint64_t point;
    stead_pair *pair, *file;
    done(stead_map_point(old_map, key, length, &point, &error));
    for (int32_t state = STEAD_STATE_OLD; state <= STEAD_STATE_NEW; state++) {
        done(stead_pair_between(old_map, new_map, state, &pair, &error));
        CHECK(stead_pair_state(pair) == state);
        done(stead_pair_reads(pair, key, length, nodes, 8, &count, &error));
        printf("state %" PRId32 " of %s, moved %" PRId32 ":", state, key, stead_pair_moved(pair, key, length));
        for (size_t i = 0; i < count; i++)
            printf(" %s", stead_pair_node_name(pair, nodes[i]));
        done(stead_pair_reads_point(pair, point, others, 8, &found, &error));
        CHECK(found == count && memcmp(nodes, others, count * sizeof *nodes) == 0);
        done(stead_pair_writes(pair, key, length, nodes, 8, &count, &error));
        printf(", written:");
        for (size_t i = 0; i < count; i++)
            printf(" %s", stead_pair_node_name(pair, nodes[i]));
        printf("\n");
        done(stead_pair_writes_point(pair, point, others, 8, &found, &error));
        CHECK(found == count && memcmp(nodes, others, count * sizeof *nodes) == 0);
        CHECK(stead_pair_moved_point(pair, point) == stead_pair_moved(pair, key, length));
        CHECK(stead_pair_node_named(pair, stead_pair_node_name(pair, 0)) == 0 && stead_pair_node_count(pair) > 0);
        CHECK(!stead_pair_node_attribute(pair, 0, "none"));
        stead_map *one = stead_pair_new_map(pair), *other = stead_pair_old_map(pair);
        CHECK(stead_map_same(one, new_map) == 1 && stead_map_same(other, old_map) == 1);
        stead_map_free(one);
        stead_map_free(other);
        stead_pair *again = stead_pair_share(pair);
        stead_pair_free(pair);
        stead_pair_free(again);
    }
    done(stead_pair_open(map_file, STEAD_OPEN_SHARED, &file, &error));
    CHECK(stead_pair_state(file) == STEAD_STATE_NONE && !stead_pair_old_map(file));
    stead_pair_free(file);
    done(stead_pair_open_from(map_file, 1, STEAD_STATE_OLD, &file, &error));
    CHECK(stead_pair_state(file) == STEAD_STATE_OLD);
    stead_pair_free(file);
}

// Builds two epochs, publishes and saves them, and reads them back.
static void files(const char *scratch) {
    const void *bytes;
    size_t length;
    uint64_t epoch;
    uint8_t digest[STEAD_DIGEST_ROOM], peeked[STEAD_DIGEST_ROOM];
    char *json;
    stead_map *first = build(FIRST, NULL), *second = build(SECOND, first), *shared = stead_map_share(second), *copy;
    print_map(first);
    print_map(second);
    locate(second, "justin");
    print_plan(first, second, "justin", 0);
    CHECK(stead_map_same(second, shared) == 1 && stead_map_same(first, second) == 0 && stead_map_same(NULL, first) == -1);
    stead_map_free(second);
    second = shared;

    done(stead_map_publish(first, NULL, beside(scratch, "client.map"), NULL, &error));
    done(stead_map_publish(second, first, beside(scratch, "client.map"), NULL, &error));
    done(stead_map_open_uncached(beside(scratch, "client.map"), &copy, &error));
    CHECK(stead_map_same(second, copy) == 1);
    stead_map_free(copy);
    done(stead_map_peek(beside(scratch, "client.map"), &epoch, peeked, &error));
    done(stead_map_digest(second, digest, &error));
    CHECK(epoch == 2 && memcmp(digest, peeked, sizeof digest) == 0);
    CHECK(stead_map_publish(first, NULL, beside(scratch, "client.map"), NULL, &error) == STEAD_CONFLICT && error.status == STEAD_CONFLICT);

    done(stead_map_save(first, beside(scratch, "copy.map"), &error));
    done(stead_map_open(beside(scratch, "copy.map"), STEAD_OPEN_COPY, &copy, &error));
    CHECK(stead_map_same(first, copy) == 1);
    stead_map_free(copy);
    done(stead_map_bytes(first, &bytes, &length, &error));
    done(stead_map_from_bytes(bytes, length, &copy, &error));
    CHECK(stead_map_same(first, copy) == 1);
    done(stead_map_report(copy, &json, &error));
    CHECK(json[0] == '{');
    stead_text_free(json);
    stead_map_free(copy);

    FILE *fleet = fopen(beside(scratch, "client.toml"), "w");
    CHECK(fleet && fputs(SECOND, fleet) >= 0 && fclose(fleet) == 0);
    done(stead_map_build_file(beside(scratch, "client.toml"), first, "1%", &copy, &error));
    CHECK(stead_map_epoch(copy) == 2 && stead_map_same(copy, second) == 0);
    stead_map_free(copy);
    stead_map_free(second);
    stead_map_free(first);
}

// Does the same with two calls, goes back, and gets the fleet back.
static void stores(const char *scratch) {
    uint64_t epochs[4], epoch;
    size_t count;
    char *fleet;
    stead_map *map, *old;
    char path[4096], file[4096];
    snprintf(path, sizeof path, "%s/applied.map", scratch);
    snprintf(file, sizeof file, "%s/client.toml", scratch); // SECOND, from files()
    done(stead_map_apply(FIRST, strlen(FIRST), "first.toml", path, NULL, NULL, &map, &error));
    CHECK(stead_map_epoch(map) == 1);
    stead_map_free(map);
    done(stead_map_apply_file(file, path, NULL, NULL, &map, &error));
    CHECK(stead_map_epoch(map) == 2 && stead_map_node_count(map) == 4);
    stead_map_free(map);
    done(stead_map_open_epoch(path, 1, &old, &error));
    done(stead_map_rollback(path, 1, NULL, NULL, &map, &error));
    CHECK(stead_map_epoch(map) == 3 && stead_map_same(map, old) == 1);
    done(stead_map_history(path, epochs, 4, &count, &error));
    CHECK(count == 3);
    for (epoch = 1; epoch <= 3; epoch++)
        CHECK(epochs[epoch - 1] == epoch);
    done(stead_map_fleet(map, &fleet, &error));
    stead_map *again = build(fleet, map);
    CHECK(stead_map_same(map, again) == 1);
    stead_text_free(fleet);
    stead_map_free(again);
    stead_map_free(old);
    stead_map_free(map);
}

static void without_a_map(void) {
    char name[STEAD_NAME_ROOM], *json;
    const uint64_t offsets[] = {0, 5, 11};
    char path[STEAD_PATH_ROOM], folded[7];
    size_t count;
    uint64_t point;
    const char *secret = "0123456789abcdef";
    for (int32_t hash = STEAD_MD5; hash <= STEAD_SIPHASH; hash++) {
        done(stead_point(hash, hash == STEAD_SIPHASH ? secret : NULL, "frank", 5, &point, &error));
        printf("hash %" PRId32 ", point %016" PRIx64 "\n", hash, point);
    }
    done(stead_path("FRANK", 5, NULL, STEAD_FOLD_ASCII, path, sizeof path, &count, &error));
    printf("path %s, %zu bytes\n", path, count);
    done(stead_path("frank", 5, "16,16", STEAD_FOLD_NONE, path, sizeof path, &count, &error));
    printf("path %s, %zu bytes\n", path, count);
    done(stead_path_name("/srv/38/37/60/frank", 19, NULL, name, sizeof name, &count, &error));
    printf("name %.*s, %zu bytes\n", (int)count, name, count);
    done(stead_survey("frankjustin", 11, offsets, 2, 0, NULL, &json, &error));
    CHECK(json[0] == '{');
    stead_text_free(json);
    done(stead_fold_ascii("Justin", 7, folded, &error));
    printf("folded %s\n", folded);
}

static void failures(const char *scratch) {
    stead_map *map = NULL;
    int32_t status = stead_map_open(beside(scratch, "nowhere.map"), STEAD_OPEN_SHARED, &map, &error);
    printf("missing: %s %" PRId32 ", record %" PRId32 ", message %d\n", stead_status_name(status), status, error.status,
           error.message[0] != 0);
    status = stead_map_from_bytes("no map", 6, &map, &error);
    printf("no map: %s %" PRId32 ", record %" PRId32 "\n", stead_status_name(status), status, error.status);
    status = stead_map_build("x", 1, "x.toml", NULL, NULL, &map, &error);
    printf("no fleet: %s %" PRId32 ", starts with its place %d\n", stead_status_name(status), status,
           strncmp(error.message, "x.toml:1: ", 10) == 0);
    status = stead_map_locate(NULL, "frank", 5, NULL, NULL);
    printf("NULL: %s %" PRId32 "\n", stead_status_name(status), status);
    CHECK(map == NULL && stead_map_share(NULL) == NULL && isnan(stead_plan_fraction(NULL)) && !stead_status_name(-1));
    stead_map_free(NULL);
    stead_plan_free(NULL);
    stead_text_free(NULL);
    // a call that may need more than the limit is refused; 0 only asks
    uint64_t limit = stead_memory_limit(1000);
    const char *fleet = "name = \"m\"\n[[node]]\nname = \"a\"\n";
    status = stead_map_build(fleet, strlen(fleet), "fleet.toml", NULL, NULL, &map, &error);
    printf("limit: %s %" PRId32 ", was %d, is %" PRIu64 "\n", stead_status_name(status), status, limit > 1000,
           stead_memory_limit(0));
    CHECK(map == NULL && stead_memory_limit(limit) == 1000);
}

int main(int argc, char **argv) {
    stead_map *old_map, *new_map;
    if (argc != 3)
        return fprintf(stderr, "usage: client MAPS SCRATCH\n"), 2;
    CHECK(stead_abi() == STEAD_ABI && stead_version()[0] != 0 && header_version()[0] != 0);
    done(stead_map_open(beside(argv[1], "replicas.map"), STEAD_OPEN_SHARED, &old_map, &error));
    done(stead_map_open(beside(argv[1], "copies-2.map"), STEAD_OPEN_SHARED, &new_map, &error));
    locate(old_map, "frank");
    locate(old_map, "justin");
    locate(new_map, "justin");
    locate_many(old_map);
    print_plan(old_map, new_map, "alice", 1);
    print_pairs(old_map, new_map, beside(argv[1], "replicas.map"), "alice");
    stead_map_free(old_map);
    stead_map_free(new_map);
    files(argv[2]);
    stores(argv[2]);
    without_a_map();
    failures(argv[2]);
    return 0;
}
