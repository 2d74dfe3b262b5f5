#!/usr/bin/env bats
# Training on an emulated GPU over ranks, and on a real one where there is one.
# SPDX-License-Identifier: MIT
load common

need_emulation() {
    EMULATED=$ROOT/build/release/tests
    [ -x "$EMULATED/test_rounds_gpu_emulated" ] || skip "not built: make build-tests, with a C++ compiler"
}

@test "1, 2 and 3 ranks with a GPU each: the bytes of one process on the CPU" {
    need_emulation
    have_mpi || skip "built without MPI"
    while read -r what method set; do
        program=$EMULATED/test_${what}_gpu_emulated
        # shellcheck disable=SC2086
        "$program" cpu $method $set >"$BATS_TEST_TMPDIR/cpu"
        grep -q '"record":"end","status":"ok"' "$BATS_TEST_TMPDIR/cpu"
        for ranks in 1 2 3; do
            # shellcheck disable=SC2086
            $MPI -n "$ranks" "$program" cuda $method $set >"$BATS_TEST_TMPDIR/cuda"
            cmp "$BATS_TEST_TMPDIR/cpu" "$BATS_TEST_TMPDIR/cuda"
        done
    done <<-'RUNS'
	train SGD error-feedback=gradient message.values=fp16
	train Share error-feedback=gradient optimizer.momentum=0.5 workers=37
	train Sums scope=model
	train Random-k message.values=fp16 message.encoding=auto
	train onebit error-feedback=gradient
	train signsgd error-feedback=momentum
	train qsgd error-feedback=none
	train levels error-feedback=ef21 message.encoding=auto
	train signtopk error-feedback=dgc
	rounds powersgd error-feedback=gradient
	rounds layers error-feedback=none message.encoding=auto workers=5
	RUNS
}

@test "the hook for PyTorch on this machine's GPU has the bits of the host" {
    nvidia-smi -L >/dev/null 2>&1 || skip "no NVIDIA GPU here"
    sparsetrain --version | grep -q "cuda on" || skip "built without CUDA"
    find_python torch numpy || skip "no Python has PyTorch: SPARSE_TORCH_PYTHON=/path/to/python"
    "$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || skip "PyTorch has no CUDA"
    PYTHONPATH=$ROOT/lib/method run -0 timeout 300 "$PYTHON" "$ROOT/tests/cli/ddp_device.py" 1 3>&-
    [[ $output == *"ok gpu"* ]]
}

@test "a short training of a network on this machine's GPU, twice" {
    nvidia-smi -L >/dev/null 2>&1 || skip "no NVIDIA GPU here"
    sparsetrain --version | grep -q "torch on, cuda on" || skip "built without CUDA or libtorch"
    cd "$BATS_TEST_TMPDIR"
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >cnn.yaml <<'YAML'
schema: 1
name: cnn
task: {kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 64, test-images: 20}
workers: 4
batch: 8
steps: 6
optimizer: {learning-rate: 0.05, momentum: 0.9}
error-feedback: gradient
record: {every: 2, evaluate: 1, series: [train-loss, test-accuracy, error-norm, density]}
methods:
  - {name: Top-k, compressor: topk, density: 0.01}
YAML
    run --separate-stderr sparsetrain -q cnn.yaml --method Top-k --device cuda -o one
    [[ $status = 0 || $stderr != *"build with TORCH_DIR"* ]] || skip "$stderr"
    [ "$status" = 0 ] || { echo "$stderr"; false; }
    sparsetrain -q cnn.yaml --method Top-k --device cuda:0 -o two
    same_series one two
    [ "$(jq -r 'select(.record == "run") | .device, .kernels' one | paste -sd' ')" = "cuda:0 cuda" ]
    [ -n "$(jq -r 'select(.record == "run") | .host.gpu // ""' one)" ]
    sparsetrain -q cnn.yaml --method Top-k --device cuda:0 --set task.precision=tf32 -o tf32
    [ "$(grep '"record":"step"' one)" != "$(grep '"record":"step"' tf32)" ]
}
