#include "services/pubsub/store/catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace hornbeam::services::pubsub {
namespace {

constexpr std::string_view kMagic = "HBPSCAT1";

}  // namespace

std::string EncodeCatalog(const Catalog& catalog) {
  std::string body;
  PutVarint(&body, catalog.next_uid);
  PutVarint(&body, catalog.message_id_ceiling);
  PutVarint(&body, catalog.topics.size());
  for (const auto& [uid, topic] : catalog.topics) {
    PutVarint(&body, uid);
    body.push_back(topic.deleted ? 1 : 0);
    PutBytes(&body, topic.config);
  }
  PutVarint(&body, catalog.subscriptions.size());
  for (const auto& [uid, subscription] : catalog.subscriptions) {
    PutVarint(&body, uid);
    PutFixed32(&body, subscription.incarnation);
    PutVarint(&body, subscription.topic);
    PutVarint(&body, subscription.start);
    PutBytes(&body, subscription.config);
  }
  std::string content(kMagic);
  PutFixed32(&content, Checksum(body));
  PutFixed32(&content, static_cast<uint32_t>(body.size()));
  return content + body;
}

StatusOr<Catalog> DecodeCatalog(std::string_view content) {
  ByteReader reader(content);
  if (reader.Raw(kMagic.size()) != kMagic)
    return absl::DataLossError("it does not begin as a catalog does");
  const uint32_t checksum = reader.Fixed32();
  const uint32_t size = reader.Fixed32();
  const std::string_view body = reader.Raw(size);
  if (!reader.ok() || !reader.done() || Checksum(body) != checksum) {
    return absl::DataLossError("its checksum does not match");
  }
  Catalog catalog;
  ByteReader in(body);
  catalog.next_uid = in.Varint();
  catalog.message_id_ceiling = in.Varint();
  for (uint64_t n = in.Varint(); n > 0 && in.ok(); --n) {
    const Uid uid = in.Varint();
    CatalogTopic topic;
    topic.deleted = in.Byte() != 0;
    topic.config = std::string(in.Bytes());
    catalog.topics.emplace(uid, std::move(topic));
  }
  for (uint64_t n = in.Varint(); n > 0 && in.ok(); --n) {
    const Uid uid = in.Varint();
    CatalogSubscription subscription;
    subscription.incarnation = in.Fixed32();
    subscription.topic = in.Varint();
    subscription.start = in.Varint();
    subscription.config = std::string(in.Bytes());
    if (in.ok() && !catalog.topics.contains(subscription.topic)) {
      return absl::DataLossError("a subscription's topic is not in it");
    }
    catalog.subscriptions.emplace(uid, std::move(subscription));
  }
  if (!in.ok() || !in.done()) return absl::DataLossError("its body ends in the middle of an entry");
  return catalog;
}

StatusOr<Catalog> LoadCatalog(FileSystem* fs, const std::string& path) {
  if (!fs->Exists(path)) return Catalog{};
  HB_ASSIGN_OR_RETURN(const std::string content, ReadFile(*fs, path));
  StatusOr<Catalog> catalog = DecodeCatalog(content);
  if (!catalog.ok()) {
    return absl::DataLossError(
        absl::StrCat("Pub/Sub catalog '", path, "' is damaged (", catalog.status().message(),
                     "): restore it from a copy, or start with an empty data directory"));
  }
  return catalog;
}

Status StoreCatalog(FileSystem* fs, const std::string& path, const Catalog& catalog) {
  return WriteFileAtomically(*fs, path, EncodeCatalog(catalog));
}

}  // namespace hornbeam::services::pubsub
