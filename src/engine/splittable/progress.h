// How much of a restriction is done, in the units of its tracker.
#ifndef HORNBEAM_ENGINE_SPLITTABLE_PROGRESS_H_
#define HORNBEAM_ENGINE_SPLITTABLE_PROGRESS_H_

namespace hornbeam::engine {

struct Progress {
  double completed = 0;
  double remaining = 0;
};

}  // namespace hornbeam::engine

#endif  // HORNBEAM_ENGINE_SPLITTABLE_PROGRESS_H_
