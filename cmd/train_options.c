/* train_options.c: the options of sparsetrain. */
/* SPDX-License-Identifier: MIT */
#include "train_options.h"

#include <math.h>

struct train_opt opt = {.progress_fd = -1, .time_limit = NAN, .memory_check = true};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to run"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "method to run, by its name or, where it has lists of parameters, the label of one cell; not needed "
             "when there is one; --check takes several"},
    {SG_OPTION_STRING, "seed", 0, &opt.seed, .value = "N",
     .help = "seed to run, whether the recipe lists it or not; its first by default"},
    {SG_OPTION_LIST, "set", 0, &opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4, methods.Top-k.k=5); may be repeated"},
    {SG_OPTION_LIST, "plugin", 0, &opt.plugins, .value = "FILE",
     .help = "compressors of your own for recipes: a shared object, or a file of Python; may be repeated"},
    {SG_OPTION_STRING, "data", 0, &opt.data_dir, .value = "DIR",
     .help = "folder of the data sets; else $SPARSE_DATA, else datasets/cache"},
    {SG_OPTION_STRING, "device", 0, &opt.device, .value = "DEVICE", .help = "cpu (the default), cuda or cuda:N"},
    {SG_OPTION_INT, "threads", 0, &opt.threads, .value = "N", .min = 0, .max = 1024,
     .help =
         "threads of this process, 0 = its share of the cores, at most OMP_NUM_THREADS; results do not depend on it"},
    {SG_OPTION_STRING, "k-from", 0, &opt.k_from, .value = "FILE",
     .help = "the finished series of the method from which this one copies k; sparsebench runs that first"},
    {SG_OPTION_FLAG, "memory-check", 0, &opt.memory_check,
     .help = "refuse a run that needs more memory than this host, or its control group, has left (default)"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.dry_run,
     .help = "check the recipe, print it resolved as JSON, say what memory a rank takes unless --quiet, and stop"},
    {SG_OPTION_FLAG, "check", 0, &opt.check,
     .help = "check all cells of the recipe, or those of --method, against their data, and stop"},
    {SG_OPTION_CHOICE, "help-recipe", 0, &opt.help_recipe, .choices = "text|json-schema", .bare = "text",
     .help = "describe every recipe key, for people or for editors"},
    {SG_OPTION_FLAG, "help-compressors", 0, &opt.help_compressors,
     .help = "list every compressor: kind, class, bits on an example, publication; with --json also its parameters"},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE",
     .help = "write the result there: a series (NDJSON), or JSON if the name ends in .json; appears when the run is "
             "over, FILE.part until then"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "one JSON object"},
    {SG_OPTION_FLAG, "ndjson", 0, &opt.ndjson,
     .help = "one JSON object a line, as the run goes (default in a pipe and under mpirun or srun)"},
    {SG_OPTION_FLAG, "table", 0, &opt.table,
     .help = "an aligned table of some twenty points on standard output (default on a terminal)"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force,
     .help = "replace FILE if it exists, and start again where a stopped run could be resumed"},
    {SG_OPTION_STRING, "record-inputs", 0, &opt.record_inputs, .value = "FILE",
     .help =
         "write all that the compressors are given to FILE, for sparsetune --oracle: 4 bytes a parameter, worker and "
         "step; FILE.part until the run is over"},
    {SG_OPTION_STRING, "record-gradients", 0, &opt.record_gradients, .value = "FILE",
     .help = "write all gradients to FILE in the same way, to be replayed by the task `recorded`"},
    {SG_OPTION_GROUP, .name = "Stopping and going on"},
    {SG_OPTION_FLAG, "resume", 0, &opt.resume,
     .help = "go on from the checkpoint of FILE if there is one, to the same bytes; nothing to do if FILE is finished"},
    {SG_OPTION_STRING, "checkpoint", 0, &opt.checkpoint, .value = "FILE",
     .help = "checkpoint file, default OUTPUT.ckpt"},
    {SG_OPTION_INT, "checkpoint-every", 0, &opt.checkpoint_every, .value = "STEPS", .min = 0, .max = 1e15,
     .help = "steps between checkpoints, 0 = once a minute; always on INT, TERM, HUP, USR1, USR2 and XCPU"},
    {SG_OPTION_NUMBER, "time-limit", 0, &opt.time_limit, .value = "SECONDS", .min = 0, .max = 1e9,
     .help = "stop within so many seconds, with a checkpoint; --resume goes on"},
    {SG_OPTION_INT, "progress-fd", 0, &opt.progress_fd, .value = "FD", .min = -1, .max = 1 << 20,
     .help = "write \"done total\" lines there", .hidden = true},
    {SG_OPTION_INT, "at-once", 0, &opt.at_once, .value = "N", .min = 0, .max = 4096,
     .help = "with --check: so many cells must fit into memory at once", .hidden = true},
};

const struct sg_program program = {
    .name = "sparsetrain",
    .usage = "[options] RECIPE",
    .operand = "yaml",
    .summary = "Train with compressed gradients and error feedback: one method and one seed of a recipe.",
    .details = "RECIPE may be - for stdin. Under mpirun or srun the recipe's workers are spread over the ranks; "
               "the result has the same bytes for any number of ranks and threads.\n\n"
               "Examples:\n"
               "  sparsetrain recipes/smoke.yaml --method Top-k\n"
               "  sparsetrain recipes/smoke.yaml --method Top-k --set workers=4 --json |\n"
               "      sparseplot-export - --x=epoch --y=suboptimality\n"
               "  mpirun -n 4 sparsetrain recipes/fig1.yaml --method Hard-threshold --seed 1 \\\n"
               "      -o run.ndjson --resume\n\n"
               "Exit: 0 done, 1 the run failed or diverged, 2 usage or recipe error, 124 stopped at --time-limit, "
               "128+n stopped by signal n.\n",
    .verbose = "say more",
    .options = options,
    .n_options = sizeof options / sizeof *options,
};
