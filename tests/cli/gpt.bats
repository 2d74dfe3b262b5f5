#!/usr/bin/env bats
# The task gpt through the programs, on a little text: same bytes everywhere, texts of one's own, clear errors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >gpt.yaml <<'YAML'
schema: 1
name: gpt
task: {kind: gpt, dataset: wikitext-2, stand-in: text-like, train-tokens: 600, test-tokens: 311, vocabulary: 60, layers: 2, heads: 2, width: 8, context: 10, dropout: 0.2}
workers: 3
batch: 2
epochs: 2
optimizer: {kind: adamw, learning-rate: 0.01, beta2: 0.95, weight-decay: 0.1, warm-up-epochs: 0.5, warm-up-from: 0.1, decay: cosine, decay-to: 0.1}
error-feedback: gradient
record: {every: 3, evaluate: 1, series: [train-loss, test-loss, test-perplexity-corpus, error-norm, density, bits, learning-rate]}
methods:
  - {name: AdamW, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, density: 0.01}
  - {name: DiLoCo, compressor: topk, density: 0.05, error-feedback: {form: diloco, steps: 4}}
  - {name: Streaming, compressor: topk, density: 0.05, error-feedback: {form: diloco, steps: 6, fragments: 3, delay: 2, mixing: 0.5}}
YAML
    need_torch
}

gpt() { # METHOD ARGUMENTS...
    local method=$1
    shift
    sparsetrain -q gpt.yaml --method "$method" "$@"
}

# bats test_tags=slow
@test "1 and 2 threads, 1, 2 and 3 ranks: the same bytes" {
    for method in AdamW Top-k DiLoCo Streaming; do
        same_for_threads_and_ranks "$method.one" "2 3" gpt.yaml --method $method
        same_for_threads_and_ranks buckets 2 gpt.yaml --method $method --set task.clip=0 --set exchange.buckets=2kB
        tail -n 1 "$method.one" | grep -q '"status":"ok".*"steps":20' # floor(600 / 60) an epoch
        run -0 column test_loss "$method.one"                         # after each epoch
        [ "${#lines[@]}" = 2 ]
    done
    have_mpi || skip "threads only: built without MPI, or mpirun is not installed"
}

with_muon() {
    sed -i '/^methods:/,$d; s/kind: adamw, learning-rate: 0.01, beta2: 0.95/kind: muon, learning-rate: 0.02/' gpt.yaml
    cat >>gpt.yaml <<'YAML'
methods:
  - {name: Muon, compressor: topk, density: 0.05}
  - {name: MuLoCo, compressor: topk, density: 0.2, values: lookup, error-feedback: {form: diloco, steps: 4}}
  - {name: EF21-Muon, compressor: topk, density: 0.05, error-feedback: {form: ef21-sgdm, eta: 0.5},
     optimizer: {kind: muon, learning-rate: 0.02, momentum: 0, weight-decay: 0.1, warm-up-epochs: 0.5, warm-up-from: 0.1, decay: cosine, decay-to: 0.1}}
  - {name: Dion, compressor: dion, rank: 4,
     optimizer: {kind: dion, learning-rate: 0.02, weight-decay: 0.1, warm-up-epochs: 0.5, warm-up-from: 0.1, decay: cosine, decay-to: 0.1}}
  - {name: Dion2, compressor: dion2,
     optimizer: {kind: dion, learning-rate: 0.02, weight-decay: 0.1, warm-up-epochs: 0.5, warm-up-from: 0.1, decay: cosine, decay-to: 0.1}}
YAML
}

# bats test_tags=slow
@test "muon, for all workers or within the local steps of each: the same bytes for threads and ranks, and after a kill" {
    with_muon
    for method in Muon MuLoCo EF21-Muon Dion Dion2; do
        same_for_threads_and_ranks "$method.one" "2 3" gpt.yaml --method $method
        same_after_kill 7 gpt.yaml --method $method --set epochs=40
    done
}

@test "EF21-Muon that sends all of every gradient is Muon without momentum" {
    with_muon
    gpt Muon --set methods.Muon.density=1 --set optimizer.momentum=0 -o Muon
    gpt EF21-Muon --set methods.EF21-Muon.density=1 --set methods.EF21-Muon.error-feedback.eta=1 -o all
    gpt EF21-Muon -o some
    [ "$(column train_loss Muon | wc -l)" -ge 5 ]
    near() { paste <(column train_loss Muon) <(column train_loss "$1") | awk '{ off += ($1 - $2) ^ 2 } END { exit !(off < 1e-6) }'; }
    near all
    run ! near some
}

@test "muon: each of its settings counts, and a task without matrices of hidden layers is refused" {
    with_muon
    sparsebench gpt.yaml --dry-run >/dev/null # checks all cells by one task
    gpt Muon -o Muon.one
    # Another rate for vectors, embeddings and heads is another run, and so is each setting of a matrix.
    for other in vector-rate=0.03 match-rms=1 ns-steps=4 nesterov=0 momentum=0.9; do
        gpt Muon --set "optimizer.$other" -o other --force
        run ! cmp -s <(stable Muon.one | grep step) <(stable other | grep step)
    done
    says 2 "beta1 and beta2 must be below 1" -- gpt Muon --set optimizer.momentum=1
    says 2 "moves matrices of hidden layers, and this task has none: use adamw" -- \
        sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD --set 'optimizer={kind: muon, learning-rate: 0.1}' \
        --set error-feedback=gradient
}

@test "Dion: directions of hidden matrices train, and what makes none, or has no exchange, is refused" {
    with_muon
    for method in Dion Dion2; do
        gpt $method -o $method.one
        column train_loss $method.one | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR >= 5 && last < first - 0.1) }'
    done
    gpt Dion --set methods.Dion.optimizer.vector-rate=0.1 -o other # heads and embeddings have a rate of their own
    run ! cmp -s <(stable Dion.one | grep step) <(stable other | grep step)
    says 2 "optimizer 'dion' steps along directions, and compressor 'topk' makes none" -- \
        gpt Muon --set 'optimizer={kind: dion, learning-rate: 0.02}'
    says 2 "optimizer 'dion' steps along directions that an exchange makes, and steps of a worker alone have none" -- \
        gpt MuLoCo --set 'optimizer={kind: dion, learning-rate: 0.02}'
}

@test "fragments: no step sends more than the largest of them, the bytes of a round are those of one message" {
    for fragments in 1 4; do
        gpt DiLoCo --set "methods=[{name: DiLoCo, compressor: none, error-feedback: {form: diloco, steps: 4, fragments: $fragments}}]" \
            --set task.layers=8 --set record.every=1 --set record.series=[bytes-sent] --set steps=16 --set epochs=null -o $fragments
    done
    column bytes_sent 1 >all && column bytes_sent 4 >fragments
    paste all fragments | awk '{ a = $1 - before; b = $2 - own; before = $1; own = $2; if (a > whole) whole = a; if (b > most) most = b }
        END { exit !(whole > 0 && most < 0.4 * whole && most >= whole / 4 && own > 0.9 * before && own < 1.001 * before) }' ||
        { paste all fragments; false; }
}

# bats test_tags=slow
@test "killed and resumed: the same bytes, with residuals and the moments" {
    same_after_kill 7 gpt.yaml --method Top-k --set epochs=40
    same_after_kill 7 gpt.yaml --method DiLoCo --set epochs=40
    same_after_kill 7 gpt.yaml --method Streaming --set epochs=40
}

# bats test_tags=slow
@test "it learns the chain behind the text" {
    gpt AdamW --set task.train-tokens=6000 --set task.dropout=0 --set epochs=8 --set optimizer.learning-rate=0.02 -o run
    awk -v loss="$(column test_loss run | tail -n 1)" -v corpus="$(column test_perplexity_corpus run | tail -n 1)" \
        -v first="$(column train_loss run | head -n 1)" \
        'BEGIN { exit !(first > 3.5 && loss < first - 0.5 && (corpus / exp(loss) - 1) ^ 2 < 1e-20) }' ||
        { tail -n 4 run; false; }
}

@test "any text by its path, in words or in bytes, the last tenth for the test" {
    for i in $(seq 90); do echo "the cat number $((i % 7)) sat"; done >own.txt
    for i in $(seq 10); do echo "the dog number $((i % 7)) sat"; done >>own.txt
    own=(--set task.dataset=./own.txt --set task.stand-in=null --set task.train-tokens=0 --set task.test-tokens=0 --set steps=1 --set epochs=null)
    gpt AdamW "${own[@]}" --set task.vocabulary=0 -o words
    head -n 1 words | grep -q '"name":"own.txt","source":"file".*"train_tokens":540,"test_tokens":60,"vocabulary":13' # with <unk> and <eos>
    gpt AdamW "${own[@]}" --set task.tokens=bytes --set task.vocabulary=0 -o bytes
    head -n 1 bytes | grep -q '"train_tokens":1890,"test_tokens":210,"vocabulary":256'
    says 2 "a vocabulary of 60 words, but tokens are bytes" -- gpt AdamW "${own[@]}" --set task.tokens=bytes -o out
    says 1 "own.text" -- gpt AdamW "${own[@]}" --set task.dataset=./own.text -o out
}

@test "values that only the data can refute" {
    says 2 "9 tokens to train on: a window of context 10 takes 11" -- gpt AdamW --set task.train-tokens=9
    says 2 "1 test tokens: there must be 2" -- gpt AdamW --set task.test-tokens=1
    says 2 "a width of 8 is no multiple of 3 heads" -- gpt AdamW --set task.heads=3
    says 2 "AdamW need error-feedback: gradient" -- gpt AdamW --set error-feedback=update
    says 1 "--device cuda" -- gpt AdamW --device cuda
}

# bats test_tags=slow
@test "columns of gradients and of the mean residual leave the run as it is, for any number of threads and ranks" {
    errors_leave_the_run gpt.yaml
}

@test "recorded gradients have PyTorch's names of the layers, as the published ones, and replay the run" {
    gpt Top-k --set steps=16 --set epochs=null --set record.evaluate=0 --record-gradients own.gradients -o run
    sed -e 's/^task: .*/task: {kind: recorded, files: own.gradients}/' -e 's/^batch: .*/steps: 16/; /^epochs:/d' \
        -e 's/^optimizer: .*/optimizer: {kind: sgd, learning-rate: 1}/' \
        -e 's/^record: .*/record: {every: 3, series: [error-norm, density, bits]}/' gpt.yaml >replay.yaml
    sparsetrain -q replay.yaml --method Top-k -o replay
    for what in error_norm density bits; do
        diff <(column $what run) <(column $what replay)
    done
    cmp <(head -n 1 own.gradients | jq -c .names) <(head -n 1 "$ROOT/results/gpt.gradients" | jq -c .names)
    head -n 1 own.gradients | jq -e '.names | index("transformer.wte.weight", "transformer.h.1.attn.c_attn.bias", "transformer.ln_f.weight") != null'
}
