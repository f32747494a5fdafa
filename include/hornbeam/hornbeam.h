// All of the SDK but the connectors (hornbeam/io/*.h) and the test support (hornbeam/testing/*.h).
#ifndef HORNBEAM_HORNBEAM_H_
#define HORNBEAM_HORNBEAM_H_

#include "hornbeam/metrics.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/splittable.h"
#include "hornbeam/state.h"
#include "hornbeam/transforms/aggregate.h"
#include "hornbeam/transforms/batch_elements.h"
#include "hornbeam/transforms/co_group_by_key.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/combine_globally.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/deduplicate.h"
#include "hornbeam/transforms/elementwise.h"
#include "hornbeam/transforms/group_by_key.h"
#include "hornbeam/transforms/group_into_batches.h"
#include "hornbeam/transforms/hot_key_fanout.h"
#include "hornbeam/transforms/impulse.h"
#include "hornbeam/transforms/par_do.h"
#include "hornbeam/transforms/reshuffle.h"
#include "hornbeam/transforms/side_input.h"
#include "hornbeam/transforms/wait.h"
#include "hornbeam/transforms/window.h"
#include "hornbeam/transforms/write.h"
#include "hornbeam/types.h"

#endif  // HORNBEAM_HORNBEAM_H_
