# cmake -DOUT=x.cc "-DFILES=a;b" -P embed_files.cmake
# Writes a .cc that defines EmbeddedWebFiles() (web_files.h) with the content of FILES, each under its own name.
set(arrays "")
set(entries "")
set(index 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char kFile${index}[] = {${bytes}};\n")
  string(APPEND entries "      {\"${name}\", Bytes(kFile${index}, sizeof kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "// Made by embed_files.cmake.
#include \"console/web_files.h\"

namespace hornbeam::console {
namespace {

${arrays}
std::string_view Bytes(const unsigned char* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

const std::map<std::string_view, std::string_view>& EmbeddedWebFiles() {
  static const auto* const files = new std::map<std::string_view, std::string_view>{
${entries}  };
  return *files;
}

}  // namespace hornbeam::console
")
