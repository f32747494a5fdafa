# Debian's packages, and what tools/fetch_deps laid into build/deps (shared by all presets).
set(HORNBEAM_DEPS ${CMAKE_SOURCE_DIR}/build/deps)
if(NOT EXISTS ${HORNBEAM_DEPS}/.protos.stamp)
  message(FATAL_ERROR "build/deps is missing: run 'make' (or tools/fetch_deps) first")
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET rocksdb)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)

# The generated code of the .proto files, in one library per service so that nobody links what he does not use.
function(hornbeam_proto_library name optimisation)
  cmake_parse_arguments(ARG "" "" "FILES;DEPS" ${ARGN})
  set(sources)
  foreach(file ${ARG_FILES})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    list(APPEND sources ${HORNBEAM_DEPS}/gen/${stem}.pb.cc)
    if(EXISTS ${HORNBEAM_DEPS}/gen/${stem}.grpc.pb.cc)
      list(APPEND sources ${HORNBEAM_DEPS}/gen/${stem}.grpc.pb.cc)
    endif()
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${HORNBEAM_DEPS}/gen)
  # Generated code is not instrumented either, like the libraries that it stands on: it would take minutes to build, and
  # what a sanitizer finds in it is not ours.
  target_compile_options(${name} PRIVATE ${optimisation} -w)
  if(HORNBEAM_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} protobuf::libprotobuf PkgConfig::GRPCPP)
endfunction()

hornbeam_proto_library(proto_google_api -O1
  FILES google/api/annotations.proto google/api/client.proto google/api/field_behavior.proto
        google/api/field_info.proto google/api/http.proto google/api/launch_stage.proto google/api/resource.proto
        google/rpc/status.proto google/rpc/code.proto google/rpc/error_details.proto)
if(HORNBEAM_SANITIZE MATCHES thread)
  # Protobuf's headers give map fields two more members under TSan, which Debian's library does not have: generated code, and
  # all that includes it, must not be told of TSan. Every proto library inherits this one's options.
  target_compile_options(proto_google_api PUBLIC -U__SANITIZE_THREAD__)
endif()
hornbeam_proto_library(proto_pubsub -O2
  FILES google/pubsub/v1/pubsub.proto google/pubsub/v1/schema.proto DEPS proto_google_api)
hornbeam_proto_library(proto_bigquery_storage -O2
  FILES google/cloud/bigquery/storage/v1/annotations.proto google/cloud/bigquery/storage/v1/arrow.proto
        google/cloud/bigquery/storage/v1/avro.proto google/cloud/bigquery/storage/v1/protobuf.proto
        google/cloud/bigquery/storage/v1/table.proto google/cloud/bigquery/storage/v1/stream.proto
        google/cloud/bigquery/storage/v1/storage.proto
  DEPS proto_google_api)

# DuckDB is a shared library that is shipped beside the binary.
add_library(duckdb SHARED IMPORTED)
set_target_properties(duckdb PROPERTIES
  IMPORTED_LOCATION ${HORNBEAM_DEPS}/duckdb/lib/libduckdb.so
  INTERFACE_INCLUDE_DIRECTORIES ${HORNBEAM_DEPS}/duckdb/include)

