/* memcmp, eight bytes at a time: wasi-libc's goes byte by byte, and comparing is most of what sort and uniq do. */
#include <stdint.h>
#include <string.h>

static uint64_t load(const unsigned char *bytes) {
    uint64_t word;
    /* One load: WebAssembly has no alignment to keep. */
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

/* Difference of the first bytes that differ in the words here, 0 when they are equal. */
static int compare(const unsigned char *a, const unsigned char *b) {
    uint64_t different = load(a) ^ load(b);
    if (different == 0)
        return 0;
    /* Memory is little-endian: the lowest bit that differs is in the first byte that does. */
    size_t first = (size_t)__builtin_ctzll(different) / 8;
    return a[first] - b[first];
}

int memcmp(const void *one, const void *other, size_t count) {
    const unsigned char *a = one, *b = other;
    const size_t word = sizeof(uint64_t);
    if (count < word) {
        for (; count > 0; a++, b++, count--) {
            if (*a != *b)
                return *a - *b;
        }
        return 0;
    }
    size_t at = 0;
    for (; count - at > word; at += word) {
        int difference = compare(a + at, b + at);
        if (difference != 0)
            return difference;
    }
    /* The last word may lie over bytes that were equal already. */
    return compare(a + count - word, b + count - word);
}

int bcmp(const void *one, const void *other, size_t count) { return memcmp(one, other, count); }
