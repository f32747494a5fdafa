// All of the SDK but the connectors (hornbeam/io/*.h) and the test support (hornbeam/testing/*.h).
#ifndef HORNBEAM_HORNBEAM_H_
#define HORNBEAM_HORNBEAM_H_

#include "hornbeam/metrics.h"
#include "hornbeam/pipeline.h"
#include "hornbeam/state.h"
#include "hornbeam/transforms/combine.h"
#include "hornbeam/transforms/create.h"
#include "hornbeam/transforms/group_by_key.h"
#include "hornbeam/transforms/par_do.h"
#include "hornbeam/transforms/side_input.h"
#include "hornbeam/transforms/window.h"
#include "hornbeam/transforms/write.h"
#include "hornbeam/types.h"

#endif  // HORNBEAM_HORNBEAM_H_
