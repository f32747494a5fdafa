// How much memory there is, and how much of it this process may have.
#ifndef HORNBEAM_BASE_MACHINE_MEMORY_H_
#define HORNBEAM_BASE_MACHINE_MEMORY_H_

#include <cstdint>

namespace hornbeam {

// The machine's, or what the control group of this process is allowed, when that is less.
int64_t MachineMemoryBytes();

// Lets an allocation fail that would bring this process above three quarters of that: who asked for
// it then hears of it, where the system would kill the whole process. For programs that run what
// strangers to their code have written, such as queries; call it in main. Does nothing under a
// sanitizer, whose own memory would count.
void LimitOwnMemory();

}  // namespace hornbeam

#endif  // HORNBEAM_BASE_MACHINE_MEMORY_H_
