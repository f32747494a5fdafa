// The numbers that Google's Pub/Sub documents, and those of this server.
#ifndef HORNBEAM_SERVICES_PUBSUB_CORE_LIMITS_H_
#define HORNBEAM_SERVICES_PUBSUB_CORE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace hornbeam::services::pubsub {

inline constexpr int64_t kMaxMessageBytes = 10'000'000;
inline constexpr int64_t kMaxPublishBytes = 10'000'000;
inline constexpr int kMaxPublishMessages = 1000;
inline constexpr int kMaxAttributes = 100;
inline constexpr int kMaxAttributeKeyBytes = 256;
inline constexpr int kMaxAttributeValueBytes = 1024;
inline constexpr int kMaxOrderingKeyBytes = 1024;

inline constexpr int kMinAckDeadlineSeconds = 10;
inline constexpr int kMaxAckDeadlineSeconds = 600;
inline constexpr int kDefaultAckDeadlineSeconds = 10;
inline constexpr int64_t kMinRetentionSeconds = 10 * 60;
inline constexpr int64_t kMaxRetentionSeconds = 31 * 24 * 3600;
inline constexpr int64_t kDefaultRetentionSeconds = 7 * 24 * 3600;
inline constexpr int64_t kDefaultExpirationSeconds = 31 * 24 * 3600;
inline constexpr int64_t kMinExpirationSeconds = 24 * 3600;

inline constexpr int kMaxPageSize = 1000;

// What one response of a pull or stream carries at most; one message alone may be larger.
inline constexpr int kMaxDeliveryMessages = 1000;
inline constexpr uint64_t kMaxDeliveryBytes = 1u << 20;

// What may wait for the disk before publishes are refused with RESOURCE_EXHAUSTED, which clients
// retry.
inline constexpr uint64_t kMaxPendingPublishBytes = 256u << 20;

// Confirmations that wait for a stream whose client does not read: some hundred thousand ack ids.
inline constexpr size_t kMaxUnreadControlBytes = 16u << 20;

inline constexpr int64_t kAckFlushIntervalUs = 100'000;
inline constexpr int64_t kStreamHeartbeatUs = 15'000'000;
inline constexpr int64_t kPullWaitUs = 30'000'000;

}  // namespace hornbeam::services::pubsub

#endif  // HORNBEAM_SERVICES_PUBSUB_CORE_LIMITS_H_
