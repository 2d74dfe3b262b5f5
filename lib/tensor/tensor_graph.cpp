/* tensor_graph.cpp: a pass, which is a loss and its gradients, repeated by one launch where a scope has a CUDA graph.
 *
 * A graph repeats kernels with the addresses that they had when it was recorded. So inputs are copied to where the
 * recorded pass found them, and the loss and the gradients of single parameters stay where it left them. They are added
 * to g after the launch, so g may lie anywhere. */
/* SPDX-License-Identifier: MIT */
#include "tensor_scope.h"

#include <ATen/ops/empty_like.h>
#include <torch/version.h>

#include <cstdio>
#include <vector>

#if SG_TORCH_GRAPHS
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

struct sg_graph {
    size_t before;                                       /* passes that are still to run before one is recorded */
    std::vector<at::Tensor> input;                       /* what every pass reads */
    at::Tensor loss;                                     /* of the latest launch */
    std::deque<std::pair<at::Tensor, float *>> separate; /* the scope's, of the recorded pass */
    const float *g = nullptr;                            /* of the recorded pass */
#if SG_TORCH_GRAPHS
    /* The default stream cannot be recorded. The passes before run on this one, too: they make the workspaces that
     * libraries keep for a stream, which must not be part of the recording. */
    c10::Stream stream = c10::Stream(c10::Stream::DEFAULT, at::Device(at::kCPU));
    std::unique_ptr<at::cuda::CUDAGraph> recorded;
#endif
};

namespace {

struct Pass {
    sg_pass_fn *loss;
    void *of;
    std::vector<sg_tensor *> input;
};

/* Are the inputs as those of all passes of the graph? Those of its first pass always are. */
bool fits(const sg_graph &graph, const Pass &pass) {
    bool same = graph.input.empty() || graph.input.size() == pass.input.size();
    for (size_t i = 0; same && i < graph.input.size(); i++)
        same = graph.input[i].sizes() == pass.input[i]->value.sizes() &&
               graph.input[i].scalar_type() == pass.input[i]->value.scalar_type();
    return same;
}

/* Gradients that lie alone are still to be added afterwards. */
sg_tensor *compute(sg_scope *s, const Pass &pass) {
    sg_error failure;
    sg_tensor *loss = pass.loss(pass.of, pass.input.data());
    return attempt(s, &failure, [&] { differentiate(s, loss); }) == SG_OK ? loss : nullptr;
}

/* The pass with inputs where every pass finds them, to which it copies those of now. */
Pass with_fixed_inputs(sg_scope *s, const Pass &pass) {
    std::vector<at::Tensor> &input = s->graph->input;
    Pass fixed = {pass.loss, pass.of, {}};
    for (size_t i = 0; i < pass.input.size(); i++) {
        if (input.size() == i)
            input.push_back(at::empty_like(pass.input[i]->value));
        input[i].copy_(pass.input[i]->value);
        fixed.input.push_back(add(s, [&] { return input[i]; }));
    }
    return fixed;
}

#if SG_TORCH_GRAPHS
/* Computes the pass on the graph's stream, in order with what is enqueued before and after. With a recorder, it is
 * recorded and not computed. */
sg_tensor *compute_aside(sg_scope *s, const Pass &pass, at::cuda::CUDAGraph *recorder) {
    const c10::Stream stream = s->graph->stream;
    sg_tensor *loss;
    c10::impl::VirtualGuardImpl(at::kCUDA).getStream(stream.device()).synchronize();
    {
        c10::StreamGuard guard(stream);
        if (recorder)
            recorder->capture_begin();
        loss = compute(s, pass);
        try {
            if (recorder)
                recorder->capture_end();
        } catch (...) {
            if (s->failure.status == SG_OK) /* else it follows from that failure */
                throw;
        }
    }
    stream.synchronize();
    return loss;
}

void record(sg_scope *s, const Pass &pass, const float *g) {
    TORCH_CHECK(s->kernels && s->kernels->add_strided, "a graph needs kernels that add its gradients");
    auto recorder = std::make_unique<at::cuda::CUDAGraph>();
    const sg_tensor *loss = compute_aside(s, pass, recorder.get());
    if (!loss)
        return;
    s->graph->loss = loss->value;
    s->graph->separate.swap(s->separate);
    s->graph->g = g;
    s->graph->recorded = std::move(recorder);
}

/* Records the pass if no pass was recorded, and launches the graph. */
sg_tensor *repeat(sg_scope *s, const Pass &pass, float *g) {
    const sg_graph &graph = *s->graph;
    if (!graph.recorded)
        record(s, pass, g);
    if (!graph.recorded)
        return nullptr;
    graph.recorded->replay();
    for (const auto &[x, to] : graph.separate)
        s->separate.emplace_back(x, g + (to - graph.g));
    return add(s, [&] { return graph.loss; });
}
#endif

sg_tensor *with_graph(sg_scope *s, const Pass &pass, [[maybe_unused]] float *g) {
    const Pass fixed = with_fixed_inputs(s, pass);
#if SG_TORCH_GRAPHS
    if (s->graph->before == 0)
        return repeat(s, fixed, g);
    if (s->device.is_cuda()) {
        s->graph->before--;
        return compute_aside(s, fixed, nullptr);
    }
#endif
    return compute(s, fixed);
}

} // namespace

extern "C" {

sg_status sg_scope_use_graph(sg_scope *s, size_t before, struct sg_error *err) {
    const char *why = s->device.is_cuda() ? "needs a build with nvcc and a libtorch for CUDA" : "is for a GPU";
#if SG_TORCH_GRAPHS
    if (s->device.is_cuda())
        why = nullptr;
#endif
    if (why && before != SIZE_MAX) {
        snprintf(err->msg, sizeof err->msg, "a graph %s; this libtorch is %s", why, TORCH_VERSION);
        return err->status = SG_ERR_UNSUPPORTED;
    }
    return attempt(s, err, [&] {
        s->graph = std::make_shared<sg_graph>();
        s->graph->before = before;
#if SG_TORCH_GRAPHS
        if (s->device.is_cuda())
            s->graph->stream = c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(s->device);
#endif
    });
}

sg_tensor *sg_pass(sg_scope *s, sg_pass_fn *loss, void *of, sg_tensor *const *input, size_t inputs, float *g) {
    sg_error failure;
    sg_tensor *out = nullptr;
    const sg_status status = attempt(s, &failure, [&] {
        const Pass pass = {loss, of, {input, input + inputs}};
        s->repeatable = s->graph && fits(*s->graph, pass);
        out = s->repeatable ? with_graph(s, pass, g) : compute(s, pass);
        s->repeatable = false;
        add_separate(s);
    });
    return status == SG_OK ? out : nullptr;
}

} // extern "C"
