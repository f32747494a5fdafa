#include "connectors/files/write/file_writer.h"

namespace hornbeam::connectors {

using model::Coder;

void PutFileRow(std::string* row, const io::FileResult& file, std::string_view content) {
  Coder<io::FileResult>::Encode(file, row);
  PutBytes(row, content);
}

Status FileWriter::Open(engine::SinkJournal* journal, std::string_view state) {
  journal_ = journal;
  HB_ASSIGN_OR_RETURN(store_, FileStoreOf(output_, fs_));
  return absl::OkStatus();
}

Status FileWriter::Deliver(const engine::Delivery& delivery) {
  for (const std::string_view row : delivery.rows) {
    ByteReader in(row);
    io::FileResult file;
    const bool decoded = Coder<io::FileResult>::Decode(in, &file);
    const std::string_view content = in.Bytes();
    if (!decoded || !in.ok()) return absl::DataLossError("the log holds a malformed file");
    HB_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> written,
                        store_->Create(file.path, if_exists_));
    HB_RETURN_IF_ERROR(written->Append(content));
    HB_RETURN_IF_ERROR(written->Commit());
    std::string answer;
    Coder<io::FileResult>::Encode(file, &answer);
    journal_->Answer(std::move(answer));
  }
  return absl::OkStatus();
}

}  // namespace hornbeam::connectors
