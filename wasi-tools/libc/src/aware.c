/*
 * Makes the guest an aware one. The kernel gives POSIX's rules to a module that imports sandbar_v1, whatever it calls; a
 * program that needs none of our calls would drop the import and get WASI's. The link line asks for `sandbar_aware`
 * (toolchain.sh), so that every guest of ours keeps this one.
 */
#include "internal.h"

__attribute__((used, retain)) int32_t (*const sandbar_aware)(int32_t, sandbar_ids *) = sandbar_proc_ids;
