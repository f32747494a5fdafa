// Request and response of a unary call on one arena, freed in one step.
#ifndef HORNBEAM_SERVICES_PUBSUB_API_ARENA_MESSAGES_H_
#define HORNBEAM_SERVICES_PUBSUB_API_ARENA_MESSAGES_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

namespace hornbeam::services::pubsub {

template <typename Request, typename Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder(); }

 private:
  class Holder final : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() : arena_(Options()) {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }
    void FreeRequest() override {}

   private:
    static google::protobuf::ArenaOptions Options() {
      google::protobuf::ArenaOptions options;
      options.start_block_size = 4 << 10;
      options.max_block_size = 128 << 10;
      return options;
    }
    google::protobuf::Arena arena_;
  };
};

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_API_ARENA_MESSAGES_H_
