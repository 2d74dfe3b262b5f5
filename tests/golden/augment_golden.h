/* Written by augment_golden.py: NumPy 2.4.6, Python 3.11.7. */
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
static const struct { uint64_t seed, epoch; size_t index; int rotate; const char *sha256; } golden_augment[] = {
    {0u, 0, 0, 0, "39ba128b285b32bb471f9fdef29f31f277bb16324caed9c1ce6ad8d67ac2b87d"},
    {0u, 0, 0, 1, "f8e120612303c34467e201ab43198d0650529c28dccac72ed112c14f9aed6232"},
    {1u, 0, 1, 0, "3488ae40255ced7df968e70703f1066f3580e0d7a045e556a524202d4e1c7a38"},
    {1u, 0, 1, 1, "659fef0f75b0163b0d16bfc09aaf3fe88ac730405d4693d27b249ba17e36b672"},
    {1u, 299, 49999, 0, "2f81204ef0a942f95ad07c19fba3757e7d9005bace549758354457b218451a6f"},
    {1u, 299, 49999, 1, "3e7e3ea9f7b9da7ca3fff4fc75365eedd5c12882faf75cd093d5b61672202554"},
    {9223372036854775813u, 7, 12345, 0, "0c5596112ee9535e6566a1b534ad4ea1589a8c8762df45a9ede9e0a8b457603e"},
    {9223372036854775813u, 7, 12345, 1, "71bd0b2e1ab450301741823b3b56c936c08d8d9a2bed4cc5a235a93ba29f6b1d"},
    {42u, 3, 8, 0, "e9e32e3fa4436be9cf17b83b2a8198ea46ab33eb6f72a9aceb0d3a558dc826e9"},
    {42u, 3, 8, 1, "e9e32e3fa4436be9cf17b83b2a8198ea46ab33eb6f72a9aceb0d3a558dc826e9"},
    {42u, 4, 8, 0, "f0a39d4d191b52f604777f79eb95dfb9ebf0f2824ad1c2054cd1bc6ed19054f6"},
    {42u, 4, 8, 1, "f0a39d4d191b52f604777f79eb95dfb9ebf0f2824ad1c2054cd1bc6ed19054f6"},
};
static const char golden_table[] = "7724f199fd719d61fc4ae466ffd420763f4b07274df1f5a8e5643bbfb7188043";
