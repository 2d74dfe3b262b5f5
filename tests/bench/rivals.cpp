/* rivals.cpp: the selections and products of bench_rival.h in C++, by std::nth_element and by libtorch. */
/* SPDX-License-Identifier: MIT */
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "bench_rival.h"

namespace {

struct Out {
    uint32_t *index;
    float *value;
};

// As most people write it: magnitudes copied, the k-th found by std::nth_element, one pass to gather.
size_t nth_element(const sg_rival_call &c, size_t layer, Out out) {
    const size_t begin = c.offset[layer], end = c.offset[layer + 1], k = c.k[layer];
    static std::vector<float> magnitude;
    magnitude.resize(end - begin);
    for (size_t i = begin; i < end; i++) {
        c.e[i] = c.decay * c.e[i] + c.g[i];
        magnitude[i - begin] = std::fabs(c.e[i]);
    }
    const auto kth = magnitude.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(magnitude.begin(), kth, magnitude.end(), std::greater<float>());
    const size_t above = static_cast<size_t>(std::count_if(magnitude.begin(), kth, [&](float x) { return x > *kth; }));
    size_t ties = k - above, sent = 0;
    for (size_t i = begin; i < end; i++) {
        const float m = std::fabs(c.e[i]);
        if (m < *kth || (m == *kth && ties == 0))
            continue;
        ties -= m == *kth;
        out.index[sent] = static_cast<uint32_t>(i);
        out.value[sent++] = c.e[i];
        c.e[i] = 0;
    }
    return sent;
}

at::Tensor add_feedback(const sg_rival_call &c, size_t begin, int64_t n) {
    at::Tensor e = at::from_blob(c.e + begin, {n}, at::kFloat);
    const at::Tensor g = at::from_blob(const_cast<float *>(c.g) + begin, {n}, at::kFloat);
    e.mul_(c.decay).add_(g);
    return e;
}

size_t send(at::Tensor &e, const at::Tensor &position, size_t begin, Out out) {
    const at::Tensor value = e.index_select(0, position);
    e.index_fill_(0, position, 0);
    const size_t count = static_cast<size_t>(position.numel());
    const int64_t *at = position.data_ptr<int64_t>();
    for (size_t j = 0; j < count; j++)
        out.index[j] = static_cast<uint32_t>(begin + static_cast<size_t>(at[j]));
    std::memcpy(out.value, value.data_ptr<float>(), count * sizeof(float));
    return count;
}

size_t torch_topk(const sg_rival_call &c, size_t layer, Out out) {
    const size_t begin = c.offset[layer];
    at::Tensor e = add_feedback(c, begin, static_cast<int64_t>(c.offset[layer + 1] - begin));
    const auto top = at::topk(e.abs(), static_cast<int64_t>(c.k[layer]), 0, true, false);
    return send(e, std::get<1>(top), begin, out);
}

size_t torch_threshold(const sg_rival_call &c, size_t layer, Out out) {
    const size_t begin = c.offset[layer];
    at::Tensor e = add_feedback(c, begin, static_cast<int64_t>(c.offset[layer + 1] - begin));
    return send(e, e.abs().ge(c.tau[layer]).nonzero().squeeze(1), begin, out);
}

at::Tensor matrix(const float *x, size_t rows, size_t columns) {
    return at::from_blob(const_cast<float *>(x), {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                         at::kFloat);
}

// P, Q and their product are written where they belong, so nothing is allocated or copied.
size_t torch_products(const sg_rival_call &c, size_t layer, Out) {
    const size_t begin = c.offset[layer], n = c.offset[layer + 1] - begin, rows = c.rows[layer];
    if (rows == 0)
        return 0;
    const at::Tensor m = matrix(c.g + begin, rows, n / rows), start = matrix(c.g + begin, c.rank, n / rows);
    at::Tensor p = matrix(c.room + begin, rows, c.rank), q = matrix(c.value + begin, n / rows, c.rank);
    at::Tensor product = matrix(c.e + begin, rows, n / rows);
    at::matmul_out(p, m, start.t());
    at::matmul_out(q, m.t(), p);
    at::matmul_out(product, p, q.t());
    return 0;
}

// Muon's step as torch.optim.Muon has it, but in floats.
size_t torch_newton_schulz(const sg_rival_call &c, size_t layer, Out) {
    const size_t begin = c.offset[layer], n = c.offset[layer + 1] - begin, rows = c.rows[layer];
    at::Tensor e = at::from_blob(c.e + begin, {static_cast<int64_t>(n)}, at::kFloat);
    e.zero_();
    if (rows == 0)
        return 0;
    const at::Tensor m = matrix(c.g + begin, rows, n / rows);
    const bool tall = rows > n / rows;
    at::Tensor x = at::div(tall ? at::t(m) : at::clone(m), m.norm().clamp_min(1e-7));
    for (int i = 0; i < 5; i++) {
        const at::Tensor gram = at::mm(x, x.t());
        x = at::addmm(x, at::addmm(gram, gram, gram, -4.7750, 2.0315), x, 3.4445, 1);
    }
    const double factor = tall ? std::sqrt(static_cast<double>(rows * rows) / static_cast<double>(n)) : 1;
    e.sub_(at::reshape(tall ? at::t(x) : x, {static_cast<int64_t>(n)}), factor);
    return 0;
}

const struct {
    const char *name;
    size_t (*run)(const sg_rival_call &c, size_t layer, Out out);
} rivals[] = {{"nth-element", nth_element},
              {"torch-topk", torch_topk},
              {"torch-threshold", torch_threshold},
              {"torch-products", torch_products},
              {"torch-newton-schulz", torch_newton_schulz}};

} // namespace

extern "C" int sg_rival_run(const char *name, const struct sg_rival_call *c) {
    try {
        const c10::InferenceMode no_gradients;
        at::set_num_threads(static_cast<int>(c->threads));
        for (const auto &rival : rivals)
            if (std::strcmp(rival.name, name) == 0) {
                size_t sent = 0;
                for (size_t l = 0; l < c->layers; l++)
                    sent += c->count[l] = rival.run(*c, l, {c->index + sent, c->value + sent});
                return 0;
            }
    } catch (...) {
    }
    return 1;
}
