// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Sentences that a static_assert and a run-time error share. Macros, since a static_assert takes a literal alone.

#define WEFT_WORDS_NEEDS_A_RANK "there is no rank to run on; use 1 or more"
#define WEFT_WORDS_NEEDS_A_MICRO_BATCH "there is no micro-batch to run; use micro_batches 1 or more"
#define WEFT_WORDS_NEEDS_EXACTLY_ONE_RANK                                                                             \
  "the serial schedule runs on 1 rank; start 1 rank, or choose gpipe, one_f_one_b (1f1b) or zero_bubble_h1 (zb-h1), " \
  "which run on any number"
#define WEFT_WORDS_TOO_MANY_STAGES "there are more stages than an action can number; use fewer ranks"
#define WEFT_WORDS_TOO_MANY_MICRO_BATCHES "there are more messages than a program can hold; use fewer micro-batches"
#define WEFT_WORDS_MICRO_BATCHES_MULTIPLE "micro_batches must be a multiple; use the nearest legal count"
#define WEFT_WORDS_NEEDS_A_CHUNK "a rank has no stage to run; use chunks 1 or more"
#define WEFT_WORDS_NEEDS_EVEN_RANKS \
  "two copies of the model enter at opposite ends and meet in the middle; use an even number of ranks"
#define WEFT_WORDS_NEEDS_EVEN_MICRO_BATCHES \
  "each copy of the model takes half of the micro-batches; use an even number of micro_batches"
#define WEFT_WORDS_MICRO_BATCHES_PER_RANK "both directions must be filled; use micro_batches 2 or more for each rank"
#define WEFT_WORDS_NEEDS_THE_TABLES_RANKS \
  "a table of one's own has one line per rank; use as many ranks as it has lines"
#define WEFT_WORDS_NEEDS_THE_TABLES_MICRO_BATCHES \
  "a table of one's own names its micro-batches; use as many micro_batches as it has"
#define WEFT_WORDS_NEEDS_A_WAVE "there is no wave to run; use waves 1 or more"
#define WEFT_WORDS_NEEDS_EVEN_CHUNKS "a wave goes down the ranks and up again, which are two chunks; use an even number"
#define WEFT_WORDS_NEEDS_A_GROUP "a group has no micro-batch; use 1 or more, or 0 for all in one group"
#define WEFT_WORDS_GROUP_FITS                                                                                          \
  "a group must have at least as many micro-batches as there are ranks, and so must what is left after the last full " \
  "one; use the nearest legal group"
#define WEFT_WORDS_CHUNKS_ARE_FIXED \
  "this schedule has a number of chunks of its own; leave chunks out, or choose one that takes them"
#define WEFT_WORDS_TAKES_NO_GROUP "this schedule does not work in groups; leave the group out"
#define WEFT_WORDS_TAKES_NO_WAVES "this schedule has no waves; leave them out, or choose wave"
#define WEFT_WORDS_TAKES_NO_LIMIT "this schedule takes no memory limit; leave it out, or choose one that searches"
#define WEFT_WORDS_LIMIT_HOLDS_ONE \
  "a rank must be able to keep the activations of one micro-batch; use memory_limit 1 or more"
#define WEFT_WORDS_KEPT_IS_A_PERCENTAGE \
  "what I leaves of an activation until W is a part of it; use kept_percent 1 to 100, or 0 for the default"
#define WEFT_WORDS_TAKES_NO_STEPS \
  "a table of this schedule is one optimizer step; leave steps out, or choose an asynchronous one (pipedream-2bw)"
#define WEFT_WORDS_NEEDS_A_STEP "a table has no optimizer step; use steps 1 or more, or 0 for the default"
#define WEFT_WORDS_STEPS_DIVIDE "every optimizer step needs as many micro_batches as any other; use a multiple of steps"
#define WEFT_WORDS_STEPS_HOLD_WARM_UP                                                                            \
  "with more than one optimizer step, each needs as many micro_batches as the first rank runs before its first " \
  "backward; use steps x (ranks - 1) micro_batches or more"
#define WEFT_WORDS_STEPS_BEFORE_FIT \
  "a table reads no weights older than that many steps; let steps_before count only the steps it still reads"
#define WEFT_WORDS_REPLICAS_FILL_RANKS \
  "every rank holds one stage; use as many ranks as the stages have replicas together"
#define WEFT_WORDS_NEEDS_A_REPLICA "a stage has no rank to live on; use 1 replica or more"
#define WEFT_WORDS_TOO_MANY_COPIES                                                                                   \
  "the least common multiple of the stages' replicas numbers the routes, in one byte; use numbers that divide each " \
  "other"
#define WEFT_WORDS_TAKES_NO_REPLICAS \
  "this schedule has each stage on one rank; leave replicas out, or choose pipedream-replicated"
#define WEFT_WORDS_VERSIONS_FIT "a version of the weights is counted in one byte; use at most 255 ranks"
#define WEFT_WORDS_NEEDS_KNOWN_NAME "there is no schedule of this name; choose "
#define WEFT_WORDS_UNUSED_AXIS \
  "the mesh has more than one rank along an axis that no policy of the plan uses; give that axis 1 rank or remove it"
#define WEFT_WORDS_MEMORY_LIMIT                                                                                   \
  "the plan needs more bytes per rank than its memory_limit; use more ranks, more and smaller micro-batches, or " \
  "recompute::full"
