// The files of the console's page, as they are compiled into the binary from src/console/web.
#ifndef HORNBEAM_CONSOLE_WEB_FILES_H_
#define HORNBEAM_CONSOLE_WEB_FILES_H_

#include <map>
#include <string_view>

namespace hornbeam::console {

// Content by file name ("index.html"). Lives as long as the process.
const std::map<std::string_view, std::string_view>& EmbeddedWebFiles();

}  // namespace hornbeam::console

#endif  // HORNBEAM_CONSOLE_WEB_FILES_H_
