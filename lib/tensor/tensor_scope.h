/* tensor_scope.h: private to lib/tensor. What a scope of sg_tensor.h holds, and how its operations run. */
/* SPDX-License-Identifier: MIT */
#ifndef TENSOR_SCOPE_H
#define TENSOR_SCOPE_H

#include "sg_tensor.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/variable.h>

#include <deque>
#include <memory>
#include <utility>

/* A shared_ptr in libtorch 2.11, an intrusive_ptr in 2.15. */
using Accumulator = decltype(torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor &>()));

struct sg_tensor {
    at::Tensor value;
};

struct sg_graph; /* tensor_graph.cpp */

struct sg_scope {
    at::Device device = at::Device(at::kCPU);
    std::deque<sg_tensor> tensors; /* handles are addresses in it, so nothing moves */
    bool gradients = false;
    bool half = false;                   /* factors are bfloat16 */
    const sg_kernels *kernels = nullptr; /* for masks */
    sg_exec exec = {1, nullptr};
    sg_error failure = {};
    sg_gradient_fn *added = nullptr; /* sg_scope_watch */
    void *of = nullptr;
    size_t number = 0;
    std::deque<Accumulator> watched;                     /* they keep their hooks until a graph has them */
    std::deque<std::pair<at::Tensor, float *>> separate; /* parameters whose gradients lie alone, and where they go */
    std::shared_ptr<sg_graph> graph;                     /* sg_scope_use_graph */
    bool repeatable = false; /* what runs is to be recorded: all that it reads stays at its place */
};

/* Turns the exception that is being handled into a status; call it inside catch (...) only. */
sg_status caught(sg_error *err) noexcept;

/* Adds the tensor that `make` returns to the scope. Returns its handle, or NULL after a failure. */
template <typename Make> sg_tensor *add(sg_scope *s, Make make) noexcept {
    if (s->failure.status != SG_OK)
        return nullptr;
    try {
        at::AutoGradMode mode(s->gradients);
        s->tensors.push_back(sg_tensor{make()});
        return &s->tensors.back();
    } catch (...) {
        caught(&s->failure);
        return nullptr;
    }
}

template <typename Act> sg_status attempt(sg_scope *s, sg_error *err, Act act) noexcept {
    if (s->failure.status == SG_OK) {
        try {
            at::AutoGradMode mode(s->gradients);
            act();
        } catch (...) {
            caught(&s->failure);
        }
    }
    return sg_scope_status(s, err);
}

/* sg_backward in two parts. The first frees all tensors but the loss and computes the gradients. The second adds those
 * that lie alone to where they go. */
void differentiate(sg_scope *s, sg_tensor *loss);
void add_separate(sg_scope *s);

#endif
