// The topics and subscriptions of a server, on disk (docs/formats/pubsub.md).
#ifndef HORNBEAM_SERVICES_PUBSUB_STORE_CATALOG_H_
#define HORNBEAM_SERVICES_PUBSUB_STORE_CATALOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "services/pubsub/store/seq_range.h"

namespace hornbeam::services::pubsub {

// Never used again, so a file named for one belongs to one resource for ever.
using Uid = uint64_t;

struct CatalogTopic {
  bool deleted = false;  // kept for the messages that subscriptions still have to deliver
  std::string config;    // a google.pubsub.v1.Topic
};

struct CatalogSubscription {
  uint32_t incarnation = 0;  // what its ack ids carry
  Uid topic = 0;
  Seq start = 0;       // the first seq that it has to deliver
  std::string config;  // a google.pubsub.v1.Subscription
};

struct Catalog {
  Uid next_uid = 1;
  uint64_t message_id_ceiling = 1;  // no message id below has yet to be given
  std::map<Uid, CatalogTopic> topics;
  std::map<Uid, CatalogSubscription> subscriptions;
};

std::string EncodeCatalog(const Catalog& catalog);
// DATA_LOSS, without the file's name, when `content` is not a catalog.
StatusOr<Catalog> DecodeCatalog(std::string_view content);

// An empty catalog when there is no file.
StatusOr<Catalog> LoadCatalog(FileSystem* fs, const std::string& path);
// Durable when OK; after an error either the old one or the new one is there.
Status StoreCatalog(FileSystem* fs, const std::string& path, const Catalog& catalog);

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_STORE_CATALOG_H_
