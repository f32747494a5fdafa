#include "model/beam/composite_coders.h"

#include <string>
#include <utility>

#include "model/beam/scalar_coders.h"
#include "model/coder.h"

namespace hornbeam::model::beam {
namespace {

class ProductCoder final : public Coder {
 public:
  // `last`: the context of the last component, where the product's is the outer one.
  ProductCoder(std::vector<CoderPtr> components, Context last) : components_(std::move(components)), last_(last) {}

  bool Encode(const Value& value, Context context, std::string* out) const override {
    const auto* fields = value.As<List>();
    if (fields == nullptr || fields->size() != components_.size()) return false;
    for (size_t i = 0; i < components_.size(); ++i) {
      if (!components_[i]->Encode((*fields)[i], ContextOf(i, context), out)) return false;
    }
    return true;
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    List fields(components_.size());
    for (size_t i = 0; i < components_.size(); ++i) {
      if (!components_[i]->Decode(in, ContextOf(i, context), &fields[i])) return false;
    }
    value->is = std::move(fields);
    return true;
  }

 private:
  Context ContextOf(size_t i, Context own) const {
    return i + 1 == components_.size() && own == Context::kOuter ? last_ : Context::kNested;
  }

  const std::vector<CoderPtr> components_;
  const Context last_;
};

class NullableCoder final : public Coder {
 public:
  explicit NullableCoder(CoderPtr component) : component_(std::move(component)) {}

  bool Encode(const Value& value, Context context, std::string* out) const override {
    out->push_back(value.is_null() ? 0 : 1);
    return value.is_null() || component_->Encode(value, context, out);
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    const uint8_t present = in.Byte();
    if (!in.ok() || present > 1) return false;
    if (present == 1) return component_->Decode(in, context, value);
    value->is = std::monostate();
    return true;
  }

 private:
  const CoderPtr component_;
};

class LengthPrefixCoder final : public Coder {
 public:
  explicit LengthPrefixCoder(CoderPtr component) : component_(std::move(component)) {}

  bool Encode(const Value& value, Context, std::string* out) const override {
    std::string bytes;
    if (!component_->Encode(value, Context::kOuter, &bytes)) return false;
    PutBytes(out, bytes);
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    ByteReader bytes(in.Bytes());
    return in.ok() && component_->Decode(bytes, Context::kOuter, value) && bytes.done();
  }

 private:
  const CoderPtr component_;
};

class IterableCoder final : public Coder {
 public:
  IterableCoder(CoderPtr element, StateReader state) : element_(std::move(element)), state_(std::move(state)) {}

  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* elements = value.As<List>();
    if (elements == nullptr) return false;
    model::internal::PutBigEndian32(out, static_cast<uint32_t>(elements->size()));
    for (const Value& element : *elements) {
      if (!element_->Encode(element, Context::kNested, out)) return false;
    }
    return true;
  }

  bool Decode(ByteReader& in, Context, Value* value) const override {
    List elements;
    const uint32_t count = model::internal::BigEndian32(in);
    if (!in.ok()) return false;
    if (!(count == kNotCounted ? ReadBlocks(in, &elements) : ReadElements(in, count, &elements))) return false;
    value->is = std::move(elements);
    return true;
  }

 private:
  static constexpr uint32_t kNotCounted = 0xffffffff;
  static constexpr uint64_t kToken = ~uint64_t{0};
  // Elements such as global windows take no bytes, so no input's end bounds how many a count can claim there to be.
  static constexpr uint64_t kMostOfNoBytes = 1 << 16;

  bool ReadElements(ByteReader& in, uint64_t count, List* elements) const {
    for (uint64_t i = 0; i < count; ++i) {
      const size_t before = in.remaining();
      if (!element_->Decode(in, Context::kNested, &elements->emplace_back())) return false;
      if (in.remaining() == before && count > kMostOfNoBytes) return false;
    }
    return true;
  }

  bool ReadBlocks(ByteReader& in, List* elements) const {
    while (true) {
      const uint64_t count = in.Varint();
      if (!in.ok()) return false;
      if (count == 0) return true;
      if (count == kToken) return ReadState(in.Bytes(), elements) && in.ok();
      if (!ReadElements(in, count, elements)) return false;
    }
  }

  bool ReadState(std::string_view token, List* elements) const {
    if (state_ == nullptr) return false;
    const StatusOr<std::string> rest = state_(token);
    if (!rest.ok()) return false;
    ByteReader in(*rest);
    while (!in.done()) {
      const size_t before = in.remaining();
      if (!element_->Decode(in, Context::kNested, &elements->emplace_back()) || in.remaining() == before) return false;
    }
    return in.ok();
  }

  const CoderPtr element_;
  const StateReader state_;
};

}  // namespace

CoderPtr MakeKvCoder(CoderPtr key, CoderPtr value) {
  return std::make_shared<ProductCoder>(std::vector<CoderPtr>{std::move(key), std::move(value)}, Context::kOuter);
}
CoderPtr MakeShardedKeyCoder(CoderPtr key) {
  return std::make_shared<ProductCoder>(std::vector<CoderPtr>{MakeScalarCoder("beam:coder:bytes:v1"), std::move(key)}, Context::kNested);
}
CoderPtr MakeNullableCoder(CoderPtr component) { return std::make_shared<NullableCoder>(std::move(component)); }
CoderPtr MakeLengthPrefixCoder(CoderPtr component) { return std::make_shared<LengthPrefixCoder>(std::move(component)); }
CoderPtr MakeIterableCoder(CoderPtr element, StateReader state) {
  return std::make_shared<IterableCoder>(std::move(element), std::move(state));
}

}  // namespace hornbeam::model::beam
