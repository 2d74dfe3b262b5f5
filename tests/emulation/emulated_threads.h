/* emulated_threads.h: the emulation's CUDA threads, each of which is a fiber, and where they meet. */
/* SPDX-License-Identifier: MIT */
#ifndef EMULATED_THREADS_H
#define EMULATED_THREADS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>
#include <utility>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {
    }
};

inline dim3 gridDim;

namespace emulation {

enum : unsigned {
    LANES = 32,
    BLOCKS_AT_ONCE = 12,
    SHARED_BYTES = 1 << 14,
    STACK_BYTES = 1 << 16,
    MOST_IDLE = 10000000
};

struct fiber;

/* Where a known number of threads wait for each other. What they bring lies in one of two sets of slots in turn: the
 * first to leave may be at the next meeting before the last has read. */
struct meeting {
    unsigned generation = 0;
    std::vector<fiber *> waiting;
    const char *call = nullptr;
    uint64_t slot[2][LANES] = {};
    unsigned votes[2] = {0, 0}; /* of the lanes; of a block any of them */
};

struct block_state {
    dim3 index;
    meeting all;
    std::vector<meeting> warp;
    alignas(16) char shared[SHARED_BYTES];
};

struct fiber {
    void *context[5];
    ucontext_t start;
    dim3 thread;
    block_state *block;
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
};

inline fiber *current, home;
inline std::vector<fiber *> &pool = *new std::vector<fiber *>; /* kept for ever */
inline std::vector<fiber *> ring;                              /* of this launch, those that can run */
inline size_t position;                                        /* of the current one */
inline size_t waiting;                                         /* of this launch, in all meetings */
inline unsigned idle, seed = 1, block_threads;
inline const std::function<void()> *body;

[[noreturn]] inline void die(const char *what, const char *where) {
    fprintf(stderr, "emulation: %s (%s)\n", what, where);
    abort();
}

[[noreturn]] __attribute__((noinline)) inline void jump(fiber *to) {
    __builtin_longjmp(to->context, 1);
}

__attribute__((noinline)) inline void switch_to(fiber *to) {
    fiber *const from = current;
    if (from == to)
        return;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    if (__builtin_setjmp(from->context) == 0) {
        current = to;
        jump(to);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(current->fake_stack, nullptr, nullptr);
#endif
}

inline void yield() {
    if (++idle > MOST_IDLE)
        die("threads wait for each other for ever", current->block->all.call ? current->block->all.call : "-");
    position = (position + 1) % ring.size();
    switch_to(ring[position]);
}

inline unsigned random_below(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Takes the current fiber out of the ring and lets another one run; none is left after the last of a launch. */
inline void leave() {
    ring[position] = ring.back();
    ring.pop_back();
    if (ring.empty() && waiting > 0)
        die("threads wait for others that have ended or wait elsewhere",
            current->block->all.call ? current->block->all.call : "-");
    position = position < ring.size() ? position : 0;
    switch_to(ring.empty() ? &home : ring[position]);
}

/* What fibers do for ever: a thread of a launch, then the next one's. */
inline void work() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &home.stack, &home.stack_bytes);
#endif
    switch_to(&home);
    for (;;) {
        (*body)();
        idle = 0;
        leave();
    }
}

inline fiber *new_fiber() {
    fiber *f = new fiber();
    void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        die("no memory", "stack of a thread");
    f->stack = stack;
    f->stack_bytes = STACK_BYTES;
    getcontext(&f->start);
    f->start.uc_stack.ss_sp = stack;
    f->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->start, work, 0);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home.fake_stack, f->stack, f->stack_bytes);
#endif
    if (__builtin_setjmp(home.context) == 0) {
        current = f;
        setcontext(&f->start);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home.fake_stack, nullptr, nullptr);
#endif
    return f;
}

inline void run_blocks(unsigned first, unsigned count) {
    std::vector<block_state> blocks(count);
    const size_t threads = (size_t)count * block_threads;
    while (pool.size() < threads)
        pool.push_back(new_fiber());
    for (unsigned b = 0; b < count; b++) {
        blocks[b].index = dim3(first + b);
        blocks[b].warp.resize(block_threads / LANES);
        memset(blocks[b].shared, 0xa5, SHARED_BYTES);
    }
    for (size_t t = 0; t < threads; t++) {
        pool[t]->thread = dim3((unsigned)(t % block_threads));
        pool[t]->block = &blocks[t / block_threads];
        ring.push_back(pool[t]);
        std::swap(ring[random_below((unsigned)t + 1)], ring[t]);
    }
    position = 0;
    current = &home;
    switch_to(ring[0]);
}

inline void launch(dim3 blocks, dim3 threads, bool cooperative, const std::function<void()> &call) {
    body = &call;
    gridDim = blocks;
    block_threads = threads.x;
    const char *limit = getenv("SG_CUDA_BLOCKS");
    const bool limited = limit != nullptr && *limit != 0;
    if (cooperative && (blocks.x > BLOCKS_AT_ONCE || (limited && blocks.x > strtoul(limit, nullptr, 10))))
        die("too many blocks for a cooperative launch", "launch");
    for (unsigned b = 0; b < blocks.x; b += BLOCKS_AT_ONCE)
        run_blocks(b, blocks.x - b < BLOCKS_AT_ONCE ? blocks.x - b : (unsigned)BLOCKS_AT_ONCE);
    body = nullptr;
}

/* Wait until `count` threads are here. Returns which set of slots they used. */
inline unsigned meet(meeting &m, unsigned count, const char *call) {
    const unsigned now = m.generation;
    if (m.waiting.empty())
        m.call = call;
    else if (m.call != call)
        die("threads meet in different calls", call);
    if (m.waiting.size() + 1 == count) {
        m.generation++;
        m.votes[m.generation & 1] = 0;
        idle = 0;
        ring.insert(ring.end(), m.waiting.begin(), m.waiting.end());
        waiting -= m.waiting.size();
        m.waiting.clear();
    } else {
        m.waiting.push_back(current);
        waiting++;
        leave();
    }
    return now & 1;
}

inline unsigned lane() {
    return current->thread.x % LANES;
}

/* Every lane's x. */
template <typename T> inline const uint64_t *exchange(T x, const char *call) {
    meeting &m = current->block->warp[current->thread.x / LANES];
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    m.slot[m.generation & 1][lane()] = bits;
    return m.slot[meet(m, LANES, call)];
}

/* A bit for each lane. */
inline unsigned vote(bool x, const char *call) {
    meeting &m = current->block->warp[current->thread.x / LANES];
    m.votes[m.generation & 1] |= (unsigned)x << lane();
    return m.votes[meet(m, LANES, call)];
}

template <typename T> inline T from_slot(uint64_t bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

} // namespace emulation

#endif
