/* bench_options.c: the options of sparsebench. */
/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <math.h>

#include "grid_program.h"

struct bench_opt opt = {.color = "auto", .judge = true, .time_limit = NAN, .share = 0.1};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to run"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "only cells of this method, by name (all of its cells) or label; may be repeated"},
    {SG_OPTION_LIST, "seed", 0, &opt.seeds, .value = "N",
     .help = "only cells of this seed; may be repeated; with --audit the seed of the draw, by default 0"},
    {SG_OPTION_STRING, "part", 0, &opt.part, .value = "I/N",
     .help = "only the I-th of N parts of these cells, dealt in turn, for the jobs of an array; their claims are not "
             "judged"},
    {SG_OPTION_LIST, "set", 0, &cell_opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4, methods.Top-k.k=5); may be repeated"},
    {SG_OPTION_NUMBER, "time-limit", 0, &opt.time_limit, .value = "SECONDS", .min = 0, .max = 1e9,
     .help = "stop within so many seconds, with checkpoints, and give the result so far; 0 = run nothing; the same "
             "command goes on"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.dry_run,
     .help = "list the cells and whether each would be run, resumed or reused, with --json also their resolved "
             "recipes, and how many files of the folder belong to none of them, and stop"},
    {SG_OPTION_STRING, "network", 0, &opt.network, .value = "KEY=VALUE,...",
     .help = "add what the run would take on a modelled network (workers=64,link=10gbe-tcp): the keys of the recipe's "
             "section network; finished cells are reused"},
    {SG_OPTION_FLAG, "measure-coding", 0, &opt.measure_coding,
     .help = "time how long every compressor encodes and decodes on this machine, for network.processor: FILE.json; no "
             "recipe is read"},
    {SG_OPTION_FLAG, "compare", 0, &opt.compare,
     .help = "say what differs between two results, value by value and paired by seed, beyond what the seeds' noise "
             "explains; nothing is run"},
    {SG_OPTION_FLAG, "rejudge", 0, &opt.rejudge,
     .help =
         "judge the claims of a result again, by the numbers of its seeds, and make its finding again; nothing is run"},
    {SG_OPTION_STRING, "bundle", 0, &opt.bundle, .value = "DIR",
     .help = "put a result, its recipe, the series of all its cells, and checksums into a folder, for --audit"},
    {SG_OPTION_FLAG, "audit", 0, &opt.audit,
     .help = "run a random share of the cells of bundles or results again, and say of each whether its numbers are the "
             "same bits, within what another processor changes in libtorch, or differ, and where first"},
    {SG_OPTION_NUMBER, "share", 0, &opt.share, .value = "SHARE", .min = 0, .max = 1,
     .help = "of --audit: the share of the cells that is drawn, at least one"},
    {SG_OPTION_LIST, "allow", 0, &opt.allowed, .value = "FOLDER",
     .help = "of --audit: files that the evidence names may lie here, too; may be repeated"},
    {SG_OPTION_FLAG, "verify-compressors", 0, &opt.verify,
     .help =
         "try what compressors promise, those of plug-ins too: nothing is lost, the declared class, exact bits, the "
         "same bits for any kernels, threads and ranks, resuming, damaged bytes; no recipe is read"},
    {SG_OPTION_FLAG, "measure-link", 0, &cell_opt.under_launcher,
     .help = "started by a launcher as two ranks or more: time messages between the first two, and print a recipe's "
             "section network that has their bandwidth and latency"},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE", .help = "write JSON there, whole or not at all"},
    {SG_OPTION_STRING, "html", 0, &opt.html, .value = "FILE",
     .help = "also write a page to read in a browser, renewed every few seconds while cells run"},
    {SG_OPTION_INT, "points", 0, &opt.points, .value = "N", .min = 0, .max = 1e9,
     .help = "thin the series in the result to at most N points, 0 = all; finals and claims use every record"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "JSON on stdout, also on a terminal (default in a pipe)"},
    {SG_OPTION_FLAG, "table", 0, &opt.table, .help = "the table on stdout, also in a pipe"},
    {SG_OPTION_STRING, "sort", 0, &opt.sort, .value = "COLUMN", .bare = "",
     .help =
         "sort the table's methods by this column, best first; without COLUMN by the quality that the task measures"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force,
     .help = "replace FILE if it exists; a partial result of the same command is replaced anyway"},
    {SG_OPTION_FLAG, "judge", 0, &opt.judge,
     .help = "judge the claims and compare with the baseline; --no-judge for runs that are too short for it"},
    {SG_OPTION_FLAG, "strict", 0, &opt.strict,
     .help = "exit 3 if a claim fails, also if only at these seeds, or something differs beyond noise"},
    {SG_OPTION_CHOICE, "color", 0, &opt.color, .choices = "auto|always|never", .help = "colour verdicts"},
    {SG_OPTION_FLAG, "corrupt", 0, &opt.corrupt, .help = "spoil the kernels' output", .hidden = true},
};

const struct sg_program program = {
    .name = "sparsebench",
    .usage = "[options] RECIPE\n"
             "       sparsebench --compare [options] [RESULT] RESULT\n"
             "       sparsebench --rejudge [options] RESULT\n"
             "       sparsebench --bundle DIR [options] RESULT\n"
             "       sparsebench --audit [options] BUNDLE|RESULT...\n"
             "       sparsebench --verify-compressors [options] [COMPRESSOR...]\n"
             "       sparsebench --measure-coding [options] -o FILE.json\n"
             "       mpirun -n 2 --host a,b sparsebench --measure-link [options]",
    .operand = "yaml|json",
    .summary = "Run a recipe's methods at its seeds and judge its claims, or time the kernels of the compressors.",
    .details =
        "RECIPE may be - for stdin. Each cell (one method, one seed) is a sparsetrain process. A finished cell is "
        "not run again and a stopped one goes on from its checkpoint: give the same command again. Another version "
        "of the code behind its numbers, or other data, make a finished cell another. "
        "A recipe of kind: kernels runs in this process instead; wrong output of a kernel is no time and exit 3. "
        "Its section compressors times one worker's step of every compressor, all rounds and the decoding of its "
        "own message, as a multiple of e += g. "
        "The result is a table on a terminal, else JSON.\n\n"
        "Examples:\n"
        "  sparsebench recipes/fig1.yaml | sparseplot-export --format svg > fig1.svg\n"
        "  sparsebench recipes/fig1.yaml --html fig1.html -o fig1.json\n"
        "  sparsebench recipes/fig1.yaml --set workers=4 --method Top-k --dry-run\n"
        "  sparsebench recipes/kernels.yaml --set 'sizes=[resnet18]' \\\n"
        "      --set 'threads=[2]' --table\n"
        "  sparsebench recipes/fig1.yaml --network workers=64,link=10gbe-tcp \\\n"
        "      | sparseplot-export --x time -o time.svg\n"
        "  sparsebench --compare before.json after.json\n"
        "  sparsebench --bundle fig1-bundle fig1.json\n"
        "  sparsebench --audit fig1-bundle --share 0.1 --seed 7\n"
        "  sparsebench --measure-coding --set threads=[2] -o coding.json\n"
        "  sparsebench --verify-compressors --plugin mine.so mine\n"
        "  sparsebench recipes/fig1.yaml --launcher \"mpirun -n 4\" -o fig1.json\n"
        "  sparsebench recipes/fig1.yaml --part $SLURM_ARRAY_TASK_ID/8 -o /dev/null\n\n"
        "Exit: 0 done, 1 a cell failed or diverged, 2 usage or recipe error, 3 --strict and a claim fails, "
        "something differs beyond noise, a kernel's output is wrong, a compressor breaks a promise, or an audit finds "
        "other numbers or a damaged bundle, "
        "124 stopped at --time-limit, 128+n stopped by signal n.\n",
    .verbose = "also what finished cells said, and every seed of a claim",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .shared = &cell_options,
};
