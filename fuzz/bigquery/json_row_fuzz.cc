// Whatever JSON a row holds, it is decoded or refused.
#include <cstdint>

#include "fuzz_table.h"
#include "services/bigquery/api/json_row_decoder.h"

namespace hornbeam::services::bigquery {

std::vector<std::string> Seeds() {
  return {
      R"({"id":1,"s":"é \u0000","b":"AQI=","f":"-inf","o":"true","n":"-1.5e3","g":2.5,"ts":1700000000.25})",
      R"({"ID":"12.0","ts":"2024-02-29T12:00:00+01:00","da":"2024-02-29","ti":"01:02:03","dt":"2024-02-29","j":{"a":[1]},"l":[1,"2"]})",
      R"({"id":1,"r":[{"x":"a","ys":[1,2,3],"q":{"z":"2024-01-01"}},{"x":"b","q":null,"ys":[]}],"unknown":{"a":1}})"};
}

}  // namespace hornbeam::services::bigquery

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hornbeam::services::bigquery;
  static simdjson::dom::parser* const parser = new simdjson::dom::parser;
  simdjson::dom::element element;
  const simdjson::padded_string text(reinterpret_cast<const char*>(data), size);
  if (parser->parse(text).get(element) != simdjson::SUCCESS) return 0;
  const auto table = FuzzTable();
  RowChunk chunk(table->schema, table->types, 2);
  const bool good = DecodeJsonRow(element, true, chunk.columns(), 0).empty() &&
                    DecodeJsonRow(element, true, chunk.columns(), 1).empty();
  if (good) ReadBack(chunk);
  return 0;
}
