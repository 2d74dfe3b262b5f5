/* sg_tensor.cpp: sg_tensor.h over libtorch, 1.13 and 2.x. Exceptions are caught here; none reaches the callers, which
 * are C. */
/* SPDX-License-Identifier: MIT */
#include "tensor_scope.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/max_pool2d.h>
#include <malloc.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/version.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#if TORCH_VERSION_MAJOR < 1 || (TORCH_VERSION_MAJOR == 1 && TORCH_VERSION_MINOR < 13)
#error "libtorch 1.13 or newer is needed"
#endif

extern "C" void openblas_set_num_threads(int) __attribute__((weak)); /* where libtorch computes with OpenBLAS */

namespace {

sg_status describe(const char *text, sg_error *err) noexcept {
    bool memory = strstr(text, "allocate memory") || strstr(text, "out of memory") || strstr(text, "enough memory");
    bool device = strstr(text, "CUDA error") || strstr(text, "cuDNN error") || strstr(text, "CUBLAS_STATUS");
    err->status = memory ? SG_ERR_MEMORY : device ? SG_ERR_UNSUPPORTED : SG_ERR_ARGUMENT;
    int line = static_cast<int>(strcspn(text, "\n"));
    snprintf(err->msg, sizeof err->msg, "%slibtorch: %.*s", memory ? "out of memory: " : "", line, text);
    return err->status;
}

} // namespace

sg_status caught(sg_error *err) noexcept {
    try {
        throw;
    } catch (const c10::Error &e) {
        return describe(e.what_without_backtrace(), err);
    } catch (const std::bad_alloc &) {
        return describe("out of memory", err);
    } catch (const std::exception &e) {
        return describe(e.what(), err);
    } catch (...) {
        return describe("unknown exception", err);
    }
}

namespace {

c10::optional<at::Tensor> maybe(const sg_tensor *x) {
    return x ? c10::optional<at::Tensor>(x->value) : c10::nullopt;
}

at::Tensor wrap(const sg_scope *s, float *data, const int64_t *shape, size_t rank) {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(s->device);
    const bool known = s->device.has_index(); /* else libtorch asks CUDA, which a recording might not allow */
    return at::for_blob(data, at::IntArrayRef(shape, rank))
        .options(options)
        .target_device(known ? c10::optional<at::Device>(s->device) : c10::nullopt)
        .make_tensor();
}

/* A tensor of the host's ordinary memory, which may be reused when this returns. For a GPU it is copied to pinned
 * memory first, which libtorch keeps until the GPU has read it, so the call need not wait. */
at::Tensor there(const sg_scope *s, const at::Tensor &host) {
    TORCH_CHECK(!s->repeatable, "a graph cannot read memory of the host");
    return s->device.is_cuda() ? host.pin_memory().to(s->device, /*non_blocking=*/true) : host;
}

/* cuDNN needs the weights of a layer in one block of memory. In a vector of parameters they may be one already, but
 * libtorch detects it only for tensors with a common storage; else it warns, and copies the weights at every call. */
void share_storage(const struct sg_lstm_weights *w) {
    sg_tensor *const part[4] = {w->input, w->hidden, w->input_bias, w->hidden_bias};
    float *const first = part[0]->value.data_ptr<float>(), *next = first;
    for (const sg_tensor *p : part) {
        if (p->value.data_ptr<float>() != next)
            return;
        next += p->value.numel();
    }
    at::Tensor whole = at::from_blob(first, {next - first}, part[0]->value.options());
    int64_t begin = 0;
    for (sg_tensor *p : part) {
        const int64_t count = p->value.numel();
        p->value.set_data(whole.narrow(0, begin, count).view(p->value.sizes()));
        begin += count;
    }
}

/* Called when a gradient was added to its parameter's. */
struct Watch : torch::autograd::FunctionPostHook {
    const sg_scope *scope;
    const float *gradient;
    size_t n;
    Watch(const sg_scope *s, const float *g, size_t count) : scope(s), gradient(g), n(count) {
    }
    torch::autograd::variable_list operator()(const torch::autograd::variable_list &outputs,
                                              const torch::autograd::variable_list &) override {
        scope->added(scope->of, scope->number, gradient, n);
        return outputs;
    }
};

sg_draws draws_of(const sg_rng *rng, uint64_t first, uint64_t run, uint64_t stride) {
    return {{rng->key[0], rng->key[1]},
            {rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]},
            first,
            run,
            stride};
}

at::Tensor empty_mask(const sg_scope *s, const at::Tensor &x) {
    TORCH_CHECK(s->kernels, "dropout without kernels to draw its masks");
    TORCH_CHECK(!s->repeatable, "a graph would repeat the masks of dropout");
    return at::empty(x.sizes(), at::TensorOptions().dtype(at::kFloat).device(s->device));
}

/* mask [n] <- 0 with probability `rate`, else 1 / (1 - rate). */
void keep(const sg_scope *s, float *mask, uint64_t n, const sg_draws &draws, double rate) {
    const double least = std::ceil(rate * 0x1p32);
    if (n > 0)
        s->kernels->keep_mask(&s->exec, mask, n, &draws, least < 0x1p32 ? static_cast<uint32_t>(least) : UINT32_MAX,
                              static_cast<float>(1 / (1 - rate)));
}

at::Tensor dropped(const sg_scope *s, const at::Tensor &x, double rate, sg_rng *rng) {
    const auto n = static_cast<uint64_t>(x.numel());
    const sg_draws draws = draws_of(rng, sg_rng_position(rng), n, n);
    at::Tensor mask = empty_mask(s, x);
    keep(s, mask.data_ptr<float>(), n, draws, rate);
    sg_rng_skip(rng, n);
    return x.mul(mask);
}

/* x as a factor of a product. */
at::Tensor factor(const sg_scope *s, const at::Tensor &x) {
    return s->half ? x.to(at::kBFloat16) : x;
}

c10::optional<at::Tensor> factor(const sg_scope *s, const sg_tensor *x) {
    return x ? c10::optional<at::Tensor>(factor(s, x->value)) : c10::nullopt;
}

/* x as a term of a loss or of a normalisation over a row. */
at::Tensor single(const at::Tensor &x) {
    return x.to(at::kFloat);
}

/* Makes CUDA compute in float32 everywhere, or in TF32 where that is faster, and give the same bits in every run. Once
 * in a process would be enough. */
void prepare_cuda(bool tf32) {
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0); /* cuBLAS is deterministic with a fixed workspace */
    at::globalContext().setDeterministicCuDNN(true);
    at::globalContext().setAllowTF32CuDNN(tf32);
    at::globalContext().setAllowTF32CuBLAS(tf32);
}

} // namespace

void differentiate(sg_scope *s, sg_tensor *loss) {
    at::Tensor last = loss->value;
    for (sg_tensor &x : s->tensors)
        x.value.reset();
    loss->value = last.detach();
    last.backward();
}

/* By one kernel. Else each gradient would be added by one of its own. */
void add_separate(sg_scope *s) {
    std::vector<sg_strided> part;
    for (auto &[x, to] : s->separate) {
        const at::Tensor g = x.grad();
        if (!g.defined() || g.numel() == 0)
            continue;
        TORCH_CHECK(g.dim() <= SG_STRIDED_RANK && g.scalar_type() == at::kFloat, "a gradient of another kind");
        sg_strided p = {to, g.data_ptr<float>(), {1, 1, 1, 1}, {0, 0, 0, 0}};
        for (int64_t i = g.dim(), r = SG_STRIDED_RANK; i-- > 0;) {
            p.shape[--r] = static_cast<size_t>(g.size(i));
            p.stride[r] = static_cast<size_t>(g.stride(i));
        }
        part.push_back(p);
    }
    if (!part.empty())
        s->kernels->add_strided(&s->exec, part.data(), part.size());
    s->separate.clear();
}

extern "C" {

const char *sg_tensor_library(void) {
    return TORCH_VERSION;
}

sg_status sg_scope_open(sg_scope **out, const char *device, const char *precision, struct sg_error *err) {
    try {
        at::Device where{std::string(device)};
        if (where.is_cuda() && !at::globalContext().hasCUDA()) {
            snprintf(
                err->msg, sizeof err->msg,
                "--device %s: this libtorch (%s) %s; build with TORCH_DIR=<libtorch for CUDA>, or use --device cpu",
                device, TORCH_VERSION,
                at::globalContext().hasCUDART() ? "cannot use it: its CUDA may need a newer driver" : "has no CUDA");
            return err->status = SG_ERR_UNSUPPORTED;
        }
        if (where.is_cuda())
            prepare_cuda(strcmp(precision, "fp32") != 0);
        /* Every pass allocates the same tensors again. Memory that is returned to the system in between would be
         * cleared page by page: a quarter of ResNet-8's time. 32 MiB is the most that malloc accepts. */
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, INT_MAX);
        if (openblas_set_num_threads)
            openblas_set_num_threads(1); /* else its threads would compete with OpenMP's */
        at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
        at::globalContext().setBenchmarkCuDNN(false);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
        /* Deterministic algorithms would fill new memory first, which is written before it is read anyway. */
        at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
        auto *s = new sg_scope;
        s->device = where;
        s->half = strcmp(precision, "bf16") == 0;
        *out = s;
        return SG_OK;
    } catch (...) {
        return caught(err);
    }
}

void sg_scope_close(sg_scope *s) {
    delete s;
}

void sg_scope_use(sg_scope *s, const struct sg_kernels *kernels, void *gpu) {
    s->kernels = kernels;
    s->exec.device = gpu;
}

void sg_scope_watch(sg_scope *s, sg_gradient_fn *added, void *of, size_t number) {
    s->added = added;
    s->of = of;
    s->number = number;
}

void sg_scope_begin(sg_scope *s, int threads, bool gradients) {
    s->tensors.clear();
    s->watched.clear();
    s->separate.clear();
    s->added = nullptr;
    s->repeatable = false;
    s->failure.status = SG_OK;
    s->gradients = gradients;
    s->exec.threads = threads;
    try {
        at::set_num_threads(threads); /* OpenMP forgets it with the caller's parallel region, so each time */
    } catch (...) {
        caught(&s->failure);
    }
}

sg_status sg_scope_status(const sg_scope *s, struct sg_error *err) {
    if (s->failure.status != SG_OK)
        *err = s->failure;
    return s->failure.status;
}

sg_tensor *sg_tensor_view(sg_scope *s, float *data, const int64_t *shape, size_t rank) {
    return add(s, [&] { return wrap(s, data, shape, rank); });
}

sg_tensor *sg_tensor_parameter(sg_scope *s, float *data, float *gradient, const int64_t *shape, size_t rank) {
    return add(s, [&] {
        at::Tensor x = wrap(s, data, shape, rank);
        if (rank == 4 && s->device.is_cuda())
            x = x.contiguous(at::MemoryFormat::ChannelsLast); /* else cuDNN turns it forward and again backward */
        if (gradient) {
            x.set_requires_grad(true);
            if (s->kernels && s->kernels->add_strided)
                s->separate.emplace_back(x, gradient);
            else
                x.mutable_grad() = wrap(s, gradient, shape, rank); /* a defined gradient is added to in place */
        }
        if (gradient && s->added) {
            s->watched.push_back(torch::autograd::impl::grad_accumulator(x));
            s->watched.back()->add_post_hook(std::make_unique<Watch>(s, gradient, static_cast<size_t>(x.numel())));
        }
        return x;
    });
}

sg_tensor *sg_tensor_images(sg_scope *s, const float *data, const int64_t shape[4]) {
    return add(s, [&] {
        const int64_t memory[4] = {shape[0], shape[2], shape[3], shape[1]};
        at::Tensor x =
            at::from_blob(const_cast<float *>(data), memory).permute({0, 3, 1, 2}); /* nothing writes to it */
        return there(s, x);
    });
}

sg_tensor *sg_tensor_image_bytes(sg_scope *s, const uint8_t *data, const int64_t shape[4], float *table) {
    return add(s, [&] {
        at::Tensor bytes = at::from_blob(const_cast<uint8_t *>(data), at::IntArrayRef(shape, 4), at::kByte);
        const int64_t values = 256, length = shape[1] * values;
        at::Tensor first = at::arange(0, length, values, at::TensorOptions().dtype(at::kInt).device(s->device));
        at::Tensor place = there(s, bytes).to(at::kInt).add_(first.view({1, shape[1], 1, 1}));
        at::Tensor x = wrap(s, table, &length, 1).index_select(0, place.view(-1)).view(at::IntArrayRef(shape, 4));
        return x.contiguous(at::MemoryFormat::ChannelsLast);
    });
}

sg_tensor *sg_conv2d(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, int64_t stride, int64_t padding) {
    return add(
        s, [&] { return at::conv2d(factor(s, x->value), factor(s, weight->value), factor(s, bias), stride, padding); });
}

sg_tensor *sg_batch_norm(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, sg_tensor *running_mean,
                         sg_tensor *running_var, bool training, double momentum, double epsilon) {
    return add(s, [&] {
        return at::batch_norm(x->value, maybe(weight), maybe(bias), maybe(running_mean), maybe(running_var), training,
                              momentum, epsilon, s->device.is_cuda());
    });
}

sg_tensor *sg_relu(sg_scope *s, sg_tensor *x) {
    return add(s, [&] { return x->value.relu_(); });
}

sg_tensor *sg_add(sg_scope *s, sg_tensor *a, sg_tensor *b) {
    return add(s, [&] { return a->value.add_(b->value); });
}

sg_tensor *sg_scale(sg_scope *s, sg_tensor *x, double factor) {
    return add(s, [&] { return x->value.mul_(factor); });
}

sg_tensor *sg_mul(sg_scope *s, sg_tensor *a, sg_tensor *b) {
    return add(s, [&] { return a->value.mul(b->value); });
}

sg_tensor *sg_sigmoid(sg_scope *s, sg_tensor *x) {
    return add(s, [&] { return x->value.sigmoid(); });
}

sg_tensor *sg_gelu(sg_scope *s, sg_tensor *x) {
    return add(s, [&] { return at::gelu(x->value); });
}

sg_tensor *sg_layer_norm(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, double epsilon) {
    return add(
        s, [&] { return at::layer_norm(single(x->value), {x->value.size(-1)}, maybe(weight), maybe(bias), epsilon); });
}

sg_tensor *sg_max_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride, int64_t padding) {
    return add(s, [&] { return at::max_pool2d(x->value, kernel, stride, padding); });
}

sg_tensor *sg_avg_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride) {
    return add(s, [&] { return at::avg_pool2d(x->value, kernel, stride); });
}

sg_tensor *sg_cat(sg_scope *s, sg_tensor *const *part, size_t count) {
    return add(s, [&] {
        std::vector<at::Tensor> parts;
        for (size_t i = 0; i < count; i++)
            parts.push_back(part[i]->value);
        return at::cat(parts, 1);
    });
}

sg_tensor *sg_reshape(sg_scope *s, sg_tensor *x, const int64_t *shape, size_t rank) {
    return add(s, [&] { return x->value.reshape(at::IntArrayRef(shape, rank)); });
}

sg_tensor *sg_linear(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias) {
    return add(s, [&] { return at::linear(factor(s, x->value), factor(s, weight->value), factor(s, bias)); });
}

sg_tensor *sg_tensor_ids(sg_scope *s, const int64_t *id, const int64_t *shape, size_t rank) {
    return add(
        s, [&] { return there(s, at::from_blob(const_cast<int64_t *>(id), at::IntArrayRef(shape, rank), at::kLong)); });
}

sg_tensor *sg_embedding(sg_scope *s, sg_tensor *weight, sg_tensor *id) {
    return add(s, [&] { return at::embedding(weight->value, id->value); });
}

sg_tensor *sg_lstm(sg_scope *s, sg_tensor *x, sg_tensor *hidden, sg_tensor *cell, const struct sg_lstm_weights *w,
                   sg_tensor **last_hidden, sg_tensor **last_cell) {
    at::Tensor h, c;
    sg_tensor *out = add(s, [&] {
        share_storage(w);
        auto all = at::lstm(x->value, {hidden->value, cell->value},
                            {w->input->value, w->hidden->value, w->input_bias->value, w->hidden_bias->value},
                            /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0, /*train=*/s->gradients,
                            /*bidirectional=*/false, /*batch_first=*/false);
        h = std::get<1>(all);
        c = std::get<2>(all);
        return std::get<0>(all);
    });
    *last_hidden = add(s, [&] { return h; });
    *last_cell = add(s, [&] { return c; });
    return out;
}

sg_tensor *sg_dropout(sg_scope *s, sg_tensor *x, double rate, sg_rng *rng) {
    return rate > 0 ? add(s, [&] { return dropped(s, x->value, rate, rng); }) : x;
}

/* Only what 1.13 has, too: every version computes the same way, and gives the same bits again on a GPU. */
sg_tensor *sg_causal_attention(sg_scope *s, sg_tensor *qkv, int64_t heads, double rate, sg_rng *rng) {
    return add(s, [&] {
        const int64_t batch = qkv->value.size(0), length = qkv->value.size(1), width = qkv->value.size(2) / 3 / heads;
        const auto part = qkv->value.view({batch, length, 3, heads, width})
                              .permute({2, 0, 3, 1, 4})
                              .reshape({3, batch * heads, length, width})
                              .unbind();
        at::Tensor later = at::full({length, length}, -INFINITY, qkv->value.options()).triu_(1);
        at::Tensor weight =
            at::baddbmm(later, part[0], part[1].transpose(1, 2), 1, 1 / std::sqrt(static_cast<double>(width)))
                .softmax(-1, at::kFloat);
        if (rate > 0)
            weight = dropped(s, weight, rate, rng);
        return at::bmm(weight.to(part[2].scalar_type()), part[2])
            .view({batch, heads, length, width})
            .transpose(1, 2)
            .reshape({batch, length, heads * width});
    });
}

sg_tensor *sg_dropout_chunks(sg_scope *s, sg_tensor *x, double rate, const sg_rng *rng,
                             const struct sg_chunks *chunks) {
    return add(s, [&] {
        const auto rows = static_cast<uint64_t>(x->value.size(0)), n = static_cast<uint64_t>(x->value.numel());
        const uint64_t width = rows > 0 ? n / rows : 0, short_rows = rows % chunks->rows,
                       whole_rows = rows - short_rows;
        const uint64_t first = sg_rng_position(rng), run = chunks->rows * width, stride = chunks->rows * chunks->all;
        at::Tensor mask = empty_mask(s, x->value);
        float *out = mask.data_ptr<float>();
        keep(s, out, whole_rows * width, draws_of(rng, first + chunks->rows * chunks->before, run, stride), rate);
        keep(s, out + whole_rows * width, short_rows * width,
             draws_of(rng, first + whole_rows * chunks->all + short_rows * chunks->before, run, stride), rate);
        return x->value.mul(mask);
    });
}

sg_tensor *sg_cross_entropy(sg_scope *s, sg_tensor *logits, sg_tensor *label) {
    return add(s, [&] { return at::cross_entropy_loss(single(logits->value), label->value); });
}

sg_tensor *sg_binary_cross_entropy(sg_scope *s, sg_tensor *logits, const float *label, double divisor) {
    return add(s, [&] {
        at::Tensor wanted = at::from_blob(const_cast<float *>(label), logits->value.sizes(), at::kFloat);
        at::Tensor sum =
            at::binary_cross_entropy_with_logits(single(logits->value), there(s, wanted), {}, {}, at::Reduction::Sum);
        return sum.div(divisor);
    });
}

sg_status sg_tensor_read(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err) {
    return attempt(s, err, [&] {
        at::Tensor host = single(x->value.detach()).to(at::kCPU).contiguous();
        TORCH_CHECK(static_cast<size_t>(host.numel()) == count, "a tensor of ", host.numel(), " elements read as ",
                    count);
        memcpy(out, host.data_ptr<float>(), count * sizeof *out);
    });
}

sg_status sg_tensor_store(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err) {
    return attempt(s, err, [&] {
        TORCH_CHECK(static_cast<size_t>(x->value.numel()) == count, "a tensor of ", x->value.numel(),
                    " elements stored as ", count);
        wrap(s, out, x->value.sizes().data(), x->value.sizes().size()).copy_(x->value.detach());
    });
}

sg_status sg_backward(sg_scope *s, sg_tensor *loss, struct sg_error *err) {
    return attempt(s, err, [&] {
        differentiate(s, loss);
        add_separate(s);
    });
}

} // extern "C"
