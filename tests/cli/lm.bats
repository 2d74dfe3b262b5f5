#!/usr/bin/env bats
# The task lm through the programs, on a little generated text: same bytes everywhere, clear errors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >lm.yaml <<'YAML'
schema: 1
name: lm
task: {kind: lm, dataset: wikitext-2, stand-in: text-like, train-tokens: 600, test-tokens: 300, vocabulary: 60, embedding: 8, hidden: 12, layers: 2, bptt: 5, dropout: 0.3, clip: 0.5}
workers: 3
batch: 4
epochs: 2
optimizer: {kind: sgd, learning-rate: 1, scale: 2, warm-up-epochs: 1, decay-at: [1.5]}
error-feedback: gradient
record: {every: 3, evaluate: 1, series: [train-loss, test-perplexity, test-loss, test-perplexity-corpus, error-norm, density, bits]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, density: 0.01}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.02}
plots:
  - {x: epoch, y: test-perplexity}
YAML
    need_torch
}

lm() { # METHOD ARGUMENTS...
    local method=$1
    shift
    sparsetrain -q lm.yaml --method "$method" "$@"
}

# bats test_tags=slow
@test "1 and 2 threads, 1, 2 and 3 ranks: the same bytes" {
    for method in SGD Top-k Hard-threshold; do
        same_for_threads_and_ranks "$method.one" "2 3" lm.yaml --method $method
        tail -n 1 "$method.one" | grep -q '"status":"ok".*"steps":18' # floor((600 / 12 - 1) / 5) an epoch
        run -0 column test_perplexity "$method.one"                   # after each epoch
        [ "${#lines[@]}" = 2 ]
    done
    [ "$(column density SGD.one | sort -u)" = 1 ]
    have_mpi || skip "threads only: built without MPI, or mpirun is not installed"
}

# bats test_tags=slow
@test "killed and resumed: the same bytes, with residuals and the hidden state" {
    same_after_kill 7 lm.yaml --method Hard-threshold --set epochs=40
}

# bats test_tags=slow
@test "it learns the chain behind the text, and perplexities fit the loss" {
    lm SGD --set task.train-tokens=6000 --set task.layers=1 --set task.dropout=0 --set task.clip=2 --set epochs=4 --set optimizer.learning-rate=8 --set 'optimizer.decay-at=[3]' -o run
    awk -v loss="$(column test_loss run | tail -n 1)" -v corpus="$(column test_perplexity_corpus run | tail -n 1)" \
        -v mean="$(column test_perplexity run | tail -n 1)" -v first="$(column train_loss run | head -n 1)" \
        'BEGIN { exit !(first > 4 && loss < first - 0.5 && (corpus / exp(loss) - 1) ^ 2 < 1e-20 && mean >= corpus && mean < 1.3 * corpus) }' ||
        { tail -n 4 run; false; }
    grep -q '"generator":"text-like"' run
    grep -q '"vocabulary":60' run
}

@test "a gradient is clipped to its norm before error feedback" {
    # One step from the start: what is kept and sent together has the gradient's norm, so that kept alone is below it.
    lm Top-k --set steps=1 --set record.every=1 --set task.clip=0.001 --set methods.Top-k.k=1 --set methods.Top-k.density=null -o run
    column error_norm run | tail -n 1 | awk '{ exit !($1 > 0 && $1 <= 1.0001e-6) }' || { tail -n 3 run; false; } # squared
    lm Top-k --set steps=1 --set record.every=1 --set task.clip=0 --set methods.Top-k.k=1 --set methods.Top-k.density=null -o free
    column error_norm free | tail -n 1 | awk '{ exit !($1 > 1e-4) }' || { tail -n 3 free; false; }
}

# words FILE TEXT...: TEXT, a hundred times
words() {
    mkdir -p data/wikitext-2
    for _ in $(seq 100); do printf '%s\n' "${@:2}"; done >"data/wikitext-2/$1.txt"
}

@test "training on another file than train.txt is announced, and stands in results and titles" {
    words valid 'the cat sat' 'the dog ran'
    words test 'the cat ran'
    run -0 --separate-stderr sparsetrain lm.yaml --method SGD --set task.train-file=valid --set task.test-file=test -o run
    [[ $stderr == *"training on the file 'valid' of data set 'wikitext-2', evaluating on 'test'; results say so"* ]] || { echo "$stderr"; false; }
    head -n 1 run | grep -q '"source":"file".*"train_file":"valid","test_file":"test"'
    sparsebench -q lm.yaml --set task.train-file=valid --set task.test-file=test --set epochs=1 --set 'title=Words' --folder cells -o all.json
    sparseplot-export all.json --format csv | grep -q "Words — trained on the set's file 'valid'"
    run -1 --separate-stderr sparsetrain lm.yaml --method SGD # half a set is no reason for a stand-in
    [[ $stderr == *"no file train.txt"*"datasets/fetch wikitext-2"* ]] || { echo "$stderr"; false; }
}

@test "a missing data set names the fetch command, bad text its place" {
    sed -i 's/ stand-in: text-like,//' lm.yaml
    run -1 --separate-stderr lm SGD -o out
    [[ $stderr == "sparsetrain: "*"datasets/fetch wikitext-2"* ]] || { echo "$stderr"; false; }
    words train 'the cat sat'
    words valid 'the cat sat'
    printf 'caf\351 au lait\n' >>data/wikitext-2/valid.txt
    says 1 "wikitext-2/valid.txt:101: byte 0xe9 is not UTF-8" iconv -- lm SGD -o out
    : >data/wikitext-2/valid.txt
    says 1 "valid.txt: the text is empty" -- lm SGD -o out
    [ ! -e out ]
}

@test "values that only the data can refute" {
    says 2 "600 tokens for 3 workers of 40 columns: a column has 5, and one step of bptt 5 takes 6" -- lm SGD --set batch=40
    says 2 "100 test tokens for 3 workers of 30 columns" -- lm SGD --set batch=30 --set task.test-tokens=100
    says 2 "a vocabulary of 1 word" -- lm SGD --set task.vocabulary=1
    says 1 "--device cuda" -- lm SGD --device cuda
}

@test "a diverging run says where and exits 1" {
    says 1 "worker 0, step" -- lm SGD --set optimizer.learning-rate=1e38 --set task.clip=0 -o out
    tail -n 1 out | grep -q '"status":"diverged"'
}

# bats test_tags=slow
@test "columns of gradients and of the mean residual leave the run as it is, for any number of threads and ranks" {
    errors_leave_the_run lm.yaml
}
