/* The forward and backward passes of one training step in libtorch alone, written as its users write them: what
 * tests/bench/training compares sparsetrain with. Random images, words or users, no compression, no optimizer.
 * usage: training_libtorch resnet20|resnet18|lstm|gpt|ncf WORKERS BATCH STEPS THREADS inside|beside
 *   inside: worker after worker, the threads inside each operation; beside: workers beside each other, one thread each
 * Prints seconds a step. */
/* SPDX-License-Identifier: MIT */
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace nn = torch::nn;

/* What one worker's step is about. */
struct Work {
    torch::Tensor input, label;
    std::tuple<torch::Tensor, torch::Tensor> state; /* that the LSTM carries */
};

struct Net : nn::Module {
    virtual Work work(int64_t batch) = 0;
    virtual torch::Tensor loss(Work &work) = 0;
};

static nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BlockImpl : nn::Module {
    nn::Conv2d conv1, conv2;
    nn::BatchNorm2d bn1, bn2;
    nn::Sequential shortcut;

    BlockImpl(int64_t in, int64_t out, int64_t stride)
        : conv1(conv(in, out, 3, stride)), conv2(conv(out, out, 3, 1)), bn1(out), bn2(out) {
        register_module("conv1", conv1);
        register_module("bn1", bn1);
        register_module("conv2", conv2);
        register_module("bn2", bn2);
        if (stride != 1 || in != out)
            shortcut = nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out));
        register_module("shortcut", shortcut);
    }
    torch::Tensor forward(torch::Tensor x) {
        torch::Tensor y = bn2(conv2(bn1(conv1(x)).relu_()));
        return y.add_(shortcut->is_empty() ? x : shortcut->forward(x)).relu_();
    }
};
TORCH_MODULE(Block);

struct Residual : Net {
    nn::Sequential body;
    nn::Linear head;

    Residual(const std::vector<int64_t> &channels, int repeat) : head(channels.back(), 10) {
        body->push_back(conv(3, channels[0], 3, 1));
        body->push_back(nn::BatchNorm2d(channels[0]));
        body->push_back(nn::ReLU(nn::ReLUOptions(true)));
        int64_t in = channels[0];
        for (size_t i = 0; i < channels.size(); i++)
            for (int j = 0; j < repeat; j++) {
                body->push_back(Block(in, channels[i], i > 0 && j == 0 ? 2 : 1));
                in = channels[i];
            }
        register_module("body", body);
        register_module("head", head);
    }
    Work work(int64_t batch) override {
        return {torch::randn({batch, 3, 32, 32}).contiguous(torch::MemoryFormat::ChannelsLast),
                torch::randint(10, {batch}, torch::kLong),
                {}};
    }
    torch::Tensor loss(Work &work) override {
        return nn::functional::cross_entropy(head(body->forward(work.input).mean({2, 3})), work.label);
    }
};

/* The paper's language model. */
struct Language : Net {
    static constexpr int64_t words = 28869, width = 650, layers = 3, steps = 30;
    nn::Embedding encoder;
    nn::LSTM rnn;
    nn::Dropout drop;
    torch::Tensor bias;

    Language() : encoder(words, width), rnn(nn::LSTMOptions(width, width).num_layers(layers).dropout(0.4)), drop(0.4) {
        register_module("encoder", encoder);
        register_module("rnn", rnn);
        register_module("drop", drop);
        bias = register_parameter("bias", torch::zeros({words}));
        nn::init::uniform_(encoder->weight, -0.1, 0.1);
    }
    Work work(int64_t batch) override {
        return {torch::randint(words, {steps, batch}, torch::kLong),
                torch::randint(words, {steps * batch}, torch::kLong),
                {torch::zeros({layers, batch, width}), torch::zeros({layers, batch, width})}};
    }
    torch::Tensor loss(Work &work) override {
        auto [out, state] = rnn(drop(encoder(work.input)), work.state);
        work.state = {std::get<0>(state).detach(), std::get<1>(state).detach()};
        torch::Tensor rows = drop(out).view({-1, width});
        return nn::functional::cross_entropy(torch::linear(rows, encoder->weight, bias), work.label);
    }
};

/* A block of GPT-2, with the attention of nanoGPT where there is no fused one. */
struct TransformerImpl : nn::Module {
    int64_t heads;
    nn::LayerNorm ln_1, ln_2;
    nn::Linear attention, projection, inner, outer;

    TransformerImpl(int64_t width, int64_t heads)
        : heads(heads), ln_1(nn::LayerNormOptions({width})), ln_2(nn::LayerNormOptions({width})),
          attention(width, 3 * width), projection(width, width), inner(width, 4 * width), outer(4 * width, width) {
        register_module("ln_1", ln_1);
        register_module("ln_2", ln_2);
        register_module("attention", attention);
        register_module("projection", projection);
        register_module("inner", inner);
        register_module("outer", outer);
    }
    torch::Tensor forward(torch::Tensor x, torch::Tensor later) {
        const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
        auto part = attention(ln_1(x)).split(width, 2);
        for (torch::Tensor &p : part)
            p = p.view({batch, length, heads, width / heads}).transpose(1, 2);
        torch::Tensor weight = part[0].matmul(part[1].transpose(2, 3)) * (1 / std::sqrt(double(width / heads)));
        weight = weight.masked_fill(later, -INFINITY).softmax(-1);
        x = x + projection(weight.matmul(part[2]).transpose(1, 2).contiguous().view({batch, length, width}));
        return x + outer(torch::gelu(inner(ln_2(x))));
    }
};
TORCH_MODULE(Transformer);

struct Decoder : Net {
    static constexpr int64_t words = 256, width = 128, layers = 4, heads = 4, context = 128;
    nn::Embedding word, position;
    std::vector<Transformer> block;
    nn::LayerNorm last;
    torch::Tensor later = torch::ones({context, context}, torch::kBool).triu(1);

    Decoder() : word(words, width), position(context, width), last(nn::LayerNormOptions({width})) {
        register_module("word", word);
        register_module("position", position);
        register_module("last", last);
        for (int64_t i = 0; i < layers; i++)
            block.push_back(register_module("block" + std::to_string(i), Transformer(width, heads)));
        nn::init::normal_(word->weight, 0, 0.02);
    }
    Work work(int64_t batch) override {
        return {torch::randint(words, {batch, context}, torch::kLong),
                torch::randint(words, {batch * context}, torch::kLong),
                {}};
    }
    torch::Tensor loss(Work &work) override {
        torch::Tensor x = word(work.input) + position(torch::arange(context));
        for (Transformer &b : block)
            x = b(x, later);
        return nn::functional::cross_entropy(torch::linear(last(x).view({-1, width}), word->weight), work.label);
    }
};

/* The paper's recommender, at the size of MovieLens-20M. */
struct Recommender : Net {
    static constexpr int64_t users = 138493, items = 26744;
    nn::Embedding mf_user, mf_item, mlp_user, mlp_item;
    nn::Sequential mlp;
    nn::Linear last;

    Recommender() : mf_user(users, 64), mf_item(items, 64), mlp_user(users, 128), mlp_item(items, 128), last(128, 1) {
        const int64_t size[] = {256, 256, 128, 64};
        for (int i = 1; i < 4; i++) {
            mlp->push_back(nn::Linear(size[i - 1], size[i]));
            mlp->push_back(nn::ReLU(nn::ReLUOptions(true)));
            mlp->push_back(nn::Dropout(0.5));
        }
        register_module("mf_user", mf_user);
        register_module("mf_item", mf_item);
        register_module("mlp_user", mlp_user);
        register_module("mlp_item", mlp_item);
        register_module("mlp", mlp);
        register_module("last", last);
    }
    Work work(int64_t batch) override {
        const torch::Tensor item = torch::randint(items, {batch}, torch::kLong);
        return {
            torch::randint(users, {batch}, torch::kLong), torch::bernoulli(torch::full({batch}, 0.2)), {item, item}};
    }
    torch::Tensor loss(Work &work) override {
        const torch::Tensor user = work.input, item = std::get<0>(work.state);
        torch::Tensor deep = mlp->forward(torch::cat({mlp_user(user), mlp_item(item)}, 1));
        torch::Tensor logits = last(torch::cat({mf_user(user) * mf_item(item), deep}, 1)).view({-1});
        return torch::binary_cross_entropy_with_logits(logits, work.label);
    }
};

static std::unique_ptr<Net> open_net(const char *model) {
    if (strcmp(model, "ncf") == 0)
        return std::make_unique<Recommender>();
    if (strcmp(model, "gpt") == 0)
        return std::make_unique<Decoder>();
    if (strcmp(model, "lstm") == 0)
        return std::make_unique<Language>();
    if (strcmp(model, "resnet18") == 0)
        return std::make_unique<Residual>(std::vector<int64_t>{64, 128, 256, 512}, 2);
    return std::make_unique<Residual>(std::vector<int64_t>{16, 32, 64}, 3);
}

static void pass(Net &net, Work &work) {
    net.zero_grad();
    net.loss(work).backward();
}

int main(int argc, char **argv) {
    if (argc != 7)
        return fprintf(stderr, "usage: training_libtorch resnet20|resnet18|lstm|gpt|ncf WORKERS BATCH STEPS THREADS "
                               "inside|beside\n"),
               2;
    const bool beside = strcmp(argv[6], "beside") == 0;
    const int workers = atoi(argv[2]), batch = atoi(argv[3]), steps = atoi(argv[4]), threads = atoi(argv[5]);
    std::vector<std::unique_ptr<Net>> net;
    for (int i = 0; i < (beside ? threads : 1); i++)
        net.push_back(open_net(argv[1]));
    std::vector<Work> work;
    for (int w = 0; w < workers; w++)
        work.push_back(net[0]->work(batch));
    at::set_num_threads(threads);
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; step++) {
        if (!beside) {
            for (int w = 0; w < workers; w++)
                pass(*net[0], work[w]);
            continue;
        }
#pragma omp parallel num_threads(threads)
        {
            at::set_num_threads(1);
#pragma omp for schedule(static, 1)
            for (int w = 0; w < workers; w++)
                pass(*net[w % threads], work[w]);
        }
    }
    printf("%.4f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps);
}
