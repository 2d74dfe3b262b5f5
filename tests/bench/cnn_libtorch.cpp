/* The forward and backward passes of one training step in libtorch alone, written as its users write them: what
 * tests/bench/cnn compares sparsetrain with. Random images, no compression, no optimizer.
 * usage: cnn_libtorch resnet20|resnet18 WORKERS BATCH STEPS THREADS inside|beside
 *   inside: worker after worker, the threads inside each operation; beside: workers beside each other, one thread each
 * Prints seconds a step. */
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace nn = torch::nn;

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

struct Residual : nn::Module {
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
    torch::Tensor forward(torch::Tensor x) { return head(body->forward(x).mean({2, 3})); }
};

static void pass(Residual &net, const torch::Tensor &images, const torch::Tensor &labels) {
    net.zero_grad();
    torch::nn::functional::cross_entropy(net.forward(images), labels).backward();
}

int main(int argc, char **argv) {
    if (argc != 7)
        return fprintf(stderr, "usage: cnn_libtorch resnet20|resnet18 WORKERS BATCH STEPS THREADS inside|beside\n"), 2;
    const bool wide = strcmp(argv[1], "resnet18") == 0, beside = strcmp(argv[6], "beside") == 0;
    const int workers = atoi(argv[2]), batch = atoi(argv[3]), steps = atoi(argv[4]), threads = atoi(argv[5]);
    std::vector<std::unique_ptr<Residual>> net;
    for (int i = 0; i < (beside ? threads : 1); i++)
        net.push_back(wide ? std::make_unique<Residual>(std::vector<int64_t>{64, 128, 256, 512}, 2)
                           : std::make_unique<Residual>(std::vector<int64_t>{16, 32, 64}, 3));
    std::vector<torch::Tensor> images, labels;
    for (int w = 0; w < workers; w++) {
        images.push_back(torch::randn({batch, 3, 32, 32}).contiguous(torch::MemoryFormat::ChannelsLast));
        labels.push_back(torch::randint(10, {batch}, torch::kLong));
    }
    at::set_num_threads(threads);
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; step++) {
        if (!beside) {
            for (int w = 0; w < workers; w++)
                pass(*net[0], images[w], labels[w]);
            continue;
        }
#pragma omp parallel num_threads(threads)
        {
            at::set_num_threads(1);
#pragma omp for schedule(static, 1)
            for (int w = 0; w < workers; w++)
                pass(*net[w % threads], images[w], labels[w]);
        }
    }
    printf("%.4f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps);
}
