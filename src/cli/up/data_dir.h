// Where `up` and `demo` keep their data.
#ifndef HORNBEAM_CLI_UP_DATA_DIR_H_
#define HORNBEAM_CLI_UP_DATA_DIR_H_

#include <string>

namespace hornbeam::cli {

// $XDG_DATA_HOME/hornbeam, else $HOME/.local/share/hornbeam, else ./.hornbeam.
std::string DefaultDataDir();

}  // namespace hornbeam::cli

#endif  // HORNBEAM_CLI_UP_DATA_DIR_H_
