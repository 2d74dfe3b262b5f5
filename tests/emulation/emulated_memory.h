/* emulated_memory.h: the emulated device's memory, and copies between it and the host that are under way. */
/* SPDX-License-Identifier: MIT */
#ifndef EMULATED_MEMORY_H
#define EMULATED_MEMORY_H

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emulated_threads.h"

extern "C" {
/* How often the host waited for the device so far. A copy of pageable memory counts, because CUDA may wait for it. */
__attribute__((weak)) unsigned long sg_emulated_waits = 0;
/* May the host touch the device's memory? For tests in which libtorch computes there on the CPU. */
__attribute__((weak)) bool sg_emulated_memory_is_shared = false;
/* The thread's current device. A test may say that it is another one than 0, which is the only one. */
__attribute__((weak)) int sg_emulated_device = 0;
}

namespace emulation {

/* ---- memory that the host must not touch ---- */

/* An allocation of its own pages. It ends where they end, but for what its alignment asks, and a page behind them that
 * nothing may touch. */
struct allocation {
    void *memory;
    char *pages;
    size_t bytes; /* of the pages, without the last */
};
inline std::vector<allocation> &allocations = *new std::vector<allocation>;
inline unsigned opened;

inline void protect(const allocation &a, int how) {
#if !defined(__SANITIZE_ADDRESS__)
    if (mprotect(a.pages, a.bytes, how) != 0)
        die("the device's memory cannot be protected", "mprotect");
#else
    (void)a, (void)how;
#endif
}

/* While one of these lives, the device's memory may be touched. */
struct open_memory {
    open_memory() {
        if (opened++ == 0 && !sg_emulated_memory_is_shared)
            for (const allocation &a : allocations)
                protect(a, PROT_READ | PROT_WRITE);
    }
    ~open_memory() {
        if (--opened == 0 && !sg_emulated_memory_is_shared)
            for (const allocation &a : allocations)
                protect(a, PROT_NONE);
    }
};

enum : size_t { ALIGNMENT = 256, PAGE = 4096 };

inline size_t rounded_up(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

inline bool is_of_device(const void *memory) {
    return sg_emulated_memory_is_shared ||
           std::any_of(allocations.begin(), allocations.end(), [=](const allocation &a) {
               return (const char *)memory >= a.pages && (const char *)memory < a.pages + a.bytes;
           });
}

inline std::vector<allocation>::iterator allocation_at(const void *memory) {
    const auto at = std::find_if(allocations.begin(), allocations.end(),
                                 [memory](const allocation &a) { return a.memory == memory; });
    if (at == allocations.end())
        die("not the device's memory", "cudaFree");
    return at;
}

#if defined(__SANITIZE_ADDRESS__) /* which watches every byte, but not who touches it */
inline void *allocate(size_t bytes) {
    const size_t used = rounded_up(bytes, ALIGNMENT);
    char *memory = (char *)aligned_alloc(ALIGNMENT, used);
    if (memory)
        allocations.push_back({memory, memory, used});
    return memory;
}

inline void release(void *memory) {
    if (memory)
        allocations.erase(allocation_at(memory));
    free(memory);
}
#else
inline void *allocate(size_t bytes) {
    const size_t used = rounded_up(bytes, ALIGNMENT), whole = rounded_up(used, PAGE);
    const int how = sg_emulated_memory_is_shared ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *pages = mmap(nullptr, whole + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return nullptr;
    allocations.push_back({(char *)pages + whole - used, (char *)pages, whole});
    protect(allocations.back(), opened > 0 ? PROT_READ | PROT_WRITE : how);
    return allocations.back().memory;
}

inline void release(void *memory) {
    if (memory == nullptr)
        return;
    const auto at = allocation_at(memory);
    munmap(at->pages, at->bytes + PAGE);
    allocations.erase(at);
}
#endif

/* ---- copies that are under way ---- */

/* A copy between pinned memory and the device, with the bytes that it carries. */
struct copy {
    void *to;
    const void *from;
    std::vector<char> bytes;
    bool to_host;
};
inline std::vector<copy> &copies = *new std::vector<copy>;
inline std::vector<std::pair<const char *, size_t>> &pinned = *new std::vector<std::pair<const char *, size_t>>;

inline bool is_pinned(const void *memory, size_t bytes) {
    for (const auto &range : pinned)
        if ((const char *)memory >= range.first && (const char *)memory + bytes <= range.first + range.second)
            return true;
    return false;
}

/* One stream has work at a time, so that all that waits for other streams' work has to wait for it. */
inline bool busy;
inline const void *busy_stream;

inline void enqueue(const void *stream) {
    if (busy && stream != busy_stream)
        die("work on two streams at once", "stream");
    busy = true;
    busy_stream = stream;
}

inline void wait() {
    sg_emulated_waits++;
    busy = false;
    for (const copy &c : copies)
        if (c.to_host)
            memcpy(c.to, c.bytes.data(), c.bytes.size());
        else if (memcmp(c.from, c.bytes.data(), c.bytes.size()) != 0)
            die("memory changed while it was copied to the device", "cudaMemcpyAsync");
    copies.clear();
}

} // namespace emulation

#endif
