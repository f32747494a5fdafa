#include "connectors/bigquery/append_stream.h"

#include "absl/strings/str_cat.h"

namespace hornbeam::connectors {
namespace {

void* const kTag = reinterpret_cast<void*>(1);  // one operation at a time needs one tag

}  // namespace

AppendStream::AppendStream(Stub* stub, const std::string& write_stream,
                           std::chrono::milliseconds timeout)
    : timeout_(timeout) {
  context_.AddMetadata("x-goog-request-params", absl::StrCat("write_stream=", write_stream));
  call_ = stub->PrepareAsyncAppendRows(&context_, &queue_);
  call_->StartCall(kTag);
  broken_ = !Wait();
}

AppendStream::~AppendStream() {
  context_.TryCancel();
  if (!ended_) End();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool AppendStream::Wait() {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + timeout_) ==
      grpc::CompletionQueue::TIMEOUT) {
    timed_out_ = true;
    context_.TryCancel();
    queue_.Next(&tag, &ok);
    ok = false;
  }
  return ok;
}

grpc::Status AppendStream::End() {
  if (ended_) return end_;
  ended_ = true;
  call_->Finish(&end_, kTag);
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  if (timed_out_) {
    end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                        absl::StrCat("no answer in ", timeout_.count() / 1000, " s"));
  } else if (end_.ok()) {
    end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the service closed the call");
  }
  return end_;
}

bool AppendStream::Send(const Request& request) {
  if (broken_) return false;
  call_->Write(request, kTag);
  broken_ = !Wait();
  return !broken_;
}

// gRPC gives the final status only when every answer before it has been read.
grpc::Status AppendStream::Receive(Response* response) {
  if (ended_) return end_;
  if (!timed_out_) {
    call_->Read(response, kTag);
    if (Wait()) return grpc::Status::OK;
    broken_ = true;
  }
  return End();
}

}  // namespace hornbeam::connectors
